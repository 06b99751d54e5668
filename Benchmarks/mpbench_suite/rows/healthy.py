"""Nothing is wrong: what watching a path costs the transfer on it, and whether a good path is ever left.

Transfers of 3 s under each congestion control, each beside the kernel's MPTCP on the same path in the same run. Runs
take the twelve networks in turn: hardly any queue (2 ms, for the bursts of a sender that paces), queues of 15, 30 and
70 ms, round trips of 20, 40 and 120 ms."""
from ..figures import goodput, longest_pause
from ..lab import SENDERS, Network
from ..row import Metric, Row

SECONDS = 3.0
QUEUES = (2, 15, 30, 70)
ROUND_TRIPS = (20, 40, 120)
# The kernel's event of a subflow that ends (linux/mptcp_pm.h, MPTCP_EVENT_SUB_CLOSED).
SUBFLOW_CLOSED = 11
PRICED = "expensive"

METRICS = [
    Metric("moves", "false moves", "", worst=0),
    Metric("ended", "subflows ended meanwhile", "", worst=0),
    Metric("rate", "Mbit/s", "Mbit/s", ratio=0.98, at_least=True),
    Metric("pause", "worst pause", more=20, at=1.0),
    Metric("difference", "pause more than the kernel's"),
]


def networks(round_trips=ROUND_TRIPS, cellular=40):
    """Each queue with each round trip; 4 and 3 have no common divisor, so that a few runs in a row differ in both."""
    return lambda number, sender: Network(
        wifi=f"rtt={round_trips[number % len(round_trips)]}ms,rate=100mbit,queue={QUEUES[number % len(QUEUES)]}ms",
        cellular=f"rtt={cellular}ms,rate=100mbit,queue=30ms", tag=PRICED, sender=sender)


def moved(result, other="wwan0"):
    """1 where any payload went over the other path, or the connection moved."""
    payload = sum(path["sent"] + path["received"] for path in result["paths"] if path["name"] == other)
    return int(payload > 0 or result["moves"] > 0)


def undisturbed(result, start=0.0):
    """What a transfer with nothing wrong looks like."""
    ended = sum(event == SUBFLOW_CLOSED and 0 < time < result["end"] for time, event, _ in result["subflows"])
    return {"moves": moved(result), "ended": ended, "rate": goodput(result, start, result["end"]),
            "pause": longest_pause(result, start)}


def beside_kernel(measure):
    """A row's run: ours and the kernel's are measured at once, the one right after the other."""
    known = {}

    def run(lab, contender, number):
        if number not in known or contender == "ours":
            known[number] = {name: measure(lab, name, number) for name in ("kernel", "ours")}
            own, other = known[number]["ours"][0], known[number]["kernel"][0]
            own["difference"] = max(own["pause"] - other["pause"], 0)
            # The kernel's alone makes no moves and has no goals but those against it.
            known[number]["kernel"] = ({key: other[key] for key in ("rate", "pause")}, known[number]["kernel"][1])
        return known[number][contender]
    return run


def row(name, title, load, mode, network, sender, extra=(), usual=None):
    def measure(lab, contender, number):
        # Without an endpoint the kernel's connection has the one path.
        result = lab.run(network(number, sender), "kernel" if contender == "kernel" else mode, load, SECONDS,
                         extra=() if contender == "kernel" else extra, backup=None, watch=True,
                         listener="kernel" if load == "up" else None)
        return undisturbed(result), result
    return Row(f"{name}-{load}@{sender}", f"{title}, {load}load, {sender}", METRICS, beside_kernel(measure),
               usual=usual, seconds=SECONDS + 0.5)


def healthy_rows():
    rows = []
    for sender in SENDERS:
        for load in ("down", "up"):
            rows += [
                row("healthy", "two good paths, cellular expensive", load, "handover", networks(), sender, usual=12),
                # Only where Wi-Fi has the lower latency with a full queue, too: else leaving it is right.
                row("healthy-interactive", "two good paths, interactive", load, "interactive",
                    networks((20,), cellular=120), sender, usual=4),
                row("alone", "Wi-Fi required", load, "handover", networks(), sender, ("--require", "wlan0"), usual=6),
            ]
    return rows
