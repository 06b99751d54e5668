"""What changed between two results beyond the noise."""
import math
import statistics

from .table import label, number


def rank_score(old, new):
    """How far new lies above old by the ranks of all samples (Mann and Whitney's test), in standard deviations."""
    ordered = sorted(old + new)
    # Equal values share the middle of their ranks.
    places = {value: ordered.index(value) + (ordered.count(value) + 1) / 2 for value in set(ordered)}
    count, size = len(ordered), len(old) * len(new)
    ties = sum(ordered.count(value) ** 3 - ordered.count(value) for value in set(ordered))
    variance = size / 12 * (count + 1 - ties / (count * (count - 1)))
    excess = sum(places[value] for value in new) - len(new) * (len(new) + 1) / 2 - size / 2
    return excess / math.sqrt(variance) if variance > 0 else 0.0


def differs(old, new):
    """By chance it says so once in 400 comparisons. Few samples have to lie apart altogether; single ones by 10 %."""
    if min(len(old), len(new)) >= 8:
        return abs(rank_score(old, new)) > 3
    if min(len(old), len(new)) >= 3:
        return min(new) > max(old) or max(new) < min(old)
    middle, other = statistics.median(old), statistics.median(new)
    return abs(other - middle) > 0.1 * max(abs(middle), abs(other)) and (min(new) > max(old) or max(new) < min(old))


def compare(old, new):
    """The lines to print."""
    def known(results):
        return {(entry["name"], entry["figure"]): entry for entry in results["rows"]}
    before, after = known(old), known(new)
    lines = []
    compared = 0
    for key, entry in after.items():
        earlier = before.get(key)
        if earlier is None:
            lines.append(f"{key[0]}: {key[1]} is new")
            continue
        for contender, samples in entry["samples"].items():
            past = earlier["samples"].get(contender)
            if not past or not samples:
                continue
            compared += 1
            if not differs(past, samples):
                continue
            first, then = earlier["summary"][contender]["value"], entry["summary"][contender]["value"]
            is_better = (then > first) == (entry["better"] == "higher")
            change = f" ({100 * (then - first) / abs(first):+.0f} %)" if first else ""
            lines.append(f"{key[0]}, {contender}: {label(entry)} {number(first)} -> {number(then)}{change}, "
                         f"{'better' if is_better else 'worse'}; n {len(past)}, {len(samples)}")
        if earlier["met"] != entry["met"]:
            words = {True: "met", False: "missed", None: "not judged"}
            lines.append(f"{key[0]}: {key[1]}'s goal was {words[earlier['met']]}, is {words[entry['met']]}")
    lines += [f"{key[0]}: {key[1]} is gone" for key in before if key not in after]
    machines = [results["machine"] for results in (old, new)]
    for part in ("cpu", "cores", "memory", "kernel"):
        if machines[0][part] != machines[1][part]:
            lines.insert(0, f"not the same machine: {part} {machines[0][part]} -> {machines[1][part]}")
    lines.append(f"{compared} comparisons of {old['date']} and {new['date']}")
    return lines
