"""Measures this library beside what would be used instead, on the same work, in turn.

examples:
  mpbench                              all rows but steady-*, ten runs of most
  mpbench --quick                      the rows that say most, in under five minutes
  mpbench --rows 'dead-*,link-rr' --runs 5
  mpbench --json new.json --pictures pictures
  mpbench --compare old.json new.json  what changed beyond the noise
  mpbench --compare old.json --rows 'aggregate*'    the same, with new runs
  mpbench --readme results.json        writes the results into README.md

The table says of each figure its goal, and of each contender the median (or the quantile that is named), the
quartiles, the worst sample and how many there were, and how many times better this library is: the median of the
runs' ratios. Contenders that are not installed are left out, with the command that installs them.
Exit status: 0 done, whatever was missed; 1 nothing could be measured; 2 usage; 130 interrupted.

commands beside the table, each with arguments of its own (`mpbench COMMAND --help`):
"""
import argparse
import datetime
import fnmatch
import json
import os
import pathlib
import sys
import tempfile
import time

from . import app_figures, broker_holds, broker_stalls, endurance
from . import programs_compare, programs_endurance, stream_compare, sync_compare
from . import contenders, environment, judging, machine, runner, table, traces
from .catalogue import QUICK, all_rows
from .compare import compare
from .lab import Lab
from .series import PICTURES

SUBCOMMANDS = {"endurance": endurance, "app-figures": app_figures, "broker-stalls": broker_stalls,
               "broker-holds": broker_holds, "programs-compare": programs_compare,
               "programs-endurance": programs_endurance, "stream-compare": stream_compare,
               "sync-compare": sync_compare}


def main():
    environment.prepare()
    if sys.argv[1:] and sys.argv[1] in SUBCOMMANDS:
        sys.exit(SUBCOMMANDS[sys.argv[1]].main(sys.argv[2:]))
    options = arguments()
    if options.readme:
        return table.write_readme(environment.BENCHMARKS / "README.md", load(options.readme))
    if options.compare and len(options.compare) == 2:
        return print("\n".join(compare(*map(load, options.compare))))
    old = load(options.compare[0]) if options.compare else None
    rows, runs = choose(options), options.runs or (3 if options.quick else 10)
    for row in rows:
        if row.usual and not options.runs:
            row.most_runs = min(row.most_runs, row.usual)
    if not rows:
        sys.exit(f"mpbench: no row is named {options.rows}; --list names them")
    if options.list:
        return show_list(rows, runs)
    for name in ("mplab", "mppaths"):
        if not (pathlib.Path(options.commands) / name).exists():
            sys.exit(f"mpbench: there is no {name} in {options.commands}; `make bench` builds it")
    results, is_interrupted = measure(options, rows, runs)
    if options.json:
        pathlib.Path(options.json).write_text(json.dumps(results, indent=1) + "\n")
    if options.pictures:
        draw(results, options.pictures)
    show_verdicts(results)
    if old:
        print("\n".join(compare(old, results)))
    if is_interrupted:
        sys.exit(130)
    if not any(judging.flat(samples) for entry in results["rows"] for samples in entry["samples"].values()):
        sys.exit(1)


