"""Plays a stream in a lab's client host, and prints what a viewer would have seen: playing.py PLAYER COMMAND URL SECONDS DEADLINE VARIANT

PLAYER is `mpstream` or `ffmpeg`, which plays the variant with that number; COMMAND is the program. Both are measured alike: a
viewer begins with the first media that are there, watches in real time, and waits (stalls) where none are left. A player that has
not got everything by the deadline has stalled until then, and `complete` is false. Bytes are counted at the interfaces, with all
headers."""
import json
import pathlib
import subprocess
import sys
import time

# How often FFmpeg tells how far it is, in seconds.
PERIOD = "0.1"


def counters():
    """Bytes received by each interface of the lab's client."""
    return {path.name: int((path / "statistics/rx_bytes").read_text())
            for path in pathlib.Path("/sys/class/net").iterdir() if path.name != "lo"}


def by_tag(paths):
    """Bytes by the tag that says most of what may be used, as mpstream counts them."""
    sums = {}
    for path in paths:
        tag = "constrained" if path["constrained"] else "expensive" if path["expensive"] else "unrestricted"
        sums[tag] = sums.get(tag, 0) + path["bytes"]
    return sums


def watch(fetched, end):
    """Startup and stalled time of a viewer, where so many seconds of media (second) were there at a time (first)."""
    points = [point for point in fetched if point[1] > 0]
    if not points:
        return None, end, 1
    start, there = points[0]
    played, clock, stalled, stalls = 0.0, start, 0.0, 0
    for moment, media in points[1:] + [(end, points[-1][1])]:
        due = moment - clock
        if played + due > there + 1e-6 and moment > clock:
            stalled += played + due - there
            stalls += 1
            played = there
        else:
            played += due
        clock, there = moment, max(there, media)
    return start, stalled, stalls


def play(player, program, url, seconds, deadline, variant):
    """One run, inside of the lab."""
    before, begun = counters(), time.monotonic()
    result = {"complete": True}
    if player == "mpstream":
        process = subprocess.run(
            ["timeout", "-s", "INT", str(deadline), program, "--json", url], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
            text=True)
        lines = [json.loads(line) for line in process.stderr.splitlines() if line.startswith("{")]
        report = lines[-1]
        result |= {"complete": report["outcome"] == "ended", "startup": report["startup_s"], "stalled": report["stalled_s"],
                   "stalls": report["stalls"], "switches": report["switches"], "rate": report["mean_rate"],
                   "continued": report["continued"], "skipped": report["skipped"], "tags": by_tag(report["paths"]),
                   "variants": [(line["time"] - lines[0]["time"], line["variant"]) for line in lines
                                if line["event"] == "segment"],
                   "buffer": [(line["time"] - lines[0]["time"], line["buffer_s"]) for line in lines if "buffer_s" in line]}
    else:
        process = subprocess.Popen(
            ["timeout", "-s", "KILL", str(deadline), program, "-v", "error", "-stats_period", PERIOD, "-progress", "pipe:1", "-i", url,
             "-map", f"0:v:{variant}", "-c", "copy", "-f", "null", "-"], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
            stdin=subprocess.DEVNULL, text=True)
        fetched = []
        for line in process.stdout:
            if line.startswith("out_time_us=") and line[12:].strip().lstrip("-").isdigit():
                fetched.append((time.monotonic() - begun, int(line[12:]) / 1e6))
        process.wait()
        complete = bool(fetched) and fetched[-1][1] >= seconds - 3
        end = fetched[-1][0] if complete else max(deadline, fetched[-1][0] if fetched else 0)
        startup, stalled, stalls = watch(fetched, end)
        result |= {"complete": complete, "startup": startup, "stalled": stalled, "stalls": stalls, "switches": 0,
                   # Seconds of media that were there, each second.
                   "media": fetched[::10]}
    result["seconds"] = time.monotonic() - begun
    after = counters()
    result["bytes"] = {name: after.get(name, count) - count for name, count in before.items()}
    print(json.dumps(result))


if __name__ == "__main__":
    play(*sys.argv[1:4], int(sys.argv[4]), int(sys.argv[5]), int(sys.argv[6]))
