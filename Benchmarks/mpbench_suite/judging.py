"""From the samples of a metric to its figures, ratios and verdict.

Samples are a list by contender with an entry a run: a number, a list of numbers, or None where a run has none."""
import statistics

from .figures import quantile


def flat(entries):
    """All samples of all runs."""
    return [value for entry in entries if entry is not None
            for value in (entry if isinstance(entry, list) else [entry])]


def spread(values):
    """The lower and the upper quartile."""
    if len(values) < 2:
        return (values[0], values[0]) if values else (None, None)
    lower, _, upper = statistics.quantiles(values, n=4, method="inclusive")
    return lower, upper


def figure(values, at):
    """The median, or another quantile."""
    if not values:
        return None
    return statistics.median(values) if at == 0.5 else quantile(values, at)


def pairs(metric, ours, theirs):
    """How many times better ours is than a contender's: for each run that both have."""
    found = []
    for own, other in zip(ours, theirs):
        own, other = (figure(flat([entry]), 0.5) for entry in (own, other))
        if own is not None and other is not None:
            best, rest = (other, own) if metric.at_least else (own, other)
            if best > 0:
                found.append(rest / best)
    return found


def ratio(metric, ours, theirs):
    """The median of the runs' ratios. For a quantile far out a run has too few samples: there it is the ratio of both contenders' figures."""
    if metric.at == 0.5:
        found = pairs(metric, ours, theirs)
        return statistics.median(found) if found else None
    own, other = figure(flat(ours), metric.at), figure(flat(theirs), metric.at)
    best, rest = (other, own) if metric.at_least else (own, other)
    return rest / best if best and rest is not None else None


def judge(metric, samples):
    """Whether a metric meets its goals: True, False, or None where there is no goal or no contender to compare with."""
    verdicts = []
    values = flat(samples.get("ours", []))
    others = flat(samples.get(metric.against, []))
    needs_other = [goal for goal in (metric.ratio, metric.more, metric.near) if goal is not None]
    has_goal = metric.median is not None or metric.worst is not None or needs_other
    if not has_goal:
        return None
    if not values:
        return False
    own = figure(values, metric.at)

    def holds(value, limit):
        return value >= limit if metric.at_least else value <= limit

    if metric.median is not None:
        verdicts.append(holds(own, metric.median))
    if metric.worst is not None:
        verdicts.append(holds((min if metric.at_least else max)(values), metric.worst))
    if others:
        other = figure(others, metric.at)
        if metric.ratio is not None:
            times = ratio(metric, samples["ours"], samples[metric.against])
            # Where the contender's figure is 0, only 0 is good enough.
            verdicts.append(times >= metric.ratio if times is not None else own == other)
        if metric.more is not None:
            verdicts.append(own <= other + metric.more)
        if metric.near is not None:
            verdicts.append(abs(own - other) <= metric.near)
    return all(verdicts) if verdicts else None
