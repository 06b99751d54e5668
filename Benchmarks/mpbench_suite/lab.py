"""Runs programs in the client host of a lab, mpbench-modes above all."""
import concurrent.futures
import contextlib
import dataclasses
import json
import os
import pathlib
import random
import shlex
import signal
import subprocess
import sys

from .environment import PROGRAMS

COUNTER = str(PROGRAMS / "count.py")
SUBFLOWS = str(PROGRAMS / "subflows.py")
MPTCPD = "/usr/libexec/mptcpd"
SERVER = {"ipv4": "203.0.113.10", "ipv6": "2001:db8:3::10"}
CELLULAR = {"ipv4": "192.0.2.18", "ipv6": "2001:db8:1:1::2"}
# The contenders that are one program, opened by SwiftNIO with MPTCP on, and differ in who manages its paths.
PATH_MANAGERS = ("kernel", "mptcpd-addr_adv", "mptcpd-sspi")
# Congestion controls at the sending end. A namespace's sysctl takes only those that the machine allows everybody, a
# socket in a namespace of its own any that the kernel has: so it is an option of the socket.
SENDERS = ("bbr", "cubic", "reno")
ALLOWED = pathlib.Path("/proc/sys/net/ipv4/tcp_allowed_congestion_control")
# The process groups of `call` that have not ended.
RUNNING = set()
# What can go wrong with a run.
RUN_ERRORS = (RuntimeError, subprocess.SubprocessError, OSError, ValueError, KeyError, IndexError)


@dataclasses.dataclass(frozen=True)
class Network:
    """The client's two links."""
    wifi: str = "rtt=20ms,rate=100mbit"
    cellular: str = "rtt=40ms,rate=100mbit"
    tag: str = "not-expensive"
    family: str = "ipv4"
    mixed: bool = False
    # The congestion control of both ends; the lab's own where nothing is said.
    sender: str = ""

    def scenario(self):
        return f"link wlan0 wifi {self.wifi}\nlink wwan0 cellular,{self.tag} {self.cellular}\n"


def call(command, limit, **more):
    """What a command of its own process group prints. At the limit, or where this program is interrupted, the whole
    group is ended."""
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                               start_new_session=True, **more)
    RUNNING.add(process.pid)
    try:
        output, errors = process.communicate(timeout=limit)
    except BaseException:
        end(process)
        raise
    finally:
        RUNNING.discard(process.pid)
    if process.returncode != 0:
        raise RuntimeError(f"status {process.returncode}: {(errors.strip() or output.strip())[-400:]}")
    return output


def end(process):
    """Ends a process group: mplab ends its hosts when it is asked to, and is killed where it does not."""
    for number in (signal.SIGTERM, signal.SIGKILL):
        try:
            os.killpg(process.pid, number)
            process.communicate(timeout=5)
            return
        except (ProcessLookupError, subprocess.TimeoutExpired):
            continue


def side_by_side(function, jobs, count):
    """The results of a function for each job, in their order, so many jobs at a time. Where this program is
    interrupted, the jobs that wait are left out, and what the others have called is ended."""
    with concurrent.futures.ThreadPoolExecutor(count) as pool:
        try:
            yield from pool.map(function, jobs)
        except BaseException:
            for number in list(RUNNING):
                with contextlib.suppress(ProcessLookupError):
                    os.killpg(number, signal.SIGTERM)
            raise


def allowed_senders():
    """The congestion controls that the machine allows every process."""
    return ALLOWED.read_text().split()


def facts(output):
    """What a probe of the project printed, a name and a value in each line: all values of each name."""
    found = {}
    for line in output.splitlines():
        name, _, value = line.partition(" ")
        found.setdefault(name, []).append(value)
    return found


def in_lab(mplab, options, words, limit, **more):
    """What a program prints in the client host of a lab of its own."""
    return call([str(mplab), "run", "--quiet", *options, "--", *words], limit, **more)


