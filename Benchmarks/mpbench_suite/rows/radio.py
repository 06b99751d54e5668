"""Radio links: recorded ones, made ones, and the lab's kinds of networks.

`quiet-*` has nothing wrong on Wi-Fi's link, which is like the one that is named, and cellular as an expensive way out;
`steady-*` is the same for ten minutes without a break, in which a BBR sender looks for the round trip some sixty times;
`walk-*` walks out of Wi-Fi's reach into it. Recordings are not part of the project: `mpbench --radio FOLDER` takes those
of a folder, as NAME.up and NAME.down in mahimahi's format."""
import pathlib

from ..figures import goodput, longest_pause
from ..lab import SENDERS, Network
from ..programs import radio
from ..row import Metric, Row
from .healthy import beside_kernel, undisturbed

PRESETS = ("wifi", "lte", "umts", "edge", "satellite", "hotel")
# Made by programs/radio.py.
MADE = {"made-lte": "lte", "made-umts": "umts"}
QUIET_SECONDS, STEADY_SECONDS = 10.0, 600.0
# Cellular's round trip in milliseconds: longer than a handshake on the link that is looked at takes, or the connection's race
# would rightly begin on cellular. A trace may begin with an outage.
NEAR, FAR = 60, 1200
CLOSE = ("wifi", "lte", "hotel")
# Seconds without a delivery that are an outage of a recorded link, which may be left; and how far from one that may be told.
OUTAGE, SLACK = 0.4, 1.0
# Of a walk: Wi-Fi gets worse from 1 to 4 s, and then is gone, the link still up.
FADE, GONE, WALK_SECONDS = (1.0, 4.0), 4.0, 8.0
# What a link of its own rate has besides.
TRACED = "rtt=50ms,queue=300ms,rate=trace:"


def recordings(folder):
    """The names of a folder's traces and their paths, without .up and .down."""
    if not folder:
        return {}
    found = sorted(pathlib.Path(folder).resolve().glob("*.up"))
    return {path.stem: str(path.with_suffix("")) for path in found if path.with_suffix(".down").exists()}


def conditions(lab, name, recorded):
    """Of a link like the one of that name."""
    if name in MADE:
        path = lab.folder / name
        for seed, direction in enumerate(("up", "down")):
            file = path.with_name(f"{name}.{direction}")
            if not file.exists():
                file.write_text("\n".join(map(str, radio.opportunities(MADE[name], seed + 1, 60))) + "\n")
        return TRACED + str(path)
    return TRACED + recorded[name] if name in recorded else name


def deliveries(path):
    """When a recorded link delivers, in seconds: up, and down."""
    return [[int(line) / 1000 for line in pathlib.Path(f"{path}.{direction}").read_text().split()] for direction in ("up", "down")]


def moves_without_outage(result, path):
    """How often a transfer left Wi-Fi while its link carried. A recording begins with its lab, a little before the transfer, and
    begins anew at its end."""
    moves = [event["time"] for event in result["events"] if event["text"].startswith("moved from wlan0")]

    def stands(times, moment):
        moment %= times[-1]
        return any(end - begin > OUTAGE and begin - SLACK <= moment <= end + SLACK for begin, end in zip(times, times[1:]))
    return sum(not any(stands(times, moment) for times in deliveries(path)) for moment in moves)


def download(lab, contender, name, sender, recorded, seconds):
    """One download over a link like the one of that name, and all that the benchmark noted of it."""
    network = Network(wifi=conditions(lab, name, recorded), cellular=f"rtt={NEAR if name in CLOSE else FAR}ms,rate=20mbit,queue=100ms",
                      tag="expensive", sender=sender)
    result = lab.run(network, "kernel" if contender == "kernel" else "handover", "down", seconds, backup=None, watch=True,
                     limit=seconds + 30)
    return undisturbed(result), result


def quiet(name, sender, recorded):
    def measure(lab, contender, _):
        return download(lab, contender, name, sender, recorded, QUIET_SECONDS)
    return Row(f"quiet-{name}@{sender}", f"nothing wrong on a link like {name}, download of {QUIET_SECONDS:.0f} s, {sender}", [
        Metric("moves", "false moves", "", worst=0), Metric("ended", "subflows ended meanwhile", "", worst=0),
        Metric("rate", "Mbit/s", "Mbit/s", ratio=0.95, at_least=True),
        Metric("pause", "longest pause"), Metric("difference", "pause more than the kernel's")],
        beside_kernel(measure), usual=2, seconds=QUIET_SECONDS + 0.6)


def steady(name, sender, recorded):
    def measure(lab, contender, _):
        figures, result = download(lab, contender, name, sender, recorded, STEADY_SECONDS)
        if name in recorded:
            figures["moves"] = moves_without_outage(result, recorded[name])
        return figures, result
    return Row(f"steady-{name}@{sender}",
               f"nothing wrong on a link like {name} for {STEADY_SECONDS / 60:.0f} minutes, download, {sender}", [
        Metric("moves", "false moves", "", worst=0), Metric("ended", "subflows ended meanwhile", ""),
        Metric("rate", "Mbit/s", "Mbit/s", ratio=0.95, at_least=True), Metric("pause", "longest pause")],
        beside_kernel(measure), most_runs=1, is_long=True, seconds=STEADY_SECONDS + 0.6)


def walk(name, sender, recorded):
    known = {}

    def run(lab, contender, number):
        network = Network(wifi="rtt=20ms,rate=50mbit,queue=50ms", cellular=conditions(lab, name, recorded),
                          tag="expensive", sender=sender)
        begin, end = FADE
        steps = 15
        faults = [(begin + (end - begin) * step / steps, "wlan0",
                   f"rtt={20 + 80 * step // steps}ms,loss={5 * step / steps:.1f}%,rate={50 - 45 * step / steps:.0f}mbit")
                  for step in range(1, steps)] + [(GONE, "wlan0", "blackhole")]

        def alone():
            """What the link by itself does in the same seconds of its trace."""
            result = lab.run(network, "handover", "down", WALK_SECONDS, extra=("--require", "wwan0"))
            return longest_pause(result, begin)
        if number not in known:
            known[number] = alone()
        result = lab.run(network, "kernel" if contender == "kernel" else "handover", "down", WALK_SECONDS, faults)
        pause = longest_pause(result, begin)
        return {"more": max(pause - known[number], 0), "pause": pause, "alone": known[number],
                "rate": goodput(result, GONE + 1, WALK_SECONDS)}, result

    return Row(f"walk-{name}@{sender}", f"from Wi-Fi into a link like {name}, download, {sender}", [
        Metric("more", "pause more than that link's own", median=150), Metric("pause", "longest pause"),
        Metric("alone", "that link's own"), Metric("rate", "Mbit/s afterwards", "Mbit/s", at_least=True)],
        run, usual=2, fewer={"kernel": 1}, seconds=1.5 * WALK_SECONDS)


def radio_rows(folder=None):
    recorded = recordings(folder)
    traces = [*MADE, *recorded]
    links = [*PRESETS, *traces]
    return [make(name, sender, recorded) for make, names in ((quiet, links), (steady, links), (walk, traces))
            for name in names for sender in SENDERS]
