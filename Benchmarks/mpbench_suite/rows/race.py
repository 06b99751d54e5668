"""How long connecting takes, and what it costs: this library beside its peers, in the same lab.

Each run of a contender is a program of its own in a lab of its own, that connects a few times."""
import json
import sys

from ..environment import PEERS
from ..lab import COUNTER, call
from ..row import Metric, Row

WIFI = "link wlan0 wifi "
CELLULAR = "link wwan0 cellular,not-expensive "
GOOD = CELLULAR + "rtt=40ms,rate=100mbit\n"
FEW = {"go": 3, "curl": 3, "python": 3}


def command(lab, contender, runs, is_fresh):
    """Connects so many times and prints the milliseconds of each, or `-` for an attempt that made no connection."""
    if contender in ("ours", "ours-tcp", "nio", "nio-mptcp"):
        return [lab.command("mpbench-race"), contender, str(runs), "server", "80"] + (["fresh"] if is_fresh else [])
    if contender in ("go", "go-mptcp"):
        return [go(lab), str(runs), "server", "80"] + (["mptcp"] if contender == "go-mptcp" else [])
    if contender == "curl":
        return [str(PEERS / "connect.sh"), str(runs), "server", "80"]
    return [sys.executable, str(PEERS / "connect.py"), str(runs), "server", "80"]


def go(lab):
    """The program in Go, built when it is first wanted."""
    target = lab.folder / "connect"
    if not target.exists():
        call(["go", "build", "-o", str(target), str(PEERS / "connect.go")], 300, cwd=lab.folder)
    return str(target)


def connecting(name, title, links, metrics, contenders, connections=4, limit=10, is_fresh=False, learning=0,
               of_others=None, **more):
    """Samples are milliseconds; an attempt that made no connection counts as the limit, which is in seconds."""
    def run(lab, contender, _):
        count = connections if contender == "ours" else of_others or connections
        words = command(lab, contender, count + learning, is_fresh)
        output = lab.execute(links, ["env", f"LIMIT={limit}", *words], 30 + (count + learning) * (limit + 1))
        times = [1e3 * limit if line == "-" else float(line) for line in output.split()][learning:]
        if len(times) != count:
            raise RuntimeError(f"{len(times)} connections instead of {count}")
        return {"time": times}, {}
    return Row(name, title, [metric("time") for metric in metrics], run, contenders, **more)


def wall(title="until connected", **goals):
    return lambda key: Metric(key, title, **goals)


def syns():
    def run(lab, contender, _):
        words = [sys.executable, COUNTER, "wlan0", sys.executable, COUNTER, "wwan0",
                 *command(lab, contender, 1, False)]
        lines = lab.execute(WIFI + "rtt=20ms,rate=100mbit\n" + GOOD, words, 30).splitlines()
        return {"syns": sum(json.loads(line)["syns"] for line in lines[-2:])}, {}
    return Row("connect-syns", "a healthy network: SYNs that leave for one connection", [
        Metric("syns", "SYNs", "", worst=1)], run, ("ours", "nio"), most_runs=5, seconds=1)


def instructions(name, title, who, host):
    """User space only, by valgrind: the difference of many and few connections, so that starting up and learning
    don't count."""
    few, many = 50, 350

    def counted(lab, who, count):
        # Valgrind stumbles over the debug information of a newer compiler, and needs none.
        stripped = lab.folder / "mpbench-instructions"
        if not stripped.exists():
            call(["strip", "--strip-debug", "-o", str(stripped), lab.command("mpbench-instructions")], 60)
        out = lab.folder / "callgrind"
        lab.execute(WIFI + "rtt=1ms\n" + CELLULAR + "rtt=1ms\n", [
            "valgrind", "--tool=callgrind", f"--callgrind-out-file={out}", str(stripped), who, str(count), host, "80"],
            300)
        for line in out.read_text().splitlines():
            if line.startswith(("totals:", "summary:")):
                return int(line.split()[1])
        raise RuntimeError("valgrind counted nothing")

    known = {}

    def run(lab, contender, _):
        program = who.get(contender, contender)
        if (program, host) not in known:
            known[program, host] = (counted(lab, program, many) - counted(lab, program, few)) / (many - few)
        return {"instructions": known[program, host] / 1e3}, {}
    return Row(name, title, [
        Metric("instructions", "instructions", "thousand", ratio=1 / 1.1, against="nio")], run,
        ("ours", "ours-tcp", "nio", "nio-mptcp"), most_runs=1, seconds=5)


def race_rows():
    good_wifi = WIFI + "rtt=20ms,rate=100mbit\n"
    dead_wifi = WIFI + "rtt=20ms,blackhole=both\n"
    channel = {"ours": "channel", "ours-tcp": "channel-tcp"}
    address = "203.0.113.10"
    return [
        connecting("connect-healthy", "a healthy network, RTT 20 ms", good_wifi + GOOD,
                   [wall(ratio=1 / 1.1, against="nio")],
                   ("ours", "ours-tcp", "nio", "nio-mptcp", "go", "curl", "python"),
                   fewer={name: 5 for name in ("go", "curl", "python")}, seconds=0.8),
        connecting("connect-dead", "the default path silently dead, nothing known of it", dead_wifi + GOOD,
                   [wall(median=298)], ("ours", "nio", "go", "curl", "python"), connections=2, limit=4, is_fresh=True,
                   of_others=1, fewer={name: 1 for name in ("nio", "go", "curl", "python")}, seconds=3),
        connecting("connect-history", "the same, after an earlier connection", dead_wifi + GOOD, [wall(median=190)],
                   ("ours",), learning=1, limit=4, seconds=1.5),
        connecting("connect-middlebox", "MPTCP SYNs dropped on both paths",
                   WIFI + "rtt=20ms,middlebox=drop\n" + CELLULAR + "rtt=40ms,middlebox=drop\n",
                   # One each: the kernel remembers a middlebox for an hour.
                   [wall(median=500)], ("ours", "nio-mptcp", "go-mptcp"), connections=1,
                   fewer={"nio-mptcp": 3, "go-mptcp": 3}, seconds=2),
        connecting("connect-lossy", "30 % loss on the default path", WIFI + "rtt=20ms,loss=30%\n" + GOOD,
                   [wall("p95 until connected", at=0.95, ratio=2, against="nio"), wall("until connected")],
                   ("ours", "nio", "go", "python"), is_fresh=True, fewer=FEW, seconds=3),
        syns(),
        instructions("instructions-descriptor", "connecting and closing: a descriptor, to an address", {}, address),
        instructions("instructions-descriptor-name", "a descriptor, to a name in /etc/hosts", {}, "server"),
        instructions("instructions-channel", "a SwiftNIO channel, to an address", channel, address),
        instructions("instructions-channel-name", "a SwiftNIO channel, to a name", channel, "server"),
    ]