class Lab:
    """- commands, own_commands: the folders of the project's commands and of the benchmarks' own
    - folder: for a run's files"""

    def __init__(self, commands, own_commands, folder):
        self.commands, self.own_commands, self.folder = map(pathlib.Path, (commands, own_commands, folder))

    def command(self, name):
        """The path of one of the benchmarks' own commands, or of the project's."""
        own = self.own_commands / name
        return str(own if own.exists() else self.commands / name)

    def execute(self, scenario, words, limit, *options, **more):
        """What a program in the client host prints; `more` as in `call`."""
        path = self.folder / "scenario"
        path.write_text(scenario)
        # Another seed each time, or each run would lose the same packets.
        return in_lab(self.command("mplab"), ["--scenario", str(path), "--seed", str(random.getrandbits(31)), *options],
                      words, limit, **more)

    def run(self, network, who, load, seconds, faults=(), extra=(), count=None, backup=True, limit=None,
            settle=None, listener=None, watch=False):
        """One run; faults are (seconds, link, action). Returns what mpbench-modes printed.

        - listener: what serves instead of the lab's services: `kernel`, or `ours`. An upload then has `arrivals`,
          pauses at the receiving program.
        - backup: how the kernel's path manager has its second endpoint: as a backup, as a path like the first, or not
          at all, where it is None.
        - watch: whether the events of the kernel's MPTCP are noted, as `subflows`."""
        # A path manager's connection begins on the path that fails, which here has IPv4 only.
        host = "server" if network.mixed and who not in PATH_MANAGERS else SERVER[network.family]
        words = [self.command("mpbench-modes"), "kernel" if who in PATH_MANAGERS else who, load, "--host", host,
                 "--seconds", str(seconds)]
        if settle:
            words += ["--settle", str(settle)]
        for at, link, action in faults:
            words += ["--at", f"{at:.4f}", link, action]
        words += list(extra)
        scenario, options = network.scenario(), []
        if network.sender:
            words += ["--congestion", network.sender]
        if listener:
            options = ["--serve", self.serving(network, listener)]
        elif network.sender:
            scenario += f"congestion server={network.sender}\n"
        if watch:
            words = [sys.executable, SUBFLOWS] + words
        if count:
            words = [sys.executable, COUNTER, count] + words
        script = "\n".join(["set -e"] + path_manager(network, who, backup) + ['"$@"'])
        output = self.execute(scenario, ["sh", "-c", script, "sh"] + words, limit or seconds + 20, *options)
        lines = output.splitlines()
        if not lines:
            raise RuntimeError("mpbench-modes printed nothing")
        result = json.loads(lines.pop(0))
        if faults and len(result["faults"]) != len(faults):
            raise RuntimeError("a fault did not happen")
        if watch:
            result["subflows"] = [[time - result["begun"], event, token]
                                  for time, event, token in json.loads(lines.pop(0))]
        if count:
            result["counted"] = json.loads(lines.pop(0))
        if listener and load == "up":
            result["arrivals"] = self.arrivals(result)
        return result

    @property
    def log(self):
        return self.folder / "arrivals"

    def serving(self, network, listener):
        """The shell command of the server host."""
        self.log.unlink(missing_ok=True)
        words = [self.command("mpbench-modes"), "serve", listener, "--log", str(self.log)]
        if network.sender:
            words += ["--congestion", network.sender]
        # Steering an accepted connection takes the path manager in user space.
        before = "sysctl -qw net.mptcp.path_manager=userspace && " if listener == "ours" else ""
        return f"{before}exec {shlex.join(words)}"

    def arrivals(self, result):
        """The pauses at the receiving program: seconds since the load began, and how long."""
        gaps, last = [], None
        for line in self.log.read_text().splitlines():
            kind, *numbers = line.split()
            if kind == "gap":
                gaps.append([float(numbers[0]) - result["begun"], float(numbers[1])])
            last = sum(float(number) for number in numbers) - result["begun"]
        # The pause in which the run ended, a few looks' length left out.
        if last is not None and result["end"] - last > 0.05:
            gaps.append([last, result["end"] - last])
        return gaps


def path_manager(network, who, backup):
    """The lines of a shell script that set a contender's path manager up in the client host."""
    lines = []
    if network.mixed:
        lines += ["ip -4 addr flush dev wwan0", "ip -6 addr flush dev wlan0 scope global",
                  "ip -6 route del default dev wlan0"]
    if who == "kernel" and backup is not None:
        flags = "subflow backup" if backup else "subflow fullmesh"
        family = "ipv6" if network.mixed else network.family
        lines += ["ip mptcp limits set subflows 8 add_addr_accepted 8",
                  f"ip mptcp endpoint add {CELLULAR[family]} dev wwan0 {flags}"]
    elif who.startswith("mptcpd-"):
        plugin = who.removeprefix("mptcpd-")
        if plugin == "sspi":
            # sspi decides itself; addr_adv gives its addresses to the kernel's path manager.
            lines.append("sysctl -qw net.mptcp.path_manager=userspace")
        ready = ("grep -q 'path manager initialized' \"$log\"" if plugin == "sspi"
                 else "ip mptcp endpoint | grep -q wwan0")
        # mptcpd has to be told of the addresses that were there before it. Without address flags, as Debian delivers it,
        # its endpoints serve no connection.
        flags = "subflow,backup" if backup else "subflow"
        lines += ["log=$(mktemp)", "trap 'kill $daemon; rm -f \"$log\"' EXIT",
                  f"{MPTCPD} --log=stderr --path-manager={plugin} --load-plugins={plugin} --addr-flags={flags} "
                  "--notify-flags=existing,skip_link_local,skip_loopback > /dev/null 2> \"$log\" &", "daemon=$!",
                  f"for _ in $(seq 100); do if {ready}; then break; fi; sleep 0.02; done", ready]
    return lines
