"""The rows of the table: what is done to the lab, what is measured, and what is expected."""
import dataclasses
import random
import typing

from figures import fault, goodput, latencies, on_wire, quantile, stall
from lab import Network


@dataclasses.dataclass(frozen=True)
class Metric:
    key: str
    title: str
    unit: str = "ms"
    median: typing.Optional[float] = None
    worst: typing.Optional[float] = None
    # How many times better than the kernel's.
    ratio: typing.Optional[float] = None
    # How much more than the kernel's it may be.
    more: typing.Optional[float] = None
    at_least: bool = False

    def goal(self):
        sign = ">=" if self.at_least else "<="
        words = []
        if self.median is not None:
            words.append(f"{sign}{self.median:g}")
        if self.worst is not None:
            words.append(f"worst {self.worst:g}")
        if self.ratio is not None:
            words.append(f"{self.ratio:g}x kernel" if self.ratio >= 1 or self.at_least
                         else f"<={1 / self.ratio:.2g}x kernel")
        if self.more is not None:
            words.append(f"<=kernel's + {self.more:g}")
        return ", ".join(words) + (f" {self.unit}" if self.unit != "x" and words else "")


@dataclasses.dataclass
class Row:
    name: str
    title: str
    metrics: list
    # (lab, contender, number of the run) -> (figures by key, the run's result)
    run: typing.Callable
    contenders: tuple = ("ours", "kernel")
    most_runs: int = 1000


def phase(seconds):
    """Not always at the same moment of the load's rhythm."""
    return seconds + random.random() * 0.02


# A queue of one short RTT: with a deep one each loss stops a stream for longer than a handover does.
SHALLOW = ",queue=20ms"
NETWORKS = {
    "": Network(),
    "@v6": Network(family="ipv6"),
    "@mixed": Network(mixed=True),
    "@nat-wifi": Network(wifi="rtt=20ms,rate=100mbit,nat=30s"),
    "@nat-cellular": Network(cellular="rtt=40ms,rate=100mbit,nat=30s"),
}


def shallow(network):
    return dataclasses.replace(network, wifi=network.wifi + SHALLOW, cellular=network.cellular + SHALLOW)


def broken(name, title, load, action, metric, network=Network(), mode="handover"):
    """The path that carries goes away, in one way or another."""
    bulk = load != "rr"

    def run(lab, contender, _):
        who = mode if contender == "ours" else "kernel"
        result = lab.run(network, who, load, 3.5 if bulk else 3.0,
                         [(phase(1.5 if bulk else 1.0), "wlan0", action)])
        return {"stall": stall(result)}, result

    return Row(name, title, [metric], run)


def losing_wifi():
    rows = []
    for suffix, network in NETWORKS.items():
        flat = shallow(network)
        for side in ("both", "up", "down") if suffix == "" else ("both",):
            goal = Metric("stall", "rr stall", median=120, worst=200, ratio=4)
            rows.append(broken(f"dead-{side}-rr{suffix}", f"Wi-Fi silently dead ({side}), requests", "rr",
                               f"blackhole={side}", goal, network))
            for load in ("down", "up"):
                goal = Metric("stall", f"{load} stall", median=120)
                rows.append(broken(f"dead-{side}-{load}{suffix}", f"Wi-Fi silently dead ({side}), {load}load",
                                   load, f"blackhole={side}", goal, flat))
        for short, action in (("link", "down"), ("address", "address off"), ("route", "route off")):
            for load in ("rr", "down", "up"):
                if suffix and (short != "link" or load == "up"):
                    continue
                goal = Metric("stall", f"{load} stall", median=70)
                rows.append(broken(f"{short}-{load}{suffix}", f"Wi-Fi's {short} goes, {load}", load, action, goal,
                                   network if load == "rr" else flat))
    for short, action, limit in (("dead-both", "blackhole", 120), ("link", "down", 70)):
        goal = Metric("stall", "stream's stall", median=limit)
        rows.append(broken(f"{short}-paced", f"{action} while a stream of 4 Mbit/s is played", "paced", action, goal))
    for load in ("down", "up"):
        goal = Metric("stall", f"{load} stall")
        rows.append(broken(f"deep-{load}", f"Wi-Fi silently dead, {load}load, queues of 100 ms", load,
                           "blackhole", goal))
    cold = Network(tag="expensive")
    rows.append(broken("cold-link", "Wi-Fi's link goes, cellular expensive and cold", "rr", "down",
                       Metric("stall", "rr stall", median=150), cold))
    rows.append(broken("cold-dead", "Wi-Fi silently dead, cellular expensive and cold", "rr", "blackhole",
                       Metric("stall", "rr stall", median=250), cold))
    return rows


