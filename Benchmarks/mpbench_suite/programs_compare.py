"""How long programs that know nothing of paths stand still when Wi-Fi fails.

Each fetches a file in the lab, and Wi-Fi fails in the middle. FOLDER holds mplab, mpconnect and mprun, and mpathd for
`--way mprun-mpathd`. Each program runs alone; under mptcpize, with cellular as the kernel's backup endpoint; and
under mprun. Beside them stands mpconnect, which is the library itself, and git and rsync whose connections are made
by mpconnect: theirs have more to them than one answer. A pause is the longest time in which the kernel has no new
byte in order for the program, after the fault and before the end of the file, looked at every 2 ms (sock_diag(7)),
the same for all. A program that has not got the whole file 10 s after the fault is ended, and its pause has lasted
until then.
"""
import json
import pathlib
import shutil
import statistics
import sys
import tempfile

from . import unchanged, usage
from .environment import OWN_COMMANDS
from .lab import RUN_ERRORS, SENDERS, Lab, side_by_side
from .unchanged import LIBRARIES, WAYS

SCENARIO = """about Wi-Fi with a short round trip, and cellular with twice that.
link wlan0 wifi rtt=20ms,rate=20mbit,queue=40ms
link wwan0 cellular,not-expensive rtt=40ms,rate=20mbit,queue=40ms
"""
FAULTS = {"silent": "blackhole=both", "down": "down"}


def one(options, folder, way, program, fault, number):
    """One run's result, in a lab and a folder of its own; None where it failed."""
    place = folder / f"{program}-{way}-{fault}-{number}"
    place.mkdir()
    try:
        output = Lab(options.bin, OWN_COMMANDS, place).execute(
            SCENARIO, unchanged.fetching(options.bin, folder, way, program, FAULTS[fault]), 90,
            "--serve", unchanged.serving(folder, options.congestion), cwd=place)
        return json.loads(output.splitlines()[-1])
    except RUN_ERRORS as error:
        print(f"mpbench programs-compare: {program}, {way}, {fault}: the run failed: {error}", file=sys.stderr)
        return None
    finally:
        shutil.rmtree(place, ignore_errors=True)


def measure(options, folder):
    """The runs of each fault, program and way."""
    # One after the other in each round, so that all have the same of what else the machine does.
    jobs = [(way, program, fault, number) for number in range(options.runs) for fault in options.fault or FAULTS
            for program in options.program or unchanged.COMMANDS for way in (options.way or WAYS[:3])
            if program not in LIBRARIES or way == (options.way or WAYS)[0]]
    results = {}
    runs = side_by_side(lambda job: one(options, folder, *job), jobs, options.labs)
    for run, (way, program, fault, _) in zip(runs, jobs):
        if run:
            key = (fault, program, "library" if program in LIBRARIES else way)
            results.setdefault(key, []).append(run)
            if not run["whole"] and way != "alone":
                print(f"mpbench programs-compare: {program}, {way}, {fault}: {run}", file=sys.stderr)
    return results


def show(results):
    print("fault   program               way           whole   pause ms: median  worst")
    for (fault, program, way), runs in sorted(results.items()):
        pauses = [1e3 * run["pause"] for run in runs]
        print(f"{fault:7} {program:21} {way:13} {sum(run['whole'] for run in runs):2} of {len(runs):2}  "
              f"{statistics.median(pauses):16.0f} {max(pauses):6.0f}", flush=True)


def main(words):
    parser = usage.parser("programs-compare", __doc__)
    usage.add_commands(parser)
    parser.add_argument("--runs", type=int, default=10)
    parser.add_argument("--labs", type=int, default=1, help="so many side by side")
    parser.add_argument("--program", action="append", choices=unchanged.COMMANDS)
    parser.add_argument("--way", action="append", choices=WAYS)
    parser.add_argument("--fault", action="append", choices=FAULTS)
    parser.add_argument("--congestion", default="cubic", choices=SENDERS,
                        help="the server's congestion control, which sends (cubic)")
    parser.add_argument("--json", type=pathlib.Path)
    options = parser.parse_args(words)
    for name in unchanged.NEEDED:
        if not shutil.which(name):
            sys.exit(f"mpbench programs-compare: {name} is missing; scripts/setup.sh test installs it")
    with tempfile.TemporaryDirectory(prefix="programs-compare-") as name:
        folder = pathlib.Path(name)
        unchanged.make_server(folder)
        results = measure(options, folder)
    show(results)
    if options.json:
        options.json.write_text(json.dumps([{"fault": key[0], "program": key[1], "way": key[2], "runs": runs}
                                            for key, runs in results.items()]))
