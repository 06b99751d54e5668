"""A connection's longest pause when Wi-Fi fails: steered by mpathd, and by itself.

A program without rights has mpathd steer; the same program with CAP_NET_ADMIN steers itself, in turn with it. FOLDER
holds mplab, mpathd and modeprobe (`swift build -c release` of these products). A row is a fault and a load: `dead`
loses all packets in silence, `link` goes down; requests of 200 bytes every 20 ms, an upload, a download, and requests
whose cellular path is expensive, so that it is joined only after the fault. Queues hold 20 ms. A congestion control
that the machine reserves to the privileged (net.ipv4.tcp_allowed_congestion_control) is the server's alone, and there
are no uploads under it. A pause is the longest wait for an answer, for new bytes, or for the peer to acknowledge any.

Exit status: 0 where every run was steered as it has to be and came whole, else 1.
"""
import json
import os
import pathlib
import random
import shlex
import statistics
import sys
import tempfile

from . import usage
from .environment import OWN_COMMANDS, PROGRAMS
from .figures import between
from .lab import RUN_ERRORS, SENDERS, Lab, allowed_senders, facts
from .programs import broker

SCENARIO = """about Queues that repairs of lost packets don't stop a transfer in for longer than the fault does.
link wlan0 wifi rtt=20ms,rate=100mbit,queue=20ms
link wwan0 cellular,{tag} rtt=40ms,rate=100mbit,queue=20ms
congestion client={client},server={sender}
"""
FAULTS = {"dead": "blackhole", "link": "down"}
LOADS = {"rr": ("echo", "not-expensive"), "up": ("upload", "not-expensive"), "down": ("download", "not-expensive"),
         "cold": ("echo", "expensive")}
ROWS = [f"{fault}-{load}" for load in LOADS for fault in FAULTS]
ARMS = ("mpathd", "itself")
CONTROLS = {"mpathd": "per_connection_by_broker", "itself": "per_connection"}
SECONDS = 4


def run(binaries, arm, row, sender):
    """One run in a lab of its own; Wi-Fi fails while the probe is at work."""
    fault, name = row.split("-")
    load, tag = LOADS[name]
    probe = [f"{binaries}/modeprobe", "handover", load, "--ms", str(SECONDS * 1000)]
    script = (f"set -e\n\"$@\" &\nsleep {random.uniform(1.5, 2.0):.3f}\n"
              f"{shlex.quote(f'{binaries}/mplab')} set wlan0 {FAULTS[fault]} > /dev/null\nwait $!")
    if arm == "mpathd":
        words = [sys.executable, str(PROGRAMS / "broker.py"), f"{binaries}/mpathd", "sh", "-c", script, "sh",
                 *broker.RIGHTLESS, *probe]
    else:
        words = ["sh", "-c", script, "sh", *probe]
    scenario = SCENARIO.format(tag=tag, client=sender if sender in allowed_senders() else "reno", sender=sender)
    with tempfile.TemporaryDirectory() as folder:
        # The machine's own mpathd is out of reach of both.
        output = Lab(binaries, OWN_COMMANDS, folder).execute(scenario, words, 120, cwd=folder,
                                                             env=broker.environment(folder))
    seen = {name: values[-1] for name, values in facts(output).items()}
    return {"stall": int(seen["stall"]), "control": seen["control"], "intact": seen["intact"] == "true"}


def measure(options, row):
    """The pauses of each arm, and whether all runs were as they have to be."""
    stalls, is_good = {arm: [] for arm in ARMS}, True
    for number in range(options.runs):
        for arm in ARMS if number % 2 else ARMS[::-1]:
            try:
                seen = run(options.bin, arm, row, options.congestion)
            except RUN_ERRORS as error:
                print(f"{row} {arm}: {error}", file=sys.stderr)
                is_good = False
                continue
            if seen["control"] != CONTROLS[arm] or not seen["intact"]:
                print(f"{row} {arm}: {seen}", file=sys.stderr)
                is_good = False
            stalls[arm].append(seen["stall"])
    return stalls, is_good


def show(row, sender, stalls):
    lent, own = (statistics.median(stalls[arm]) for arm in ARMS)
    print(f"{row:10} {sender:5} mpathd {lent:6.1f} ms ({between(stalls['mpathd'])})   itself {own:6.1f} "
          f"({between(stalls['itself'])})   {lent - own:+.1f}   load {os.getloadavg()[0]:.1f}", flush=True)


def main(words):
    parser = usage.parser("broker-stalls", __doc__)
    usage.add_commands(parser)
    parser.add_argument("--runs", type=int, default=5, help="of each arm in each row (5)")
    parser.add_argument("--row", action="append", choices=ROWS, help="only this one; may be repeated")
    parser.add_argument("--congestion", default="bbr", choices=SENDERS,
                        help="the congestion control of both ends (bbr)")
    parser.add_argument("--json", type=pathlib.Path, help="write all figures there")
    options = parser.parse_args(words)
    figures, is_bad = {}, False
    for row in options.row or ROWS:
        if row.endswith("-up") and options.congestion not in allowed_senders():
            print(f"{row:10} {options.congestion:5} is reserved to the privileged here: left out", flush=True)
            continue
        figures[row], is_good = measure(options, row)
        is_bad |= not is_good
        if all(figures[row].values()):
            show(row, options.congestion, figures[row])
    if options.json:
        options.json.write_text(json.dumps(figures, indent=1))
    return is_bad
