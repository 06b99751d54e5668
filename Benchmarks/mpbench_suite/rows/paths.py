"""The path monitor: how soon a change reaches a consumer, what starting up costs, and what others' changes cost."""
import json
import os
import sys

from ..environment import PEERS, PROGRAMS
from ..figures import quantile
from ..lab import call
from ..row import Metric, Row

PYROUTE2 = (sys.executable, str(PEERS / "monitor.py"))
MONITORS = {"ip-monitor": ("ip", "-4", "monitor", "route"), "pyroute2": PYROUTE2}


def world(lab, *words, limit=300, **environment):
    """The lines that a function of world.sh prints."""
    return call([str(PROGRAMS / "world.sh"), *map(str, words)], limit,
                env={**os.environ, "bench": lab.command("mpbench-paths"), **environment}).splitlines()


def latencies_in_ms(times):
    return {"p50": quantile(times, 0.5) / 1e6, "p99": quantile(times, 0.99) / 1e6}


def latency():
    known = {}

    def run(lab, contender, number):
        # One run gives both contenders' samples, of the same changes.
        if contender == "pyroute2":
            return latencies_in_ms(json.loads(world(lab, "latency", 1000, *PYROUTE2)[0])["peer"]), {}
        if number not in known:
            known[number] = json.loads(world(lab, "latency", 1000, *MONITORS["ip-monitor"])[0])
        return latencies_in_ms(known[number]["ours" if contender == "ours" else "peer"]), {}
    return Row("change", "the default route goes and comes: from the change to the consumer", [
        Metric("p50", "p50 of 1,000 changes"), Metric("p99", "p99 of 1,000 changes", median=1)], run,
        ("ours", "ip-monitor", "pyroute2"), most_runs=4, fewer={"pyroute2": 1}, seconds=4)


def starts(lines):
    """By the case: milliseconds and KiB of each process."""
    found = {}
    for line in lines:
        case, time, _, resident, *_ = line.split()
        times, sizes = found.setdefault(case, ([], []))
        times.append(float(time))
        sizes.append(int(resident))
    return found


def many_routes():
    cases = ["IPv4,table,100", "IPv4,proto,bgp", "IPv4,proto,boot", "IPv6,proto,bgp"]

    def run(lab, contender, _):
        found = starts(world(lab, "many_routes", limit=400, count="500000"))
        few = quantile(found["none"][1], 0.5)
        figures = {case: found[case][0] for case in cases}
        figures["none"] = found["none"][0]
        figures["memory"] = max(quantile(found[case][1], 0.5) - few for case in cases)
        return figures, {}
    return Row("routes", "start-up with 500,000 routes that lead nowhere else", [
        Metric("none", "with 10 routes", median=5)] + [
        Metric(case, f"500,000 of {case.replace(',', ' ')}", median=5)
        for case in cases] + [Metric("memory", "more memory than with 10", "KiB", median=1024)],
        run, ("ours",), most_runs=1, seconds=70)


def many_interfaces():
    def run(lab, contender, _):
        found = starts(world(lab, "many_interfaces"))["interfaces"]
        return {"time": found[0], "memory": found[1]}, {}
    return Row("interfaces", "start-up with 2,000 interfaces", [
        Metric("time", "until the first snapshot", median=30), Metric("memory", "resident", "KiB")], run, ("ours",),
        most_runs=2, seconds=3)


def beside(name, title, function, arguments, metrics, contenders, **more):
    """What changes cost that no consumer is told of: this library and a peer see the same ones."""
    known = {}

    def run(lab, contender, _):
        peer = "ip-monitor" if contender == "ours" else contender
        if peer not in known:
            ours, seconds = world(lab, function, *arguments, *MONITORS[peer], limit=600)
            known[peer] = json.loads(ours), float(seconds)
        ours, seconds = known[peer]
        if contender != "ours":
            return {"cpu": 1e3 * seconds}, {}
        return {"cpu": 1e3 * ours["cpuSeconds"], "wakeups": ours["wakeups"], "updates": ours["updates"]}, ours
    return Row(name, title, metrics, run, contenders, most_runs=1, **more)


def watching():
    def run(lab, contender, _):
        if contender == "networkmanager":
            lines = world(lab, "network_manager")
        else:
            words = (lab.command("mppaths"), "watch") if contender == "ours" else PYROUTE2
            lines = world(lab, "first_line", *words)
        pairs = [[int(word) for word in line.split()] for line in lines]
        return {"time": [time / 1e3 for time, _ in pairs], "memory": [size / 1024 for _, size in pairs]}, {}
    return Row("watch", "mppaths watch, until its first line; NetworkManager, until its start-up is complete", [
        Metric("time", "start-up"), Metric("memory", "resident", "MiB")], run,
        ("ours", "pyroute2", "networkmanager"), most_runs=2, seconds=2)


def path_rows():
    return [
        latency(), many_routes(), many_interfaces(), watching(),
        beside("foreign", "400,000 changes of others' routes", "foreign", (), [
            Metric("wakeups", "wakeups", "", median=10), Metric("cpu", "CPU", median=50),
            Metric("updates", "updates of consumers", "")], ("ours", "ip-monitor"), seconds=6),
        beside("storm", "10,000 veth pairs added and removed", "storm", (10_000,), [
            Metric("cpu", "CPU"), Metric("updates", "updates of consumers", "", worst=0)],
            ("ours", "ip-monitor"), seconds=6),
    ]
