"""Ten thousand connections of one process, or as many as its descriptors allow, lose Wi-Fi at once, each with a request every
five seconds."""
import contextlib
import resource

from ..figures import fault, quantile
from ..lab import Network
from ..row import Metric, Row
from .modes import named, phase

COUNT, INTERVAL = 10_000, 5.0
# Of each of ours; and the program's own, with the probes of a moment.
DESCRIPTORS, MORE = 2, 1000
AT, SECONDS = 6.0, 14.0
NETWORK = Network(wifi="rtt=20ms", cellular="rtt=40ms")


def raise_limit(count):
    """Allows the programs that this one starts so many descriptors, if it may; returns how many they have."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if hard != resource.RLIM_INFINITY and hard < count:
        with contextlib.suppress(ValueError, OSError):
            resource.setrlimit(resource.RLIMIT_NOFILE, (soft, count))
            hard = count
    return count if hard == resource.RLIM_INFINITY else hard


def losing(name, title, action):
    def run(lab, contender, _):
        room = raise_limit(COUNT * DESCRIPTORS + MORE)
        count = min(COUNT, (room - MORE) // DESCRIPTORS)
        result = lab.run(NETWORK, named(contender), "exodus", SECONDS, [(phase(AT), "wlan0", action)],
                         extra=("--count", str(count), "--interval", str(INTERVAL)), limit=180, watch=False)
        moment = fault(result)
        # Answered before the fault is not what it hit.
        waits = [1e3 * (took if took >= 0 else result["end"] - sent) for sent, took in result["requests"]
                 if moment - 0.1 <= sent <= result["end"] - 2.0 and (took < 0 or sent + took >= moment)]
        moved = sorted(time - moment for time in result["moved"] if time >= moment)
        figures = {"p99": quantile(waits, 0.99), "worst": max(waits, default=None), "cpu": result["cpu"],
                   "connections": result["connections"], "again": result["sentAgain"], "unanswered": sum(
                       took < 0 for sent, took in result["requests"] if sent <= result["end"] - 2.0)}
        if moved:
            figures |= {"spread": moved[-1] - moved[0], "first": 1e3 * moved[0], "moved": len(moved)}
        return figures, {key: value for key, value in result.items() if key != "requests"}
    return Row(name, title, [
        Metric("spread", "the last moved after the first", "s", worst=1), Metric("first", "the first after the fault"),
        Metric("moved", "moves", "", at_least=True), Metric("p99", "p99 of requests' waits"), Metric("worst", "longest wait"),
        Metric("unanswered", "requests without an answer", ""), Metric("again", "segments sent again", ""), Metric("cpu", "CPU from the fault on", "s"),
        Metric("connections", "connections", "", at_least=True)], run, most_runs=3, fewer={"kernel": 1}, seconds=40)


def exodus_rows():
    return [losing("exodus-link", "up to 10,000 connections of one process lose Wi-Fi at once: its link goes", "down"),
            losing("exodus-dead", "up to 10,000 connections of one process lose Wi-Fi at once: in silence", "blackhole")]
