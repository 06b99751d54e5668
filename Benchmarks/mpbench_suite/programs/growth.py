"""Runs a command that writes to a file, and watches the file grow: growth.py SECONDS BYTES FILE COMMAND…

Prints a line of JSON: the longest time without a new byte from the first to the last one or the end of SECONDS, in
milliseconds, how many bytes there are, and their SHA-256.
"""
import hashlib
import json
import os
import signal
import subprocess
import sys
import time


def watch(process, path, size, seconds):
    """Until the process ends or `seconds` have passed; returns the longest pause in seconds, and the bytes there are."""
    begun = time.monotonic()
    known, since, longest = 0, None, 0.0
    while (now := time.monotonic()) < begun + seconds:
        length = os.stat(path).st_size
        if since is not None and known < size:
            longest = max(longest, now - since)
        if length > known:
            known, since = length, now
        if process.poll() is not None:
            break
        time.sleep(0.002)
    return longest, known


def main():
    seconds, size, path, command = float(sys.argv[1]), int(sys.argv[2]), sys.argv[3], sys.argv[4:]
    with open(path, "wb", buffering=0) as file:
        process = subprocess.Popen(command, stdout=file, stderr=subprocess.DEVNULL, start_new_session=True)
    longest, known = watch(process, path, size, seconds)
    if process.poll() is None:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
    with open(path, "rb") as file:
        digest = hashlib.sha256(file.read()).hexdigest()
    print(json.dumps({"pause": 1e3 * longest, "bytes": known, "digest": digest}))


if __name__ == "__main__":
    main()
