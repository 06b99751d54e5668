"""Makes the runs of a row: its contenders take turns."""
import sys
import time

from . import judging
from .contenders import CONTENDERS, missing
from .lab import RUN_ERRORS


class Progress:
    """One line on standard error, where that is a terminal."""

    def __init__(self, rows, runs):
        self.expected = {row.name: expected(row, runs) for row in rows}
        self.begun, self.done, self.count = time.monotonic(), 0.0, 0
        self.shown = sys.stderr.isatty()

    def show(self, row, number, runs, contender):
        if not self.shown:
            return
        elapsed = time.monotonic() - self.begun
        whole = sum(self.expected.values())
        # The pace so far against the estimates; 1 where too little has run to tell.
        pace = elapsed / self.done if self.done > 30 else 1.0
        text = (f"row {self.count + 1} of {len(self.expected)}: {row.name}, run {number + 1} of {runs}, {contender}; "
                f"{clock(elapsed)} gone, about {clock((whole - self.done) * pace)} left")
        sys.stderr.write(f"\r\x1b[K{text[:120]}")
        sys.stderr.flush()

    def add_run(self, row):
        self.done += row.seconds

    def finish(self, row):
        """Counts all of a row as done, also the runs that were estimated and not made."""
        self.count += 1
        self.done = sum(list(self.expected.values())[:self.count])
        self.clear()

    def clear(self):
        if self.shown:
            sys.stderr.write("\r\x1b[K")
            sys.stderr.flush()


def clock(seconds):
    return f"{int(seconds) // 60}:{int(seconds) % 60:02}"


def expected(row, runs):
    present = set(row.contenders) - set(missing(row.contenders))
    return sum(row.runs(contender, runs) for contender in present) * row.seconds


def measure(row, lab, runs, progress):
    """Returns each contender's runs, (figures, the run's result) or None where a run failed, and the failures' reasons."""
    absent = missing(row.contenders)
    present = [contender for contender in row.contenders if contender not in absent]
    taken = {contender: [] for contender in present}
    failures = []
    most = max((row.runs(contender, runs) for contender in present), default=0)
    for number in range(most):
        for contender in present:
            if number >= row.runs(contender, runs):
                continue
            progress.show(row, number, most, contender)
            try:
                taken[contender].append(row.run(lab, contender, number))
            except RUN_ERRORS as error:
                taken[contender].append(None)
                failures.append(f"{row.name}, run {number + 1} of {contender}: {type(error).__name__}: {error}")
                progress.clear()
                print(failures[-1], file=sys.stderr, flush=True)
            progress.add_run(row)
    progress.finish(row)
    return taken, failures


def entries(row, taken, failures):
    """A row of results.json for each of its metrics."""
    found = []
    for metric in row.metrics:
        samples = {contender: [run and run[0].get(metric.key) for run in runs] for contender, runs in taken.items()}
        samples = {contender: values for contender, values in samples.items()
                   if contender == "ours" or judging.flat(values)}
        found.append({
            "name": row.name, "group": row.group, "title": row.title, "figure": metric.title, "unit": metric.unit,
            "better": "higher" if metric.at_least else "lower", "at": metric.at,
            "goal": {key: value for key, value in {
                "text": metric.goal(), "median": metric.median, "worst": metric.worst, "ratio": metric.ratio,
                "more": metric.more, "near": metric.near, "against": metric.against}.items() if value is not None},
            "samples": {contender: judging.flat(values) for contender, values in samples.items()},
            "summary": {contender: summary(metric, samples, contender) for contender in samples},
            "failed": {contender: sum(value is None for value in values)
                       for contender, values in samples.items() if None in values},
            "ratio": {contender: judging.ratio(metric, samples["ours"], values)
                      for contender, values in samples.items() if contender != "ours"},
            "met": judging.judge(metric, samples)})
        if not metric.goal():
            found[-1]["goal"] = {}
    if failures:
        found[0]["failures"] = failures
    return found


def summary(metric, samples, contender):
    """What the table shows of a contender."""
    values = judging.flat(samples[contender])
    if not values:
        return {"n": 0}
    lower, upper = judging.spread(values)
    pairs = judging.pairs(metric, samples["ours"], samples[contender]) if contender != "ours" else []
    return {"n": len(values), "value": judging.figure(values, metric.at), "p25": lower, "p75": upper,
            "worst": (min if metric.at_least else max)(values),
            **({"ratios": judging.spread(pairs)} if pairs and metric.at == 0.5 else {})}


def worst_run(metric, runs):
    """The run that missed a goal by most: (figures, result)."""
    known = [run for run in runs if run and judging.flat([run[0].get(metric.key)])]
    choose = min if metric.at_least else max
    return choose(known, key=lambda run: choose(judging.flat([run[0][metric.key]]))) if known else None


def introduce(names):
    """Names on standard error the contenders that are left out, and how to install them."""
    for name in names:
        contender = CONTENDERS[name]
        print(f"without {name} ({contender.title}): {contender.install}", file=sys.stderr)
