"""What a viewer of one ladder of HLS variants sees, by mpstream and by FFmpeg's HLS client.

FOLDER holds mplab and mpstream. Each run is in a lab of its own. A player that has not got everything by the deadline
has stalled until then (marked >=). FFmpeg plays the highest variant, as ffplay and mpv do; its HLS client never
changes it.
"""
import json
import pathlib
import shutil
import statistics
import sys
import tempfile

from . import environment, streams, usage
from .figures import between, median
from .lab import RUN_ERRORS, in_lab

SCENARIOS = ["wifi-walkout", "elevator", "train"]


def run(options, place, player, ladder):
    """One run's result, in a lab of its own; None where it failed."""
    command = str(options.bin / "mpstream") if player == "mpstream" else player
    try:
        output = in_lab(options.bin / "mplab", ["--scenario", place, "--serve", streams.serving(ladder)],
                        streams.playing(player, command, options.seconds, options.deadline), None)
        result = json.loads(output.splitlines()[-1])
    except RUN_ERRORS as error:
        print(f"mpbench stream-compare: {place}, {player}: the run failed: {error}", file=sys.stderr)
        return None
    return result | {"rate": streams.rate(player, result)}


def line(name, player, runs):
    def sums(key):
        names = sorted({name for run in runs for name in run.get(key, {})})
        return {name: statistics.median(run.get(key, {}).get(name, 0) for run in runs) for name in names}

    stalled = [run["stalled"] for run in runs]
    mark = "" if all(run["complete"] for run in runs) else ">="
    amounts = [f"{key} {value / 1e6:.1f} MB" for sums in (sums("bytes"), sums("tags")) for key, value in sums.items()]
    return (f"{name:24} {player:8} {median(runs, 'startup'):6.2f} s {mark}{median(runs, 'stalled'):6.1f} s  "
            f"{median(runs, 'stalls'):5.0f} {median(runs, 'rate') / 1e6:8.2f} {median(runs, 'switches'):8.0f}   "
            f"{', '.join(amounts)}   (stalled {between(stalled, '.1f')} s in {len(runs)} runs)")


def draw(results, options):
    if options.picture:
        from . import stream_picture
        stream_picture.draw(results, streams.RATES, options.seconds, options.picture)


def arguments(words):
    parser = usage.parser("stream-compare", __doc__)
    usage.add_commands(parser, environment.COMMANDS)
    parser.add_argument("--runs", type=int, default=10)
    parser.add_argument("--seconds", type=int, default=60)
    parser.add_argument("--deadline", type=int, default=120)
    parser.add_argument("--scenario", action="append")
    parser.add_argument("--trace", type=pathlib.Path, action="append", default=[])
    parser.add_argument("--player", action="append")
    parser.add_argument("--ladder", type=pathlib.Path, help="one that is there already")
    parser.add_argument("--json", type=pathlib.Path)
    parser.add_argument("--picture", type=pathlib.Path, help="buffer and bitrate over time")
    parser.add_argument("--from", dest="earlier", type=pathlib.Path, action="append", default=[],
                        help="results of --json; with these nothing is run, and --picture is drawn of them")
    return parser.parse_args(words)


def load(files):
    """Earlier results, and their lines."""
    results = {}
    for file in files:
        for place, players in json.loads(file.read_text()).items():
            results.setdefault(place, {}).update(players)
    for place, players in results.items():
        for player, runs in players.items():
            print(line(place, player, runs))
    return results


def measure(options, work):
    """The runs of each scenario and player; `work` is for files."""
    ladder = options.ladder or work / "ladder"
    if not options.ladder:
        ladder.mkdir()
        streams.make_ladder(ladder, options.seconds)
    places = options.scenario if options.scenario is not None else ([] if options.trace else SCENARIOS)
    for trace in options.trace:
        file = work / f"{trace.name}.scenario"
        file.write_text(f"about A recorded cellular link alone.\nlink wwan0 cellular rtt=60ms,rate=trace:{trace}\n")
        places.append(str(file))
    print("scenario                 player    startup  stalled  stalls  Mbit/s  switches  "
          "bytes by interface, and by tag")
    results = {}
    for place in places:
        name = pathlib.Path(place).name.removesuffix(".scenario")
        for player in options.player or ["mpstream", "ffmpeg"]:
            runs = [result for _ in range(options.runs) if (result := run(options, place, player, ladder))]
            if not runs:
                continue
            results.setdefault(name, {})[player] = runs
            if options.json:
                options.json.write_text(json.dumps(results))
            print(line(name, player, runs), flush=True)
    return results


def main(words):
    options = arguments(words)
    if options.earlier:
        return draw(load(options.earlier), options)
    if not shutil.which("ffmpeg"):
        sys.exit("mpbench stream-compare: ffmpeg is missing; scripts/setup.sh test installs it")
    with tempfile.TemporaryDirectory(prefix="stream-compare-") as folder:
        draw(measure(options, pathlib.Path(folder)), options)
    return None
