#!/usr/bin/env python3
"""How soon mpsync waits and goes on, in a lab: sync-waiting.py --bin FOLDER [--runs N]

Wi-Fi (allowed) becomes constrained, cellular is expensive: mpsync has to say that it waits, send nothing more, and go on when
Wi-Fi is allowed again. Then Wi-Fi goes down, and mpsync may use cellular for a budget of 5 MB. One JSON object a run, times in
seconds from the change to the event (told, resumed) and to the wire (silent: the last packet of 100 ms with more than 20 kB;
moving: the first).
"""
import argparse
import json
import pathlib
import queue
import random
import subprocess
import sys
import tempfile
import threading
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
URL = "http://server:8080/"
SCENARIO = """about Wi-Fi, and cellular that costs money.
link wlan0 wifi rtt=20ms,rate=30mbit
link wwan0 cellular rtt=40ms,rate=30mbit
"""
BUDGET = 5_000_000
LIMIT = 20


def sent():
    lines = [line.split(":") for line in pathlib.Path("/proc/net/dev").read_text().splitlines() if ":" in line]
    return {name.strip(): int(numbers.split()[8]) for name, numbers in lines}


class Wire(threading.Thread):
    """What leaves each interface, in steps of 100 ms."""

    def __init__(self):
        super().__init__(daemon=True)
        self.steps = []
        self.before = sent()
        self.start()

    def run(self):
        before = self.before
        while True:
            time.sleep(0.1)
            now = sent()
            self.steps.append((time.monotonic(), sum(now[name] - before.get(name, 0) for name in now if name != "lo")))
            before = now

    def silent(self, since, until):
        """From a change to the last step with data."""
        busy = [moment for moment, count in list(self.steps) if since < moment < until and count > 20_000]
        return max((moment - since for moment in busy), default=0.0)

    def moving(self, since):
        deadline = time.monotonic() + LIMIT
        while time.monotonic() < deadline:
            for moment, count in list(self.steps):
                if moment > since and count > 20_000:
                    return moment - since
            time.sleep(0.02)
        return None


class Program:
    def __init__(self, program, *arguments):
        self.begun = time.monotonic()
        self.process = subprocess.Popen([program, "--json", "--push", *arguments, URL], stdout=subprocess.PIPE, text=True)
        self.events = queue.Queue()
        threading.Thread(target=self.read, daemon=True).start()

    def read(self):
        for line in self.process.stdout:
            self.events.put((time.monotonic(), json.loads(line)))

    def wait(self, name):
        """When the next event of that name came."""
        deadline = time.monotonic() + LIMIT
        while (left := deadline - time.monotonic()) > 0:
            try:
                moment, event = self.events.get(timeout=left)
            except queue.Empty:
                break
            if event["event"] == name:
                return moment
        raise SystemExit(f"sync-waiting: no event '{name}' within {LIMIT} s")


def inside(words):
    lab = str(words.bin / "mplab")
    work = pathlib.Path(words.inside)
    (work / "here").mkdir()
    (work / "here/file").write_bytes(random.randbytes(14_000_000))
    (work / "here/other").write_bytes(random.randbytes(6_000_000))
    while subprocess.run(["curl", "-s", "-o", "/dev/null", URL]).returncode:
        time.sleep(0.05)

    def change(*setting):
        """When it was asked for: mplab's own time counts, too."""
        moment = time.monotonic()
        subprocess.run([lab, "set", *setting], check=True, stdout=subprocess.DEVNULL)
        return moment
    change("wlan0", "constrained")
    wire = Wire()
    result = {}
    program = Program(str(words.bin / "mpsync"), str(work / "here"))
    result["told_at_start"] = program.wait("waiting") - program.begun
    result["bytes_while_waiting"] = sum(sent()[name] - wire.before[name] for name in ("wlan0", "wwan0"))
    moment = change("wlan0", "constrained", "no")
    result["resumed_first"] = program.wait("resumed") - moment
    result["moving_first"] = wire.moving(moment)
    time.sleep(1)
    moment = change("wlan0", "constrained")
    result["told"] = program.wait("waiting") - moment
    time.sleep(2)
    result["silent"] = wire.silent(moment, time.monotonic())
    moment = change("wlan0", "constrained", "no")
    result["resumed"] = program.wait("resumed") - moment
    result["moving"] = wire.moving(moment)
    result["status"] = program.process.wait(60)

    (work / "here/large").write_bytes(random.randbytes(20_000_000))
    change("wlan0", "down")
    before = sent()["wwan0"]
    program = Program(str(words.bin / "mpsync"), "--budget", f"{BUDGET}/day", str(work / "here"))
    moment = program.wait("waiting")
    time.sleep(2)
    result["budget"], result["spent"] = BUDGET, sent()["wwan0"] - before
    moment = change("wlan0", "up")
    result["resumed_after_budget"] = program.wait("resumed") - moment
    result["status_after_budget"] = program.process.wait(60)
    result["same"] = all((work / "served" / path.name).read_bytes() == path.read_bytes() for path in (work / "here").glob("[a-z]*"))
    print(json.dumps({name: round(value, 3) if isinstance(value, float) else value for name, value in result.items()}))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bin", type=pathlib.Path, required=True)
    parser.add_argument("--runs", type=int, default=1)
    parser.add_argument("--server", default="python", help="nginx, apache, rclone or python")
    parser.add_argument("--inside", help=argparse.SUPPRESS)
    words = parser.parse_args()
    words.bin = words.bin.absolute()
    if words.inside:
        return inside(words)
    status = 0
    for _ in range(words.runs):
        with tempfile.TemporaryDirectory(prefix="sync-waiting-") as work:
            pathlib.Path(work, "scenario").write_text(SCENARIO)
            status |= subprocess.run(
                [str(words.bin / "mplab"), "run", "--quiet", "--scenario", f"{work}/scenario", "--serve",
                 f"exec {sys.executable} '{ROOT}/scripts/dav-server.py' {words.server} '{work}/served' > /dev/null 2>&1", "--",
                 sys.executable, __file__, "--bin", str(words.bin), "--inside", work]).returncode
    sys.exit(status)


if __name__ == "__main__":
    main()
