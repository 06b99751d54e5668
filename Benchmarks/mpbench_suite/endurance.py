"""No measure: whether one transfer comes whole through a hundred faults.

A fault of a random kind happens every two seconds, and every byte is compared by checksum. FOLDER holds mplab and
mpconnect. Faults: blackholes (either or both directions), link down, address removed, route withdrawn, 30 % loss, a
round trip of 400 ms, a translator that forgets. Each ends after 0.5 to 1.8 s, and both paths are hit. Exit status: 0
where all transfers came through whole, else 1.
"""
import functools
import hashlib
import json
import pathlib
import random
import subprocess
import sys
import tempfile
import time

from . import usage
from .environment import COMMANDS, PROGRAMS
from .programs import feed

LINKS = ["wlan0", "wwan0"]


def scenario(faults, seed):
    """The faults that the emulator makes, as a scenario, and those of addresses and routes, for programs/faults.py."""
    rng = random.Random(seed)
    lines = ["link   wlan0 wifi rtt=20ms,rate=80mbit", "link   wwan0 cellular,not-expensive rtt=40ms,rate=40mbit"]
    inside = []
    for number in range(faults):
        link = rng.choice(LINKS)
        rtt = "20ms" if link == "wlan0" else "40ms"
        at = 1.0 + 2 * number
        end = at + rng.uniform(0.5, 1.8)
        kind = rng.choice(["both", "up", "down", "link", "address", "route", "loss", "slow", "nat"])
        if kind in ("both", "up", "down"):
            lines += [f"at {at:.2f}s {link} blackhole={kind}", f"at {end:.2f}s {link} blackhole=none"]
        elif kind == "link":
            lines += [f"at {at:.2f}s {link} down", f"at {end:.2f}s {link} up"]
        elif kind == "loss":
            lines += [f"at {at:.2f}s {link} loss=30%", f"at {end:.2f}s {link} loss=0%"]
        elif kind == "slow":
            lines += [f"at {at:.2f}s {link} rtt=400ms", f"at {end:.2f}s {link} rtt={rtt}"]
        elif kind == "nat":
            lines += [f"at {at:.2f}s {link} nat=1s", f"at {end:.2f}s {link} nat=off"]
        else:
            inside.append((at, end, kind, link))
    return "\n".join(lines) + "\n", inside


@functools.cache
def digest_of(folder, count):
    """The checksum of what the lab's server sends, worked out in a lab where nothing fails."""
    return subprocess.run(
        [f"{folder}/mplab", "run", "--quiet", "--", "curl", "--silent", "--show-error", "--fail", "--max-time", "120",
         f"http://server/sha256/{count}"], capture_output=True, text=True, check=True).stdout.strip()


@functools.cache
def digest_of_feed(size):
    digest = hashlib.sha256()
    for chunk in feed.chunks(size):
        digest.update(chunk)
    return digest.hexdigest()


def upload(options, connect, rate):
    """The shell command of the transfer, and the checksum that its output has to name."""
    script = f"python3 {PROGRAMS / 'feed.py'} {options.size} {rate} | {' '.join(connect)} server:9"
    return script, digest_of_feed(options.size)


def download(options, connect, rate, seconds, folder):
    piece = max(1, int(rate / 100))
    count = options.size // piece
    # Its input stays open: after its own end a connection gets no other subflow (the kernel's rule). The request asks
    # for more than the reader takes, so that the reader's end is the transfer's end.
    script = (f"mkfifo {folder}/in; (echo {piece} 10 {count + 100}; sleep {seconds * 3}) > {folder}/in & "
              f"{' '.join(connect)} server:20 < {folder}/in | head -c {piece * count} | sha256sum; kill $!")
    return script, digest_of(options.folder, piece * count)


def run(options, mode, direction, seed):
    text, inside = scenario(options.faults, seed)
    # As slow as it takes for the transfer to last as long as the faults.
    seconds = 2 * options.faults + 2
    rate = options.size / seconds
    connect = [f"{options.folder}/mpconnect", "-v", "--report", "--no-progress", "--mode", mode]
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder)
        (path / "faults").write_text(text)
        script, expected = (upload(options, connect, rate) if direction == "up"
                            else download(options, connect, rate, seconds, folder))
        begun = time.monotonic()
        result = subprocess.run(
            [f"{options.folder}/mplab", "run", "--quiet", "--scenario", str(path / "faults"), "--",
             sys.executable, str(PROGRAMS / "faults.py"), json.dumps(inside), "bash", "-o", "pipefail", "-c", script],
            capture_output=True, text=True, timeout=seconds * 3 + 60)
        return result, time.monotonic() - begun, expected


def arguments(words):
    parser = usage.parser("endurance", __doc__)
    parser.add_argument("--mode", metavar="MODES", default="handover,interactive,aggregate", help="(%(default)s)")
    parser.add_argument("--direction", metavar="DIRECTIONS", default="up,down", help="(%(default)s)")
    parser.add_argument("--faults", metavar="N", type=int, default=100, help="of each transfer (%(default)s)")
    parser.add_argument("--size", metavar="BYTES", type=int, default=1 << 30, help="of each transfer (1 GiB)")
    parser.add_argument("--seed", metavar="N", type=int, default=1, help="another one has other faults (%(default)s)")
    parser.add_argument("--log", metavar="FOLDER", help="for the events of each transfer")
    parser.add_argument("folder", metavar="FOLDER", nargs="?", default=str(COMMANDS), help="(%(default)s)")
    return parser.parse_args(words)


def main(words):
    options = arguments(words)
    failed = False
    for mode in options.mode.split(","):
        for direction in options.direction.split(","):
            result, took, expected = run(options, mode, direction, options.seed)
            moves = sum(" moved from " in line for line in result.stderr.splitlines())
            stranded = sum("no path is left" in line for line in result.stderr.splitlines())
            words = result.stdout.split()
            is_whole = result.returncode == 0 and expected in words
            failed |= not is_whole
            print(f"{mode:12}{direction:6}{'intact' if is_whole else 'BROKEN':8} {took:6.0f} s, {options.faults} faults, "
                  f"{moves} moves, {stranded} times no path; status {result.returncode}: {' '.join(words)[:90]}",
                  flush=True)
            if options.log:
                pathlib.Path(options.log, f"{mode}-{direction}").write_text(result.stderr)
    return failed
