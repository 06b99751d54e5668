"""What the modes do when a path goes bad: this library beside the kernel's path manager, alone or led by mptcpd.

Wi-Fi with an RTT of 20 ms and cellular with 40 ms, 100 Mbit/s each, cellular a warm standby unless a row says
otherwise. The kernel has its endpoint (a backup, in aggregate fullmesh) before the program starts. What never
recovers counts until its run's end. A name with @v6, @mixed, @nat-wifi or @nat-cellular is the same on another
network, one with @bbr, @cubic or @reno a transfer under that congestion control at the sending end."""
import dataclasses
import random

from ..figures import fault, goodput, latencies, on_wire, quantile, stall
from ..lab import PATH_MANAGERS, SENDERS, Network
from ..row import Metric, Row


def phase(seconds):
    """Not always at the same moment of the load's rhythm."""
    return seconds + random.random() * 0.02


# Requests that have gone on smoothly for so long after their fault are over it.
SETTLE = 0.5
# How long after a fault a transfer's pauses count, in seconds, and how long it is watched: a pause may come long after
# the move, where what the move left behind is ended.
WINDOW, WATCHED = 3.0, 3.4
# mptcpd stands beside the others only in the rows that say most.
MPTCPD = ("mptcpd-addr_adv", "mptcpd-sspi")
FEW_OF_MPTCPD = {contender: 2 for contender in MPTCPD}
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


def named(contender, mode="handover"):
    """A contender as Lab.run knows it."""
    return contender if contender in PATH_MANAGERS else mode


def broken(name, title, load, action, metric, network=Network(), contenders=("ours", "kernel"), **runs):
    """The path that carries goes away, in one way or another."""
    # A transfer is young or old: what a sender has in its buffers differs. An upload is a second old at least: so long a
    # standby has to be idle for the kernel to probe it.
    youngest, oldest, after = {"down": (0.8, 2.2, WATCHED), "up": (1.4, 2.2, WATCHED)}.get(load, (0.5, 0.5, 1.8))
    is_bulk = load in ("down", "up")

    def run(lab, contender, number):
        # The same for all contenders.
        begin = random.Random(f"{name} {number}").uniform(youngest, oldest)
        result = lab.run(network, named(contender), load, begin + after, [(phase(begin), "wlan0", action)],
                         settle=None if is_bulk else SETTLE, listener="kernel" if load == "up" else None)
        return {"stall": stall(result, window=WINDOW)}, result

    return Row(name, title, [metric], run, contenders, seconds=(youngest + oldest) / 2 + after + 0.4, **runs)


def losing_wifi():
    """Requests; and a stream as it is played, which a sender's congestion control has no part in."""
    rows = []
    for suffix, network in NETWORKS.items():
        # On another network only the row whose goal is beside the kernel's figure has the kernel in it.
        elsewhere = [("ours",)] if suffix else []
        # Only what has a goal beside the kernel's figure needs as many runs of the kernel's.
        few = {"kernel": 2}
        for side in ("both", "up", "down") if suffix == "" else ("both",):
            goal = Metric("stall", "rr stall", median=120, worst=200, ratio=4)
            is_first = suffix == "" and side == "both"
            rows.append(broken(f"dead-{side}-rr{suffix}", f"Wi-Fi silently dead ({side}), requests", "rr",
                               f"blackhole={side}", goal, network,
                               ("ours", "kernel", *MPTCPD) if is_first else ("ours", "kernel"),
                               fewer={"kernel": 5, **FEW_OF_MPTCPD}, most_runs=3 if suffix else 1000))
        for short, action in (("link", "down"), ("address", "address off"), ("route", "route off")):
            if suffix and short != "link":
                continue
            is_first = suffix == "" and short == "link"
            rows.append(broken(f"{short}-rr{suffix}", f"Wi-Fi's {short} goes, rr", "rr", action,
                               Metric("stall", "rr stall", median=70), network,
                               *([("ours", "kernel", *MPTCPD)] if is_first else elsewhere),
                               most_runs=2 if suffix else 10, fewer={**few, **FEW_OF_MPTCPD}))
    few = {"ours": 3, "kernel": 1}
    for short, action, limit in (("dead-both", "blackhole", 120), ("link", "down", 70)):
        goal = Metric("stall", "stream's stall", median=limit)
        rows.append(broken(f"{short}-paced", f"{action} while a stream of 4 Mbit/s is played", "paced", action, goal,
                           fewer=few))
    for suffix, network in NETWORKS.items():
        cold = dataclasses.replace(network, tag="expensive")
        elsewhere = {"contenders": ("ours",), "most_runs": 2} if suffix else {}
        rows.append(broken(f"cold-link{suffix}", "Wi-Fi's link goes, cellular expensive and cold", "rr", "down",
                           Metric("stall", "rr stall", median=150), cold, **elsewhere, fewer={"kernel": 3}))
        rows.append(broken(f"cold-dead{suffix}", "Wi-Fi silently dead, cellular expensive and cold", "rr", "blackhole",
                           Metric("stall", "rr stall", median=250), cold, **elsewhere, fewer={"kernel": 3}))
    return rows