def bufferbloat():
    def run(lab, contender, _):
        result = lab.run(Network(), "interactive" if contender == "ours" else "kernel", "rr", 5.0,
                         [(phase(1.0), "wlan0", "rtt=500ms")])
        moment = fault(result)
        return {"p50": quantile(latencies(result, moment + 1, 4.4), 0.5),
                "p99": quantile(latencies(result, moment + 2, 4.4), 0.99)}, result

    return Row("bufferbloat", "Wi-Fi's RTT goes from 20 to 500 ms", [
        Metric("p50", "p50 after 1 s", median=44), Metric("p99", "p99 after 2 s", median=60)], run)


# Seconds and RTTs in between: each path at its own pace.
TRAIN = {"wlan0": [(0, 20), (1, 20), (3, 200), (4, 200), (5, 20), (7, 20), (8, 120), (9, 20)],
         "wwan0": [(0, 40), (4, 40), (6, 250), (7, 40), (9, 60)]}


def rtt(link, time):
    points = TRAIN[link]
    for (start, first), (end, last) in zip(points, points[1:]):
        if start <= time <= end:
            return first + (last - first) * (time - start) / (end - start)
    return points[-1][1]


def train():
    times = [step / 10 for step in range(1, 90)]
    steps = [(time, link, f"rtt={rtt(link, time):.0f}ms") for time in times for link in TRAIN]

    def run(lab, contender, _):
        result = lab.run(Network(), "interactive" if contender == "ours" else "kernel", "rr", 9.0, steps)
        seen = latencies(result, 0.5, 8.5)
        # The better path at the moment of each request, in steps as they were made.
        best = [min(rtt(link, int(sent * 10) / 10) for link in TRAIN)
                for sent, _ in result["requests"] if 0.5 <= sent <= 8.5]
        return {"p95": quantile(seen, 0.95) / quantile(best, 0.95),
                "p50": quantile(seen, 0.5) / quantile(best, 0.5)}, result

    return Row("train", "Both RTTs wander; beside an oracle that takes the better path", [
        Metric("p95", "p95 / oracle's", "x", median=1.25), Metric("p50", "p50 / oracle's", "x")], run)


def healthy():
    def row(name, title, network, load, metric):
        def run(lab, contender, _):
            who = "handover" if contender == "ours" else "kernel"
            result = lab.run(network, who, load, 60.0, count="wwan0")
            cellular = result["counted"]["bytes"]
            return {"bytes": cellular, "share": 100 * cellular / on_wire(result, "wlan0")}, result
        return Row(name, title, [metric], run, ("ours",), 2)

    slow = "rtt=20ms,rate=20mbit,queue=20ms"
    return [
        row("healthy-cold", "Wi-Fi healthy for 60 s, cellular expensive", Network(tag="expensive"), "rr",
            Metric("bytes", "bytes on cellular", "B", worst=0)),
        row("healthy-cold-down", "the same, downloading", Network(wifi=slow, tag="expensive"), "down",
            Metric("bytes", "bytes on cellular", "B", worst=0)),
        row("healthy-warm", "Wi-Fi healthy for 60 s, cellular standing by, requests", Network(), "rr",
            Metric("share", "cellular's share", "%")),
        row("healthy-warm-down", "the same, downloading", Network(wifi=slow), "down",
            Metric("share", "cellular's share", "%", worst=0.1)),
    ]


def returns():
    def run(lab, contender, _):
        result = lab.run(Network(), "handover" if contender == "ours" else "kernel", "rr", 7.0,
                         [(phase(1.0), "wlan0", "blackhole"), (phase(2.5), "wlan0", "blackhole=none")])
        back = fault(result)
        quick = [(sent, 0 <= took < 0.032) for sent, took in result["requests"] if sent > back]
        carried = [sent - back for index, (sent, _) in enumerate(quick)
                   if index + 5 <= len(quick) and all(is_quick for _, is_quick in quick[index:index + 5])]
        return {"back": carried[0] if carried else result["end"] - back}, result

    return Row("returns", "Wi-Fi comes back 1.5 s after it died in silence", [
        Metric("back", "until it carries again", "s", median=2)], run)


