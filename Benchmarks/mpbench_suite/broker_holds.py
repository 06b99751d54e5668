"""How long mpathd takes to answer, alone and beside whatever a local user can do to slow it.

To be run by root in a lab: mplab run --quiet -- Benchmarks/mpbench broker-holds --bin FOLDER

FOLDER holds mpathd and broker-probe (`swift build -c release` of these products). mpathd has CAP_NET_ADMIN and
nothing else, its clients have no right, and the client that holds a socket's lock has CAP_SYS_PTRACE for it. A row is
so many prepares of one client: alone, on one processor with mpathd or on another; beside four processes that make
plain MPTCP connections; beside two that flood mpathd; and beside one that holds the locks of its sockets, one after
the other, with how long the setting was changed meanwhile. Times are µs from request to answer.
"""
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile

from . import usage
from .environment import PROJECT
from .programs import broker
from .programs.broker import as_user

HOLDER = PROJECT / "Tests/PathBrokerTests/Fixtures/hold-lock.py"
SETTING = pathlib.Path("/proc/sys/net/mptcp/path_manager")
PREPARED = re.compile(r"(\d+) prepared, p50 (\S+) p99 (\S+) most (\S+) µs, else (.*)")


class Broker:
    """mpathd with its one privilege, and the probes that are its clients."""

    def __init__(self, binaries, folder):
        self.probe, self.mpathd, self.folder = f"{binaries}/broker-probe", f"{binaries}/mpathd", folder
        os.chown(folder, 65533, 65533)
        os.chmod(folder, 0o755)
        self.socket = f"{folder}/mpathd.sock"
        self.daemon = broker.start(self.mpathd, folder, as_user(65533, "net_admin"), stderr=subprocess.DEVNULL)

    def status(self):
        return json.loads(subprocess.run([self.mpathd, "--status", "--json"], check=True, capture_output=True,
                                         env=broker.environment(self.folder)).stdout)

    def pin(self, processors):
        subprocess.run(["taskset", "-acp", processors, str(self.daemon.pid)], check=True, stdout=subprocess.DEVNULL)

    def prepare(self, count, processors):
        words = ["taskset", "-c", processors] + as_user(65534) + [self.probe, "prepare", self.socket, str(count)]
        output = subprocess.run(words, check=True, capture_output=True, text=True).stdout
        match = PREPARED.match(output)
        if not match:
            sys.exit(f"mpbench broker-holds: {output}")
        count, p50, p99, most, others = match.groups()
        return {"prepared": int(count), "p50": float(p50), "p99": float(p99), "most": float(most), "refused": others}


def start(*words):
    return subprocess.Popen(words, text=True, stdout=subprocess.PIPE)


def measure(options, folder):
    mpathd = Broker(options.bin, folder)
    every = f"0-{os.cpu_count() - 1}"
    rows = {}

    def row(name, processors=every):
        rows[name] = figures = mpathd.prepare(options.count, processors)
        print(f"{name:36} {figures['prepared']:6} {figures['p50']:8.1f} {figures['p99']:8.1f} {figures['most']:9.1f}  "
              f"{figures['refused']}", flush=True)

    print(f"{'beside':36} {'count':>6} {'p50':>8} {'p99':>8} {'most, µs':>9}  refused", flush=True)
    row("nothing")
    mpathd.pin("0")
    row("nothing, on one processor", "0")
    if os.cpu_count() > 1:
        row("nothing, on two processors", "1")
    mpathd.pin(every)

    plain = [start(mpathd.probe, "plain", str(options.count)) for _ in range(4)]
    row("four that connect without steering")
    rows["plain"] = [process.communicate()[0].strip() for process in plain]
    print("  " + "\n  ".join(rows["plain"]))

    floods = [start(*as_user(65531 - number), mpathd.probe, "flood", mpathd.socket, "30") for number in range(2)]
    row("two that flood it")
    for flood in floods:
        flood.kill()
        flood.wait()

    holder = start(*as_user(65532, "sys_ptrace"), sys.executable, str(HOLDER), mpathd.socket, str(options.attacks))
    watch = start(mpathd.probe, "setting", "10000")
    row("one that holds its sockets' locks")
    rows["setting"], rows["held"] = watch.communicate()[0].strip(), holder.communicate()[0].strip()
    print(f"  its sockets: {rows['held']}; the setting was {rows['setting']}")

    status = mpathd.status()
    print(f"mpathd: {status['prepares']} prepared, held up {status['held_up']} times; "
          f"the setting is {SETTING.read_text().strip()}")
    broker.end(mpathd.daemon)
    return rows


def main(words):
    parser = usage.parser("broker-holds", __doc__)
    usage.add_commands(parser)
    parser.add_argument("--count", type=int, default=10_000, help="prepares of a row (default: 10000)")
    parser.add_argument("--attacks", type=int, default=20,
                        help="sockets refused because their lock was held (default: 20)")
    parser.add_argument("--json", type=pathlib.Path, help="write the figures there")
    options = usage.parse_in_lab(parser, words)
    with tempfile.TemporaryDirectory(prefix="broker-holds-") as folder:
        rows = measure(options, folder)
    if options.json:
        options.json.write_text(json.dumps(rows))
