#!/usr/bin/env python3
"""What the modes do when a path goes bad: this library beside the kernel's own path manager, in the same lab.

    modes.py [--rows NAME,…] [--runs N] [--json FILE] [--traces FILE] FOLDER-OF-BUILT-COMMANDS

FOLDER holds mplab; mpbench-modes is looked for in Benchmarks/.build/release. The contenders take turns, each run
in a lab of its own: Wi-Fi with an RTT of 20 ms and cellular with 40 ms, 100 Mbit/s each, cellular a warm standby
unless a row says otherwise. The kernel has its endpoint (as a backup, but for aggregate) before the program
starts. What never recovers counts until its run's end. Rows can be named by patterns; a name with @v6, @mixed,
@nat-wifi or @nat-cellular is the same on another network.
"""
import argparse
import fnmatch
import json
import pathlib
import statistics
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent / "Modes"))
sys.dont_write_bytecode = True
from lab import Lab  # noqa: E402
from rows import all_rows  # noqa: E402

HERE = pathlib.Path(__file__).resolve().parent


def number(value, unit):
    if value is None:
        return "-"
    return f"{value:.3f}" if unit == "%" else f"{value:.2f}" if unit in ("x", "s") else f"{value:.0f}"


def judge(metric, ours, kernel):
    """Whether a metric meets its goals: True, False, or None where there is no goal."""
    if not ours:
        return False
    verdicts = []
    median, worst = statistics.median(ours), (min if metric.at_least else max)(ours)
    if metric.median is not None:
        verdicts.append(median >= metric.median if metric.at_least else median <= metric.median)
    if metric.worst is not None:
        verdicts.append(worst >= metric.worst if metric.at_least else worst <= metric.worst)
    if metric.ratio is not None and kernel:
        other = statistics.median(kernel)
        verdicts.append(median >= metric.ratio * other if metric.at_least else median * metric.ratio <= other)
    if metric.more is not None and kernel:
        verdicts.append(median <= statistics.median(kernel) + metric.more)
    return all(verdicts) if verdicts else None


HEAD = (f"{'row':27}{'figure':27}{'goal':>24}{'ours':>9}{'worst':>9}{'kernel':>9}{'worst':>9}{'ratio':>7}"
        f"{'n':>4}")


def line(row, metric, ours, kernel):
    extreme = min if metric.at_least else max
    cells = [number(statistics.median(ours), metric.unit), number(extreme(ours), metric.unit)] if ours else "--"
    cells = list(cells)
    ratio = ""
    if kernel:
        cells += [number(statistics.median(kernel), metric.unit), number(extreme(kernel), metric.unit)]
        small, large = sorted([statistics.median(ours), statistics.median(kernel)]) if ours else (0, 0)
        if ours and min(small, large) > 0:
            ratio = f"{statistics.median(kernel) / statistics.median(ours):.1f}"
    else:
        cells += ["", ""]
    verdict = {True: "met", False: "MISSED", None: ""}[judge(metric, ours, kernel)]
    return (f"{row.name:27}{metric.title:27}{metric.goal():>24}" + "".join(f"{cell:>9}" for cell in cells)
            + f"{ratio:>7}{len(ours):>4}  {verdict}")


def trace(result, title):
    """The events of a run, with milliseconds since the last fault."""
    fault = (result.get("faults") or [0])[-1]
    lines = [f"  {title}: {len(result.get('events', []))} events, ms since the fault"]
    for event in result.get("events", [])[-40:]:
        lines.append(f"    {1e3 * (event['time'] - fault):+9.0f}  {event['text']}")
    if result.get("requests"):
        slow = sorted(result["requests"], key=lambda each: each[1] if each[1] >= 0 else 1e9)[-3:]
        lines.append("    slowest requests (sent, took): " + ", ".join(
            f"{1e3 * (sent - fault):+.0f} {'never' if took < 0 else f'{1e3 * took:.0f}'}"
            for sent, took in sorted(slow)))
    if result.get("gaps"):
        long = sorted(result["gaps"], key=lambda each: -each[1])[:5]
        lines.append("    longest pauses (from, for): " + ", ".join(
            f"{1e3 * (start - fault):+.0f} {1e3 * length:.0f}" for start, length in sorted(long)))
    paths = ", ".join(f"{p['name']} {p['sent']} sent {p['received']} received" for p in result.get("paths", []))
    return lines + ([f"    {paths}"] if paths else [])


def measure(row, lab, runs, traces):
    """Runs the contenders in turn."""
    samples = {contender: [] for contender in row.contenders}
    for number_of_run in range(min(runs, row.most_runs)):
        for contender in row.contenders:
            try:
                samples[contender].append(row.run(lab, contender, number_of_run))
            except (RuntimeError, subprocess.TimeoutExpired, ValueError) as error:
                print(f"{row.name} {contender}: {error}", file=sys.stderr, flush=True)
    table = []
    for metric in row.metrics:
        values = {contender: [figures[metric.key] for figures, _ in taken if figures.get(metric.key) is not None]
                  for contender, taken in samples.items()}
        ours, kernel = values.get("ours", []), values.get("kernel", [])
        text = line(row, metric, ours, kernel)
        print(text, flush=True)
        table.append({"row": row.name, "figure": metric.title, "goal": metric.goal(), "unit": metric.unit,
                      "values": values, "met": judge(metric, ours, kernel)})
        if judge(metric, ours, kernel) is False and samples.get("ours") and traces:
            pick = (min if metric.at_least else max)(
                samples["ours"], key=lambda each: each[0].get(metric.key) or 0)
            traces.write("\n".join([text] + trace(pick[1], "worst run")) + "\n\n")
            traces.flush()
    return table


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", default="*", help="names or patterns, separated by commas; ? lists them")
    parser.add_argument("--runs", type=int, default=10)
    parser.add_argument("--json", metavar="FILE")
    parser.add_argument("--traces", metavar="FILE", help="the events of the worst run of each row that misses")
    parser.add_argument("folder", nargs="?", default=str(HERE / ".build/release"))
    options = parser.parse_args()
    patterns = options.rows.split(",")
    rows = all_rows()
    if options.rows == "?":
        for row in rows:
            print(f"{row.name:27}{row.title}")
        return
    chosen = [row for row in rows if any(fnmatch.fnmatchcase(row.name, pattern) for pattern in patterns)]
    if not chosen:
        sys.exit(f"no row is named {options.rows}; --rows '?' lists them")
    table = []
    traces = open(options.traces, "a") if options.traces else None
    with tempfile.TemporaryDirectory() as folder:
        lab = Lab(f"{options.folder}/mplab", str(HERE / ".build/release/mpbench-modes"), folder)
        print(HEAD, flush=True)
        for row in chosen:
            table += measure(row, lab, options.runs, traces)
    if options.json:
        pathlib.Path(options.json).write_text(json.dumps(table, indent=1) + "\n")
    missed = sum(entry["met"] is False for entry in table)
    met = sum(entry["met"] is True for entry in table)
    print(f"{met} met, {missed} missed")


main()