def losing_wifi_in_transfers():
    """Downloads and uploads, under each congestion control."""
    rows = []
    for sender in SENDERS:
        for suffix, network in NETWORKS.items():
            flat = dataclasses.replace(shallow(network), sender=sender)
            # On another network there are only few runs, and only of ours.
            runs = {"contenders": ("ours",), "most_runs": 1} if suffix else {"fewer": {"kernel": 2}}
            for load in ("down", "up"):
                goal = Metric("stall", f"{load} stall", median=120)
                for side in ("both", "up", "down") if suffix == "" else ("both",):
                    rows.append(broken(f"dead-{side}-{load}{suffix}@{sender}",
                                       f"Wi-Fi silently dead ({side}), {load}load, {sender}", load,
                                       f"blackhole={side}", goal, flat, **runs))
                goal = Metric("stall", f"{load} stall", median=70)
                for short, action in (("link", "down"), ("address", "address off"), ("route", "route off")):
                    if suffix == "" or short == "link":
                        rows.append(broken(f"{short}-{load}{suffix}@{sender}", f"Wi-Fi's {short} goes, {load}load, {sender}",
                                           load, action, goal, flat, **runs))
        for load in ("down", "up"):
            rows.append(broken(f"deep-{load}@{sender}", f"Wi-Fi silently dead, {load}load, {sender}, queues of 100 ms",
                               load, "blackhole", Metric("stall", f"{load} stall"), Network(sender=sender),
                               fewer={"ours": 3, "kernel": 1}))
    return rows


def bufferbloat():
    def run(lab, contender, _):
        result = lab.run(Network(), named(contender, "interactive"), "rr", 4.6,
                         [(phase(0.6), "wlan0", "rtt=500ms")])
        moment = fault(result)
        return {"p50": quantile(latencies(result, moment + 1, 4.0), 0.5),
                "p99": quantile(latencies(result, moment + 2, 4.0), 0.99)}, result

    return Row("bufferbloat", "Wi-Fi's RTT goes from 20 to 500 ms", [
        Metric("p50", "p50 after 1 s", median=44), Metric("p99", "p99 after 2 s", median=60)], run,
        fewer={"kernel": 2}, seconds=5)


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
        result = lab.run(Network(), named(contender, "interactive"), "rr", 9.0, steps)
        seen = latencies(result, 0.5, 8.5)
        # The better path at the moment of each request, in steps as they were made.
        best = [min(rtt(link, int(sent * 10) / 10) for link in TRAIN)
                for sent, _ in result["requests"] if 0.5 <= sent <= 8.5]
        return {"p95": quantile(seen, 0.95) / quantile(best, 0.95),
                "p50": quantile(seen, 0.5) / quantile(best, 0.5)}, result

    return Row("train", "Both RTTs wander; beside an oracle that takes the better path", [
        Metric("p95", "p95 / oracle's", "x", median=1.25), Metric("p50", "p50 / oracle's", "x")], run,
        most_runs=8, fewer={"kernel": 1}, seconds=9.4)


