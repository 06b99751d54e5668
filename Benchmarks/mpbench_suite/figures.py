"""Figures of one run's samples, and of several runs."""
import math
import statistics


def quantile(values, share):
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(share * len(ordered)))] if ordered else None


def fault(result, number=-1):
    return result["faults"][number] if result["faults"] else 0.0


def latencies(result, start, end):
    """Milliseconds of the requests sent in a window; what had no answer counts until the end."""
    return [1e3 * (took if took >= 0 else result["end"] - sent)
            for sent, took in result["requests"] if start <= sent <= end]


def stall(result, number=-1, window=3.0):
    """The longest the program waited because of a fault, in milliseconds: the receiving one where it was watched."""
    moment = fault(result, number)
    if result.get("requests") is not None:
        return max(latencies(result, moment - 0.05, result["end"]), default=None)
    return 1e3 * max((length for start, length in result.get("arrivals", result["gaps"])
                      if moment - 0.1 <= start <= moment + window and start + length > moment), default=0)


def longest_pause(result, start=0.0):
    """The longest time without a byte of a transfer with nothing wrong, in milliseconds."""
    return 1e3 * max((length for begun, length in result.get("arrivals", result["gaps"]) if begun >= start), default=0)


def goodput(result, start, end):
    """Mbit/s of payload in a window."""
    first, last = int(start / result["bucket"]), int(end / result["bucket"])
    return 8e-6 * sum(result["buckets"][first:last]) / (end - start)


def on_wire(result, name, start=0, end=-1):
    """Bytes of an interface, both ways, between two of the run's looks at its counters."""
    def total(look):
        return look[name]["received"] + look[name]["sent"]
    return total(result["interfaces"][end]) - total(result["interfaces"][start])


def median(runs, key):
    """The median of the runs that have such a figure; not a number where none has it."""
    values = [run[key] for run in runs if run[key] is not None]
    return statistics.median(values) if values else math.nan


def between(values, form=""):
    """The least and the greatest, in words."""
    return f"{min(values):{form}} to {max(values):{form}}"