def aggregate():
    rows = []
    for name, title, cellular in (
            ("aggregate", "two healthy paths together", "rtt=40ms,rate=100mbit"),
            ("aggregate-uneven", "100 Mbit/s at 20 ms with 30 at 120 ms", "rtt=120ms,rate=30mbit")):
        network = Network(cellular=cellular)
        for load in ("down", "up"):
            def run(lab, contender, number, network=network, load=load, alone={}):
                def rate(who, *extra):
                    result = lab.run(network, who, load, 6.0, extra=extra, backup=False)
                    return goodput(result, 2.0, 6.0), result
                # What each path gives alone, in the same minute.
                if number not in alone:
                    alone[number] = sum(rate("handover", "--require", link)[0] for link in ("wlan0", "wwan0"))
                own, result = rate("aggregate" if contender == "ours" else "kernel")
                return {"share": own / alone[number], "rate": own}, result
            rows.append(Row(f"{name}-{load}", f"{title}, {load}load", [
                Metric("share", "of the sum of both", "x", median=0.95, at_least=True),
                Metric("rate", "Mbit/s", "Mbit/s", at_least=True)], run))
    for load in ("down", "up"):
        for link in ("wlan0", "wwan0"):
            def run(lab, contender, number, load=load, link=link, alone={}):
                network = shallow(Network())
                other = "wwan0" if link == "wlan0" else "wlan0"
                if number not in alone:
                    result = lab.run(network, "handover", load, 4.0, extra=("--require", other))
                    alone[number] = goodput(result, 2.0, 4.0)
                result = lab.run(network, "aggregate" if contender == "ours" else "kernel", load, 5.0,
                                 [(phase(2.0), link, "blackhole")], backup=False)
                after = goodput(result, fault(result) + 1, 5.0)
                return {"stall": stall(result), "after": after / alone[number]}, result
            rows.append(Row(f"dies-{link}-{load}", f"aggregate, {link} dies in silence, {load}load", [
                Metric("stall", "stall", median=150),
                Metric("after", "of the survivor's, after 1 s", "x", median=0.9, at_least=True)], run))
    return rows


def prohibited():
    def row(mode, action):
        def run(lab, contender, _):
            result = lab.run(Network(), mode, "rr", 3.0, [(phase(1.0), "wlan0", action)],
                             extra=("--prohibit", "wwan0"), count="wwan0")
            return {"packets": result["counted"]["packets"], "syns": result["counted"]["syns"]}, result
        word = action.split("=")[0]
        return Row(f"prohibited-{mode}-{word}", f"{mode}, cellular prohibited, Wi-Fi: {action}", [
            Metric("packets", "packets on cellular", "", worst=0)], run, ("ours",))
    return [row(mode, action) for mode in ("handover", "interactive", "aggregate")
            for action in ("blackhole", "down", "rtt=500ms")]


def lossy():
    network = Network(wifi="rtt=20ms,rate=100mbit,loss=10%")

    def moves(lab, contender, _):
        result = lab.run(network, "handover", "rr", 60.0)
        return {"moves": max(result["moves"] - 1, 0)}, result

    def rates(lab, contender, _):
        who = "handover" if contender == "ours" else "kernel"
        result = lab.run(network, who, "down", 10.0)
        return {"rate": goodput(result, 1.0, 10.0), "moves": max(result["moves"] - 1, 0)}, result

    return [
        Row("lossy-moves", "10 % random loss on Wi-Fi, requests, 60 s", [
            Metric("moves", "moves a minute", "", median=1)], moves, ("ours",), 3),
        Row("lossy-down", "10 % random loss on Wi-Fi, download, 10 s", [
            Metric("rate", "Mbit/s", "Mbit/s", ratio=1, at_least=True),
            Metric("moves", "moves in 10 s", "")], rates),
    ]


def steady():
    """Nothing is wrong: a transfer fills the queues of 100 ms, and nobody may take that for a failure."""
    rows = []
    for load in ("down", "up"):
        def run(lab, contender, _, load=load):
            result = lab.run(Network(), "handover" if contender == "ours" else "kernel", load, 6.0)
            return {"moves": max(result["moves"] - 1, 0), "rate": goodput(result, 1.0, 6.0)}, result
        rows.append(Row(f"steady-{load}", f"nothing is wrong, {load}load, queues of 100 ms", [
            Metric("moves", "false moves in 6 s", "", worst=0),
            Metric("rate", "Mbit/s", "Mbit/s", ratio=0.95, at_least=True)], run))
    return rows


def crowd():
    def run(lab, contender, _):
        who = "handover" if contender == "ours" else "kernel"
        result = lab.run(Network(), who, "crowd", 10.0, extra=("--count", "1000", "--interval", "0.5"), limit=120)
        return {"idle": 100 * result["idleCPU"], "busy": 100 * result["busyCPU"],
                "memory": (result["residentKiB"] - result["residentBeforeKiB"]) / result["connections"]}, result
    return Row("crowd", "1,000 connections: idle, then 2,000 requests a second", [
        Metric("idle", "CPU, idle", "%", median=0.5), Metric("memory", "KiB a connection", "KiB", more=16),
        Metric("busy", "CPU, echoing", "%", ratio=1 / 1.3)], run, ("ours", "kernel"), 3)


def all_rows():
    return (losing_wifi() + steady() + [bufferbloat(), train(), returns()] + aggregate() + prohibited() + lossy() + healthy()
            + [crowd()])