def arguments():
    summary, _, rest = __doc__.partition("\n\n")
    summaries = "\n".join(f"  {name:20}{module.__doc__.partition(chr(10))[0]}" for name, module in SUBCOMMANDS.items())
    parser = argparse.ArgumentParser(prog="mpbench", description=summary, epilog=f"{rest}{summaries}",
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    size = parser.add_mutually_exclusive_group()
    size.add_argument("--quick", action="store_true", help="a part of the rows, three runs each")
    size.add_argument("--full", action="store_true", help="all rows: the default")
    parser.add_argument("--rows", metavar="PATTERNS", help="names or groups, with * and ?, separated by commas")
    parser.add_argument("--runs", type=positive, metavar="N", help="the most runs of a contender (10; quick: 3)")
    parser.add_argument("--list", action="store_true", help="the rows, with their goals and contenders")
    parser.add_argument("--json", metavar="FILE", help="every sample, as results.json")
    parser.add_argument("--traces", metavar="FILE", help="what happened in the worst run of each row that misses")
    parser.add_argument("--pictures", metavar="FOLDER", help="draws the results")
    parser.add_argument("--radio", metavar="FOLDER", help="of recorded links, NAME.up and NAME.down: rows for each")
    parser.add_argument("--compare", nargs="+", metavar="FILE", help="OLD.json, and NEW.json or new runs")
    parser.add_argument("--readme", metavar="FILE", help="writes these results into Benchmarks/README.md")
    parser.add_argument("--commands", metavar="FOLDER", default=str(environment.COMMANDS),
                        help="where mplab and mppaths are (%(default)s)")
    options = parser.parse_args()
    if options.compare and len(options.compare) > 2:
        parser.error("--compare takes one file or two")
    return options


def positive(text):
    value = int(text)
    if value < 1:
        raise ValueError
    return value


def choose(options):
    rows = all_rows(options.radio)
    if not options.rows:
        rows = [row for row in rows if not row.is_long]
    patterns = options.rows.split(",") if options.rows else QUICK if options.quick else ["*"]
    return [row for row in rows
            if any(fnmatch.fnmatchcase(name, pattern) for pattern in patterns for name in (row.name, row.group))]


def show_list(rows, runs):
    for row in rows:
        print(f"{row.name:34}{row.group:12}{row.title}")
        print(f"{'':46}{', '.join(f'{name} {row.runs(name, runs)}' for name in row.contenders)}; about "
              f"{runner.clock(runner.expected(row, runs))}")
        for metric in row.metrics:
            print(f"{'':46}{metric.title}: {metric.goal() or 'no goal'}")
    print(f"{len(rows)} rows, about {runner.clock(sum(runner.expected(row, runs) for row in rows))}")


def load(path):
    try:
        results = json.loads(pathlib.Path(path).read_text())
    except (OSError, ValueError) as error:
        sys.exit(f"mpbench: {path}: {error}")
    if results.get("format") != 1:
        sys.exit(f"mpbench: {path} is not a results.json of format 1")
    return results


def record_series(lab, wanted):
    found = []
    for picture, (record, names) in PICTURES.items():
        for name in names:
            if not wanted or contenders.missing([name]):
                continue
            try:
                found.append({"picture": picture, "contender": name, "points": record(lab, name)})
            except (RuntimeError, OSError, ValueError) as error:
                print(f"mpbench: the picture {picture} has no {name}: {error}", file=sys.stderr)
    return found


def measure(options, rows, runs):
    """Makes all runs, and prints the table as it grows; returns the results, and whether Ctrl-C ended them early."""
    names = contenders.ordered(name for row in rows for name in row.contenders)
    runner.introduce(contenders.missing(names))
    present = [name for name in names if name not in contenders.missing(names)]
    results = {"format": 1, "date": datetime.datetime.now().astimezone().isoformat(timespec="seconds"), "duration": 0,
               "machine": machine.describe(), "versions": {"swift": machine.swift(), **contenders.versions(present)},
               "commit": machine.commit(environment.BENCHMARKS), "runs": runs, "rows": [], "series": []}
    begun = time.monotonic()
    progress = runner.Progress(rows, runs)
    file = open(options.traces, "w") if options.traces else None
    is_interrupted = False
    with tempfile.TemporaryDirectory() as folder:
        lab = Lab(options.commands, environment.OWN_COMMANDS, folder)
        print(table.HEAD, flush=True)
        try:
            for row in rows:
                start = time.monotonic()
                taken, failures = runner.measure(row, lab, runs, progress)
                entries = runner.entries(row, taken, failures)
                entries[0]["seconds"] = round(time.monotonic() - start, 1)
                results["rows"] += entries
                print("\n".join(table.lines(entries)), flush=True)
                if file:
                    traces.write(file, row, entries, taken)
            results["series"] = record_series(lab, options.pictures)
        except KeyboardInterrupt:
            # What has been measured so far is kept.
            is_interrupted = True
            progress.clear()
    results["duration"] = round(time.monotonic() - begun, 1)
    results["machine"]["load"]["after"] = os.getloadavg()[0]
    return results, is_interrupted


def show_verdicts(results):
    met = [entry["met"] for entry in results["rows"]]
    print(f"{met.count(True)} goals met, {met.count(False)} missed, {met.count(None)} without a goal; "
          f"{runner.clock(results['duration'])}")
    for entry in results["rows"]:
        if entry["met"] is False:
            print(f"missed: {entry['name']}, {table.label(entry)}: {table.number(entry['summary']['ours'].get('value'))}"
                  f" (goal {entry['goal']['text']})")


def draw(results, folder):
    try:
        from . import pictures
    except ModuleNotFoundError as error:
        print(f"mpbench: no pictures without {error.name}: apt-get install python3-matplotlib", file=sys.stderr)
        return
    pathlib.Path(folder).mkdir(parents=True, exist_ok=True)
    pictures.draw(results, folder)