def healthy():
    def row(name, tag, load, seconds, metric):
        # A download that doesn't fill two cores.
        wifi = "rtt=20ms,rate=20mbit,queue=20ms" if load == "down" else "rtt=20ms,rate=100mbit"

        def run(lab, contender, _):
            result = lab.run(Network(wifi=wifi, tag=tag), "handover", load, seconds, count="wwan0")
            cellular = result["counted"]["bytes"]
            return {"bytes": cellular, "share": 100 * cellular / on_wire(result, "wlan0")}, result
        stands = "expensive" if tag == "expensive" else "standing by"
        what = "download" if load == "down" else "requests"
        return Row(name, f"Wi-Fi healthy for {seconds} s, cellular {stands}, {what}", [metric], run, ("ours",), 1,
                   seconds=seconds + 0.4)

    return [
        row("healthy-cold", "expensive", "rr", 60, Metric("bytes", "bytes on cellular", "B", worst=0)),
        row("healthy-cold-down", "expensive", "down", 20, Metric("bytes", "bytes on cellular", "B", worst=0)),
        row("healthy-warm", "not-expensive", "rr", 20, Metric("share", "cellular's share", "%")),
        row("healthy-warm-down", "not-expensive", "down", 60, Metric("share", "cellular's share", "%", worst=0.1)),
    ]


def returns():
    def run(lab, contender, _):
        result = lab.run(Network(), named(contender), "rr", 4.6,
                         [(phase(0.6), "wlan0", "blackhole"), (phase(2.1), "wlan0", "blackhole=none")])
        back = fault(result)
        quick = [(sent, 0 <= took < 0.032) for sent, took in result["requests"] if sent > back]
        carried = [sent - back for index, (sent, _) in enumerate(quick)
                   if index + 5 <= len(quick) and all(is_quick for _, is_quick in quick[index:index + 5])]
        return {"back": carried[0] if carried else result["end"] - back}, result

    return Row("returns", "Wi-Fi comes back 1.5 s after it died in silence", [
        Metric("back", "until it carries again", "s", median=2)], run, fewer={"kernel": 2}, seconds=5)


