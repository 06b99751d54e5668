"""Runs mpbench-modes in the client host of a lab."""
import dataclasses
import json
import random
import subprocess
import sys
import pathlib

COUNTER = str(pathlib.Path(__file__).resolve().parent / "count.py")
SERVER = {"ipv4": "203.0.113.10", "ipv6": "2001:db8:3::10"}
CELLULAR = {"ipv4": "192.0.2.18", "ipv6": "2001:db8:1:1::2"}


@dataclasses.dataclass(frozen=True)
class Network:
    """Two links, and what is special about them."""
    wifi: str = "rtt=20ms,rate=100mbit"
    cellular: str = "rtt=40ms,rate=100mbit"
    tag: str = "not-expensive"
    family: str = "ipv4"
    mixed: bool = False

    def scenario(self):
        return (f"link wlan0 wifi {self.wifi}\n" f"link wwan0 cellular,{self.tag} {self.cellular}\n")


class Lab:
    def __init__(self, mplab, bench, folder):
        self.mplab, self.bench, self.folder = mplab, bench, folder

    def run(self, network, who, load, seconds, faults=(), extra=(), count=None, backup=True, limit=None):
        """One run; faults are (seconds, link, action). Returns what mpbench-modes printed."""
        scenario = f"{self.folder}/scenario"
        pathlib.Path(scenario).write_text(network.scenario())
        prepare = []
        if network.mixed:
            prepare += ["ip -4 addr flush dev wwan0", "ip -6 addr flush dev wlan0 scope global",
                        "ip -6 route del default dev wlan0"]
        if who == "kernel":
            flags = "subflow backup" if backup else "subflow"
            prepare += ["ip mptcp limits set subflows 8 add_addr_accepted 8"]
            families = ["ipv6"] if network.mixed else [network.family]
            prepare += [f"ip mptcp endpoint add {CELLULAR[family]} dev wwan0 {flags}" for family in families]
        # The kernel's connection is to begin on the path that fails: by IPv4.
        host = "server" if network.mixed and who != "kernel" else SERVER[network.family]
        words = [self.bench, who, load, "--host", host, "--seconds", str(seconds)]
        for at, link, action in faults:
            words += ["--at", f"{at:.4f}", link, action]
        words += list(extra)
        if count:
            words = [sys.executable, COUNTER, count] + words
        script = " && ".join(prepare + ['exec "$@"'])
        # Another seed each time, or the same packets would be lost in each run.
        command = [self.mplab, "run", "--quiet", "--scenario", scenario, "--seed", str(random.getrandbits(31)),
                   "--", "sh", "-c", script, "sh"] + words
        process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        try:
            output, errors = process.communicate(timeout=limit or seconds + 20)
        except subprocess.TimeoutExpired:
            process.kill()
            process.communicate()
            raise
        if process.returncode != 0 or not output.strip():
            raise RuntimeError(f"status {process.returncode}: {errors.strip()[-400:]}")
        result = json.loads(output.splitlines()[0])
        if count:
            result["counted"] = json.loads(output.splitlines()[1])
        return result
