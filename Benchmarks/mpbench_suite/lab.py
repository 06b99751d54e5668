"""Runs programs in the client host of a lab, mpbench-modes above all."""
import dataclasses
import json
import os
import pathlib
import random
import signal
import subprocess
import sys

from .environment import PROGRAMS

COUNTER = str(PROGRAMS / "count.py")
MPTCPD = "/usr/libexec/mptcpd"
SERVER = {"ipv4": "203.0.113.10", "ipv6": "2001:db8:3::10"}
CELLULAR = {"ipv4": "192.0.2.18", "ipv6": "2001:db8:1:1::2"}
# The contenders that are one program, opened by SwiftNIO with MPTCP on, and differ in who manages its paths.
PATH_MANAGERS = ("kernel", "mptcpd-addr_adv", "mptcpd-sspi")


@dataclasses.dataclass(frozen=True)
class Network:
    """The client's two links."""
    wifi: str = "rtt=20ms,rate=100mbit"
    cellular: str = "rtt=40ms,rate=100mbit"
    tag: str = "not-expensive"
    family: str = "ipv4"
    mixed: bool = False

    def scenario(self):
        return f"link wlan0 wifi {self.wifi}\nlink wwan0 cellular,{self.tag} {self.cellular}\n"


def call(command, limit, **more):
    """What a command of its own process group prints. At the limit, or where this program is interrupted, the whole
    group is ended."""
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                               start_new_session=True, **more)
    try:
        output, errors = process.communicate(timeout=limit)
    except BaseException:
        end(process)
        raise
    if process.returncode != 0:
        raise RuntimeError(f"status {process.returncode}: {errors.strip()[-400:]}")
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


class Lab:
    """- commands, own_commands: the folders of the project's commands and of the benchmarks' own
    - folder: for a run's files"""

    def __init__(self, commands, own_commands, folder):
        self.commands, self.own_commands, self.folder = map(pathlib.Path, (commands, own_commands, folder))

    def command(self, name):
        """The path of one of the benchmarks' own commands, or of the project's."""
        own = self.own_commands / name
        return str(own if own.exists() else self.commands / name)

    def execute(self, scenario, words, limit, *options):
        """What a program in the client host prints."""
        path = self.folder / "scenario"
        path.write_text(scenario)
        # Another seed each time, or each run would lose the same packets.
        return call([self.command("mplab"), "run", "--quiet", "--scenario", str(path), "--seed",
                     str(random.getrandbits(31)), *options, "--", *words], limit)

    def run(self, network, who, load, seconds, faults=(), extra=(), count=None, backup=True, limit=None,
            settle=None):
        """One run; faults are (seconds, link, action). Returns what mpbench-modes printed."""
        # A path manager's connection begins on the path that fails, which here has IPv4 only.
        host = "server" if network.mixed and who not in PATH_MANAGERS else SERVER[network.family]
        words = [self.command("mpbench-modes"), "kernel" if who in PATH_MANAGERS else who, load, "--host", host,
                 "--seconds", str(seconds)]
        if settle:
            words += ["--settle", str(settle)]
        for at, link, action in faults:
            words += ["--at", f"{at:.4f}", link, action]
        words += list(extra)
        if count:
            words = [sys.executable, COUNTER, count] + words
        script = "\n".join(["set -e"] + path_manager(network, who, backup) + ['"$@"'])
        output = self.execute(network.scenario(), ["sh", "-c", script, "sh"] + words, limit or seconds + 20)
        lines = output.splitlines()
        if not lines:
            raise RuntimeError("mpbench-modes printed nothing")
        result = json.loads(lines[0])
        if count:
            result["counted"] = json.loads(lines[1])
        return result


def path_manager(network, who, backup):
    """The lines of a shell script that set a contender's path manager up in the client host."""
    lines = []
    if network.mixed:
        lines += ["ip -4 addr flush dev wwan0", "ip -6 addr flush dev wlan0 scope global",
                  "ip -6 route del default dev wlan0"]
    if who == "kernel":
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