def alone(number, known, measure):
    """What the paths give by themselves, in the same minutes: measured again with every fifth run."""
    if number // 5 not in known:
        known[number // 5] = measure()
    return known[number // 5]


def aggregate():
    rows = []
    for name, title, cellular in (
            ("aggregate", "two healthy paths together", "rtt=40ms,rate=100mbit"),
            ("aggregate-uneven", "100 Mbit/s at 20 ms with 30 at 120 ms", "rtt=120ms,rate=30mbit")):
        network = Network(cellular=cellular)
        for load in ("down", "up"):
            known = {}

            def run(lab, contender, number, network=network, load=load, known=known):
                def rate(who, *extra):
                    result = lab.run(network, who, load, 3.5, extra=extra, backup=False)
                    return goodput(result, 1.5, 3.5), result
                both = alone(number, known, lambda: sum(
                    rate("handover", "--require", link)[0] for link in ("wlan0", "wwan0")))
                own, result = rate(named(contender, "aggregate"))
                return {"share": own / both, "rate": own}, result
            is_first = name == "aggregate" and load == "down"
            rows.append(Row(
                f"{name}-{load}", f"{title}, {load}load", [
                    Metric("share", "of the sum of both", "x", median=0.95, at_least=True),
                    Metric("rate", "Mbit/s", "Mbit/s", at_least=True)],
                run, ("ours", "kernel", *MPTCPD) if is_first else ("ours", "kernel"),
                most_runs=10 if load == "down" else 5,
                fewer={"kernel": 2, **{name: 1 for name in MPTCPD}}, seconds=4.9))
    return rows + [dying(load, link, sender) for sender in SENDERS for load in ("down", "up")
                   for link in ("wlan0", "wwan0")]


def dying(load, link, sender):
    """One of two paths that both carry dies in silence."""
    known = {}
    network = dataclasses.replace(shallow(Network()), sender=sender)
    other = "wwan0" if link == "wlan0" else "wlan0"
    listener = "kernel" if load == "up" else None

    def run(lab, contender, number):
        def survivor():
            result = lab.run(network, "handover", load, 3.5, extra=("--require", other), listener=listener)
            return goodput(result, 1.5, 3.5)
        rate = alone(number, known, survivor)
        result = lab.run(network, named(contender, "aggregate"), load, 1 + WATCHED, [(phase(1.0), link, "blackhole")],
                         backup=False, listener=listener)
        after = goodput(result, fault(result) + 1, 1 + WATCHED)
        return {"stall": stall(result, window=WINDOW), "after": after / rate}, result

    return Row(f"dies-{link}-{load}@{sender}", f"aggregate, {link} dies in silence, {load}load, {sender}", [
        Metric("stall", "stall", median=150),
        Metric("after", "of the survivor's, after 1 s", "x", median=0.9, at_least=True)], run,
        most_runs=10, fewer={"kernel": 2}, seconds=5.5)


def prohibited():
    def row(mode, action):
        def run(lab, contender, _):
            result = lab.run(Network(), mode, "rr", 2.4, [(phase(0.6), "wlan0", action)],
                             extra=("--prohibit", "wwan0"), count="wwan0")
            return {"packets": result["counted"]["packets"], "syns": result["counted"]["syns"]}, result
        word = action.split("=")[0]
        return Row(f"prohibited-{mode}-{word}", f"{mode}, cellular prohibited, Wi-Fi: {action}", [
            Metric("packets", "packets on cellular", "", worst=0)], run, ("ours",), 1)
    return [row(mode, action) for mode in ("handover", "interactive", "aggregate")
            for action in ("blackhole", "down", "rtt=500ms")]


def lossy():
    network = Network(wifi="rtt=20ms,rate=100mbit,loss=10%")

    def moves(lab, contender, _):
        result = lab.run(network, "handover", "rr", 60.0)
        return {"moves": max(result["moves"] - 1, 0)}, result

    def rates(lab, contender, _):
        result = lab.run(network, named(contender), "down", 6.0)
        return {"rate": goodput(result, 1.0, 6.0), "moves": max(result["moves"] - 1, 0)}, result

    return [
        Row("lossy-moves", "10 % random loss on Wi-Fi, requests, 60 s", [
            Metric("moves", "moves a minute", "", median=1)], moves, ("ours",), 1, seconds=60.4),
        Row("lossy-down", "10 % random loss on Wi-Fi, download, 6 s", [
            Metric("rate", "Mbit/s", "Mbit/s", ratio=1, at_least=True),
            Metric("moves", "moves in 6 s", "")], rates, most_runs=3, seconds=6.4),
    ]


def steady():
    """Nothing is wrong: a transfer fills the queues of 100 ms, which may not be taken for a failure."""
    def row(load, sender):
        def run(lab, contender, _):
            result = lab.run(Network(sender=sender), named(contender), load, 4.0)
            return {"moves": result["moves"], "rate": goodput(result, 1.0, 4.0)}, result
        return Row(f"steady-{load}@{sender}", f"nothing is wrong, {load}load, {sender}, queues of 100 ms", [
            Metric("moves", "false moves in 4 s", "", worst=0),
            Metric("rate", "Mbit/s", "Mbit/s", ratio=0.95, at_least=True)], run, most_runs=3, fewer={"kernel": 2}, seconds=4.4)
    return [row(load, sender) for sender in SENDERS for load in ("down", "up")]


def crowd():
    def run(lab, contender, _):
        result = lab.run(Network(), named(contender), "crowd", 4.0, extra=("--count", "1000", "--interval", "0.5"),
                         limit=120)
        return {"idle": 100 * result["idleCPU"], "busy": 100 * result["busyCPU"],
                "memory": (result["residentKiB"] - result["residentBeforeKiB"]) / result["connections"]}, result
    return Row("crowd", "1,000 connections: idle, then 2,000 requests a second", [
        Metric("idle", "CPU, idle", "%", median=0.5), Metric("memory", "KiB a connection", "KiB", more=16),
        Metric("busy", "CPU, echoing", "%", ratio=1 / 1.1)], run, most_runs=10, seconds=14)


def mode_rows():
    return (losing_wifi() + losing_wifi_in_transfers() + steady() + [bufferbloat(), train(), returns()] + aggregate() + prohibited() + lossy()
            + healthy() + [crowd()])
