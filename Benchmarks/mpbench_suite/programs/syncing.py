"""Keeps a folder and a WebDAV server the same by one client, in a network namespace of its own; syncing.py --help.

DATA is sent to the server and fetched again; both sides are compared by SHA-256. WORK is the run's folder: WORK/served is
what the server has, WORK/served.work/requests the log of its requests, a line each, where it writes one. Prints a line of
JSON, with the figures of each way.
"""
import argparse
import hashlib
import json
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile
import time


def contents(folder):
    """Of each file the SHA-256, but for mpsync's own."""
    found = {}
    for path in sorted(folder.rglob("*")):
        name = path.relative_to(folder)
        if name.parts[0] != ".mpsync" and path.is_file():
            with path.open("rb") as file:
                found[str(name)] = hashlib.file_digest(file, "sha256").hexdigest()
    return found


def counters():
    """Bytes sent and received at the interfaces of this namespace; over loopback all of them are both."""
    lines = [line.split(":") for line in pathlib.Path("/proc/net/dev").read_text().splitlines() if ":" in line]
    found = {name.strip(): numbers.split() for name, numbers in lines}
    places = [numbers for name, numbers in found.items() if name != "lo"] or list(found.values())
    return [sum(int(numbers[column]) for numbers in places) for column in (8, 0)]


def requests(log):
    """How many the server has answered so far, where it writes a log."""
    return len(log.read_text().split()) if log.exists() else None


def command(options, way, folder):
    if options.client == "mpsync":
        return [options.program, "--json", "--push" if way == "push" else "--pull", str(folder), options.url]
    ends = [str(folder), ":webdav:"] if way == "push" else [":webdav:", str(folder)]
    return [options.program, "sync", "--config", "/dev/null", "--webdav-url", options.url, "--transfers", "4",
            "--retries", str(options.retries),
            *(["--timeout", "10s", "--contimeout", "5s"] if options.retries > 3 else []), *ends]


def run(words, deadline):
    """One command, which is ended at the deadline: seconds, status, what it used, its events, what it complained of."""
    begun = time.monotonic()
    with tempfile.TemporaryFile("w+") as output, tempfile.TemporaryFile("w+") as errors:
        process = subprocess.Popen(words, stdout=output, stderr=errors, start_new_session=True)
        killer = subprocess.Popen(["bash", "-c", f"sleep {deadline}; kill -KILL -{process.pid}"],
                                  start_new_session=True)
        try:
            _, status, usage = os.wait4(process.pid, 0)
        except BaseException:
            os.killpg(process.pid, signal.SIGKILL)
            raise
        finally:
            os.killpg(killer.pid, signal.SIGKILL)
            killer.wait()
        seconds = time.monotonic() - begun
        output.seek(0)
        errors.seek(0)
        events = [json.loads(line) for line in output if line.startswith("{")]
        return seconds, os.waitstatus_to_exitcode(status), usage, events, errors.read()[-400:]


def transfer(options, way, folder, log):
    """The figures of one way."""
    bytes_before, requests_before = counters(), requests(log)
    seconds, status, usage, events, complaint = run(command(options, way, folder), options.deadline)
    sent, received = (after - before for after, before in zip(counters(), bytes_before))
    result = {"seconds": seconds, "cpu": usage.ru_utime + usage.ru_stime, "memory": usage.ru_maxrss * 1024,
              "status": status, "sent": sent, "received": received, "requests": None,
              "late": seconds >= options.deadline}
    if requests_before is not None:
        # The log's last lines are written after their answers.
        time.sleep(0.2)
        result["requests"] = requests(log) - requests_before
    elif events and "requests" in events[-1]:
        result["requests"] = events[-1]["requests"]
    result["continued"] = sum(event["event"] == "continued" for event in events)
    result["restarted"] = sum(event["event"] == "restarted" for event in events)
    if status:
        result["complaint"] = complaint or [event for event in events if event["event"] == "trouble"][:3]
    return result


def measure(options):
    """The figures of each way, in turn."""
    served, fetched = options.work / "served", options.work / "fetched"
    log = pathlib.Path(f"{served}.work/requests")
    deadline = time.monotonic() + 10
    while (subprocess.run(["curl", "-s", "-m", "2", "-o", "/dev/null", options.url]).returncode
           and time.monotonic() < deadline):
        time.sleep(0.05)
    result, expected = {}, contents(options.data)
    for way in options.way or ["push", "pull"]:
        if way == "pull":
            fetched.mkdir(exist_ok=True)
            if "push" not in result:
                shutil.copytree(options.data, served, dirs_exist_ok=True, ignore=shutil.ignore_patterns(".mpsync"))
        result[way] = transfer(options, way, options.data if way == "push" else fetched, log)
        result[way]["same"] = contents(served if way == "push" else fetched) == expected
        result[way]["left"] = sorted(str(path.relative_to(options.work)) for path in [
            *served.glob(".mpsync*"), *options.work.glob("fetched/.mpsync/part/*")])
    return result


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("client", metavar="CLIENT", choices=("mpsync", "rclone"))
    parser.add_argument("program", metavar="PROGRAM", help="the client's")
    parser.add_argument("url", metavar="URL", help="the server's")
    parser.add_argument("data", metavar="DATA", type=pathlib.Path)
    parser.add_argument("work", metavar="WORK", type=pathlib.Path)
    parser.add_argument("--serve", metavar="COMMAND", help="a shell command: the server, where it is to run here, too")
    parser.add_argument("--way", action="append", help="push or pull alone")
    parser.add_argument("--retries", type=int, default=3, help="rclone's")
    parser.add_argument("--deadline", type=int, default=600)
    return parser.parse_args()


def main():
    # Asked to end, it ends what it has started.
    signal.signal(signal.SIGTERM, lambda number, _: sys.exit(128 + number))
    options, server = arguments(), None
    if options.serve:
        subprocess.run(["ip", "link", "set", "lo", "up"], check=True)
        server = subprocess.Popen(["sh", "-c", options.serve], start_new_session=True)
    try:
        print(json.dumps(measure(options)))
    finally:
        if server:
            os.killpg(server.pid, signal.SIGTERM)
            server.wait()


if __name__ == "__main__":
    main()
