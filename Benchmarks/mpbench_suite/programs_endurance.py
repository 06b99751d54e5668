"""What mprun bears: kills of its own processes, many sockets at once, and a long run.

To be run in a lab: mplab run --quiet -- Benchmarks/mpbench programs-endurance --bin FOLDER

FOLDER holds mprun and trap-probe (`swift build -c release` of these products).

- kills: SIGKILL for the trap or the policy at random moments, while a program makes, connects and uses sockets without
  a break; no call may fail, and sockets made after that are MPTCP again.
- sockets: so many in 32 threads; then what trap and policy have open, and their memory, beside before.
- connections: so many, one after the other; memory again, in ten steps.
- idle: what all processes of a run that does nothing have used of a CPU.
"""
import json
import os
import pathlib
import random
import re
import signal
import subprocess
import time

from . import usage
from .lab import SERVER

ECHO = (SERVER["ipv4"], "7")


def children(process):
    """The numbers of a run's processes, by name."""
    found = {}
    for path in pathlib.Path("/proc").glob("[0-9]*/stat"):
        try:
            name, rest = re.match(r"\d+ \((.*)\) (.*)", path.read_text(), re.DOTALL).groups()
        except (OSError, AttributeError):
            continue
        if rest.split()[1] == str(process) and rest[0] != "Z":
            found[name] = int(path.parent.name)
    return found


def state(run):
    """Descriptors, and KiB of memory of its own, of trap and policy."""
    result = {}
    for name, number in children(run.pid).items():
        if name in ("path-trap", "path-policy"):
            memory = pathlib.Path(f"/proc/{number}/smaps_rollup").read_text()
            own = sum(int(size) for size in re.findall(r"Private_\w+: +(\d+) kB", memory))
            result[name] = {"descriptors": len(os.listdir(f"/proc/{number}/fd")), "KiB": own}
    return result


def ticks(numbers):
    """The clock ticks that processes have used."""
    words = [pathlib.Path(f"/proc/{number}/stat").read_text().rsplit(")", 1)[1].split() for number in numbers]
    return sum(int(line[11]) + int(line[12]) for line in words)


def start(binaries, *command):
    return subprocess.Popen([f"{binaries}/mprun", "-q", "--", *command], stdout=subprocess.PIPE, stdin=subprocess.PIPE,
                            text=True)


def kills(options):
    run = start(options.bin, f"{options.bin}/trap-probe", "calls", str(options.kills * 0.95 + 2), *ECHO)
    time.sleep(0.5)
    killed = {"path-trap": 0, "path-policy": 0}
    while sum(killed.values()) < options.kills and run.poll() is None:
        time.sleep(random.uniform(0, 0.15))
        name = random.choice(list(killed))
        number = children(run.pid).get(name)
        if number:
            os.kill(number, signal.SIGKILL)
            killed[name] += 1
    output = run.communicate()[0].strip()
    return {"killed": killed, "status": run.returncode, "calls": output}


def calm(run):
    """When what the program has left behind is worked off."""
    for _ in range(100):
        before = ticks(children(run.pid).values())
        time.sleep(0.3)
        if ticks(children(run.pid).values()) == before:
            return


def sockets(options):
    run = start(options.bin, "sh", "-c", f"while read line; do '{options.bin}/trap-probe' $line; done")

    def ask(line):
        print(line, file=run.stdin, flush=True)
        answer = run.stdout.readline().strip()
        calm(run)
        return answer
    result = {"first": ask("threads 32 320"), "before": state(run)}
    for name in ("once", "twice", "thrice"):
        result[name] = ask(f"threads 32 {options.sockets}"), state(run)
    steps = []
    for _ in range(10):
        answer = ask(f"connections {options.connections // 10} {ECHO[0]} {ECHO[1]}")
        steps.append([answer, state(run)])
    result["connections"] = steps
    everything = children(run.pid) | {"mprun": run.pid}
    before, begun = ticks(everything.values()), time.monotonic()
    time.sleep(options.idle)
    after = ticks(everything.values())
    result["idle"] = {"processes": list(everything), "seconds": round(time.monotonic() - begun, 1),
                      "ticks": after - before}
    run.stdin.close()
    run.wait()
    return result


def main(words):
    parser = usage.parser("programs-endurance", __doc__)
    usage.add_commands(parser)
    parser.add_argument("--kills", type=int, default=200)
    parser.add_argument("--sockets", type=int, default=10_000)
    parser.add_argument("--connections", type=int, default=20_000)
    parser.add_argument("--idle", type=float, default=10)
    options = usage.parse_in_lab(parser, words)
    if options.kills:
        print(json.dumps({"kills": kills(options)}), flush=True)
    for key, value in sockets(options).items():
        print(json.dumps({key: value}), flush=True)
