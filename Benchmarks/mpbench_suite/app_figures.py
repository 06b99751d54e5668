"""What an app is promised: refused paths, budgets, heartbeats behind translators.

FOLDER holds mplab, mppaths and modeprobe (`swift build -c release` of these products). Measured in the lab:

- refused: Wi-Fi becomes constrained in the middle of a transfer that refuses constrained paths: when its last byte of
  data came or went there, by capture, and how many later than 100 ms; under each congestion control that the lab's
  hosts may use, with queues of 20 and 100 ms. Plain TCP is told, or ended; with no other path the app is told why.
- budgets: a download by MPTCP with 1.5 MB for Wi-Fi at three rates, and two processes that share 10 MB on cellular:
  how far over.
- heartbeats: behind translators that forget after 45, 120 and 400 s, twenty times compressed: the interval found, as a
  share of that, and the connections lost while and after it was looked for.

Exit status: 0 where all is as promised, else 1.
"""
import json
import os
import pathlib
import statistics
import tempfile

from . import usage
from .figures import between
from .lab import SENDERS, facts, in_lab, side_by_side

PARTS = ("refused", "budgets", "heartbeats")
COMPRESSED = 20
KIBI = 1024
NOT_EXPENSIVE = "$BIN/mplab set wwan0 expensive no > /dev/null\n"


def probed(binaries, options, script, limit=120):
    """What probes printed in a lab, in a folder of their own."""
    with tempfile.TemporaryDirectory() as folder:
        return facts(in_lab(binaries / "mplab", options, ["bash", "-c", script], limit, cwd=folder,
                            env=os.environ | {"BIN": str(binaries)}))


def one(seen, name):
    return int(seen[name][0])


def carried(seen, link):
    """The bytes that each probe's connection carried by an interface, both ways."""
    return [sum(map(int, line.split()[1:])) for line in seen["path"] if line.startswith(f"{link} ")]


def spread(values, unit):
    return f"{statistics.median(values):g} {unit} ({between(values)})"


class Measurement:
    """The parts, each a method, and their figures."""

    def __init__(self, binaries, runs):
        self.binaries, self.runs, self.figures, self.is_bad = binaries, runs, {}, False

    def probe(self, options, script):
        return [probed(self.binaries, options, script) for _ in range(self.runs)]

    def row(self, name, text, values, is_good):
        self.figures[name] = values
        self.is_bad = self.is_bad or not is_good
        print(f"{'ok ' if is_good else 'BAD'}  {name:44} {text}   load {os.getloadavg()[0]:.1f}", flush=True)

    def refused(self):
        both = ["--wifi", "rtt=20ms,rate=50mbit,queue=40ms", "--cellular", "rtt=40ms,rate=50mbit,queue=40ms"]
        told = "wlan0 is not allowed any more: constrained; "
        probe = (f"{NOT_EXPENSIVE}$BIN/modeprobe handover {{}} --refuse constrained --capture wlan0 --ms 2500 {{}} "
                 "--at 1000 wlan0 constrained")
        runs = self.probe(both, probe.format("download", "--tcp yes"))
        values = [one(seen, "told_after") for seen in runs]
        self.row("TCP: told after (goal 50 ms)", spread(values, "ms"), values,
                 max(values) <= 50 and all(seen["refused"] == [told + "wwan0 is"] for seen in runs))
        runs = self.probe(both, probe.format("download", "--tcp yes --when-refused close"))
        values = [one(seen, "last_data") for seen in runs]
        self.row("TCP, closes: last data after", spread(values, "ms"), values,
                 all(seen["ended"] == ["true"] for seen in runs))
        runs = self.probe(both, probe.format("download", "--prohibit wwan0"))
        values = [one(seen, "last_data") for seen in runs]
        self.row("no other path: last data after", spread(values, "ms"), values,
                 all(seen["refused"] == [told + "no other path is"] for seen in runs))
        for sender in SENDERS:
            for queue in (20, 100):
                for load in ("download", "upload"):
                    self.leaves(sender, queue, load, probe)

    def leaves(self, sender, queue, load, probe):
        name = f"MPTCP {load}, {sender}, queues of {queue} ms"
        links = f"rate=50mbit,queue={queue}ms"
        with tempfile.NamedTemporaryFile("w") as file:
            file.write(f"link wlan0 wifi rtt=20ms,{links}\nlink wwan0 cellular rtt=40ms,{links}\n"
                       f"congestion {'server' if load == 'download' else 'client'}={sender}\n")
            file.flush()
            try:
                runs = self.probe(["--scenario", file.name], probe.format(load, ""))
            except RuntimeError as error:
                return print(f"--   {name:44} left out: {error}", flush=True)
        values = [one(seen, "last_data") for seen in runs]
        late = [one(seen, "late_data") for seen in runs]
        self.row(name, f"last data {spread(values, 'ms')}, later than 100 ms {max(late)} packets", values,
                 max(late) == 0 and all(seen["intact"] == ["true"] for seen in runs))

    def budgets(self):
        limit = 1_500_000
        for rate in (5, 10, 50):
            links = f"rate={rate}mbit,queue=40ms"
            runs = self.probe(["--wifi", f"rtt=20ms,{links}", "--cellular", f"rtt=40ms,{links}"],
                              f"{NOT_EXPENSIVE}$BIN/modeprobe handover download --budget {limit} --budget-on wlan0 "
                              "--capture wlan0 --ms 5000")
            values = [(carried(seen, "wlan0")[0] - limit) // KIBI for seen in runs]
            self.row(f"budget of 1.5 MB left at {rate} Mbit/s, over", spread(values, "KiB"), values, max(values) <= 256)
        limit = 10_000_000
        download = f"download --tcp yes --prohibit wlan0 --when-refused close --budget {limit} --ms 8000"
        runs = self.probe(["--cellular", "rtt=40ms,rate=50mbit,queue=40ms"], f"""
            download() {{ $BIN/modeprobe handover {download}; }}
            download > one & download > two & wait; cat one two""")
        values = [(sum(carried(seen, "wwan0")) - limit) // KIBI for seen in runs]
        self.row("two processes share 10 MB, over", spread(values, "KiB"), values, max(values) <= 256)

    def heartbeats(self):
        for seconds in (45, 120, 400):
            limit = seconds * 1000 // COMPRESSED

            def run(_):
                return probed(self.binaries, ["--wifi", f"rtt=20ms,nat={limit}ms"],
                              f"$BIN/modeprobe heartbeat 1500 {limit * 2}", 300)
            runs = list(side_by_side(run, range(min(self.runs, 3)), 3))
            values = [round(one(seen, "interval") / limit, 2) for seen in runs]
            after = [one(seen, "deaths_after_settling") for seen in runs]
            during = [one(seen, "deaths") for seen in runs]
            self.row(f"NAT of {seconds} s: interval, of its time",
                     f"{spread(values, 'x')}, lost {during}, after that {after}", values,
                     min(values) >= 0.7 and max(after) == 0)


def main(words):
    parser = usage.parser("app-figures", __doc__)
    usage.add_commands(parser)
    parser.add_argument("--runs", type=int, default=10, help="of each row (10)")
    parser.add_argument("--part", action="append", choices=PARTS, help="only this one; may be repeated")
    parser.add_argument("--json", type=pathlib.Path, help="write all figures there")
    options = parser.parse_args(words)
    measurement = Measurement(options.bin, options.runs)
    for name in options.part or PARTS:
        getattr(measurement, name)()
    if options.json:
        options.json.write_text(json.dumps(measurement.figures, indent=1))
    return measurement.is_bad
