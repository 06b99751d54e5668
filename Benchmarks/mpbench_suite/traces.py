"""What happened in single runs of mpbench-modes: the answer to why a row misses its goal."""
from .runner import worst_run
from .table import lines


def write(file, row, entries, taken):
    """The worst run of each figure that misses its goal."""
    for metric, entry in zip(row.metrics, entries):
        if entry["met"] is not False:
            continue
        file.write("\n".join(lines([entry])) + "\n")
        run = worst_run(metric, taken.get("ours", []))
        if run and "events" in run[1]:
            file.write("\n".join(story(run[1], "its worst run")) + "\n")
        file.write("\n")
        file.flush()


def story(result, title):
    """The events of a run, with milliseconds since the last fault."""
    fault = (result.get("faults") or [0])[-1]
    text = [f"  {title}: {len(result.get('events', []))} events, ms since the fault"]
    for event in result.get("events", [])[-40:]:
        text.append(f"    {1e3 * (event['time'] - fault):+9.0f}  {event['text']}")
    if result.get("requests"):
        slow = sorted(result["requests"], key=lambda each: each[1] if each[1] >= 0 else 1e9)[-3:]
        text.append("    slowest requests (sent, took): " + ", ".join(
            f"{1e3 * (sent - fault):+.0f} {'never' if took < 0 else f'{1e3 * took:.0f}'}"
            for sent, took in sorted(slow)))
    for key, place in (("gaps", ""), ("arrivals", " at the receiver")):
        if not result.get(key):
            continue
        long = sorted(result[key], key=lambda each: -each[1])[:5]
        text.append(f"    longest pauses{place} (from, for): " + ", ".join(
            f"{1e3 * (start - fault):+.0f} {1e3 * length:.0f}" for start, length in sorted(long)))
    if result.get("subflows"):
        words = {1: "created", 2: "established", 3: "closed", 10: "subflow joined", 11: "subflow ended"}
        text.append("    the kernel's events: " + ", ".join(
            f"{1e3 * (time - fault):+.0f} {words.get(event, event)}" for time, event, _ in result["subflows"]))
    paths = ", ".join(f"{p['name']} {p['sent']} sent {p['received']} received" for p in result.get("paths", []))
    return text + ([f"    {paths}"] if paths else [])
