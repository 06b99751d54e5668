"""Runs a command that fetches a file, and Wi-Fi fails in the middle: fetching.py MPLAB ACTION FILE KIND COMMAND…

It runs in the client host of a lab, in a folder of its own, where the command leaves what came in the file `got`; FILE
is what that has to be. ACTION is what `mplab set wlan0` is told. KIND is `tcp` or `mptcp`, as the command's connections
are, or `open`: MPTCP, and the command stays when it has all, until the `sleep` that holds its input open is ended.
Prints a line of JSON; `pause` is the longest time in which the kernel has no new byte in order for the command, looked
at every 2 ms (sock_diag(7)).
"""
import hashlib
import json
import os
import pathlib
import random
import signal
import socket
import struct
import subprocess
import sys
import time

# So many bytes are there, and so many seconds go by, before the fault.
BEGINNING, FAULT = 200_000, (0.9, 1.3)
# Seconds from the start and from the fault on, after which the command is ended.
LIMIT, PATIENCE = 30, 10
PORTS = (8000, 2222)

TCP, MPTCP = 6, 262
DIAG, BY_FAMILY, DUMP = 4, 20, 0x301
# Bits of enum inet_diag extensions; the attribute's number (linux/inet_diag.h).
WANTS_INFO, INFO = 1 << 1, 2
ESTABLISHED_AND_LATER = 0xFFF & ~(1 << 10) & ~(1 << 7)
# Where tcpi_bytes_received stands in struct tcp_info, and mptcpi_bytes_received in struct mptcp_info: what has come in
# order.
COUNTERS = {TCP: 128, MPTCP: 64}


def received(watch, protocol):
    """For each connection to one of the ports (by its cookie) the counter of what has come in order."""
    body = struct.pack("=BBBBI", socket.AF_INET, min(protocol, 255), WANTS_INFO, 0, ESTABLISHED_AND_LATER) + bytes(48)
    # The header's protocol has 8 bits; what needs more has an attribute (INET_DIAG_REQ_PROTOCOL is 3).
    body += struct.pack("=HHI", 8, 3, protocol)
    watch.send(struct.pack("=IHHII", 16 + len(body), BY_FAMILY, DUMP, 1, 0) + body)
    found = {}
    while True:
        data = watch.recv(1 << 18)
        while len(data) >= 16:
            length, kind = struct.unpack("=IH", data[:6])
            if kind != BY_FAMILY:
                return found
            message, data = data[16:length], data[(length + 3) & ~3:]
            if struct.unpack("!H", message[6:8])[0] not in PORTS:
                continue
            cookie, place = message[44:52], 72
            while place + 4 <= len(message):
                size, attribute = struct.unpack("=HH", message[place:place + 4])
                if attribute == INFO and size >= 4 + COUNTERS[protocol] + 8:
                    found[cookie] = struct.unpack("=Q", message[place + 4 + COUNTERS[protocol]:][:8])[0]
                place += max(4, (size + 3) & ~3)


class Watch:
    """The command's connections, as the kernel counts them."""

    def __init__(self, protocol):
        self.socket = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, DIAG)
        self.protocol, self.last = protocol, {}

    def total(self):
        for cookie, count in received(self.socket, self.protocol).items():
            self.last[cookie] = max(self.last.get(cookie, 0), count)
        return sum(self.last.values())


def follow(process, watch, size, stays, fail):
    """Until the process ends, has all and stays, or is out of time. `fail` is called for the fault; returns the bytes
    that came, when the last of them did, when the fault happened, all after the start, and the pauses."""
    begun = time.monotonic()
    known, since, pauses, start, fault_at = 0, begun, [(0.0, 0.0)], None, None
    delay = random.uniform(*FAULT)
    limit = begun + LIMIT
    while (now := time.monotonic()) < limit:
        total = watch.total()
        now = time.monotonic()
        if total > known:
            if fault_at and known < size:
                pauses.append((now - since, since - begun))
            known, since = total, now
        if start is None and known >= BEGINNING:
            start = now
        if fault_at is None and start is not None and now >= start + delay:
            fail()
            fault_at, limit = now, now + PATIENCE
        if process.poll() is not None or (stays and known >= size):
            break
        time.sleep(0.002)
    if known < size:
        pauses.append((time.monotonic() - since, since - begun))
    return known, since - begun, fault_at and fault_at - begun, pauses


def finish(process, stays):
    """Ends the process where it has not ended itself, which is late unless it stays; returns that and its status."""
    is_late = process.poll() is None and not stays
    if stays and process.poll() is None:
        # What reads the command's output has it all.
        subprocess.run(["pkill", "-TERM", "-s", str(process.pid), "sleep"])
        try:
            process.wait(5)
        except subprocess.TimeoutExpired:
            is_late = True
    if process.poll() is None:
        os.killpg(process.pid, signal.SIGKILL)
    return is_late, process.wait()


def digest(path):
    try:
        return hashlib.sha256(pathlib.Path(path).read_bytes()).hexdigest()
    except OSError:
        return ""


def main():
    mplab, action, path, kind, *command = sys.argv[1:]
    setters, size = [], os.stat(path).st_size
    watch = Watch(TCP if kind == "tcp" else MPTCP)
    process = subprocess.Popen(command, start_new_session=True, stderr=subprocess.PIPE)
    known, seconds, fault, pauses = follow(
        process, watch, size, kind == "open",
        lambda: setters.append(subprocess.Popen([mplab, "set", "wlan0", action], stdout=subprocess.DEVNULL)))
    is_late, status = finish(process, kind == "open")
    for setter in setters:
        setter.wait()
    errors = process.stderr.read().decode(errors="replace")[-300:] if not is_late else ""
    pause, after = max(pauses)
    print(json.dumps({
        "whole": not is_late and status == 0 and digest("got") == digest(path), "status": status, "pause": pause,
        "after": after, "fault": fault, "seconds": seconds, "bytes": known, "errors": errors}))


if __name__ == "__main__":
    main()
