#!/usr/bin/env python3
"""Whether a connection outlives its paths: one transfer, a fault of a random kind every two seconds, every byte
compared by checksum.

    endurance.py [--mode M,…] [--direction up,down] [--faults N] [--size BYTES] [--seed N] FOLDER-OF-BUILT-COMMANDS

FOLDER holds mplab and mpconnect. Faults: blackholes (either or both directions), link down, address removed, route
withdrawn, 30 % loss, a round trip of 400 ms, a translator that forgets. Each ends after 0.5 to 1.8 s, and both
paths are hit.
"""
import argparse
import functools
import hashlib
import os
import pathlib
import random
import subprocess
import sys
import tempfile
import time

LINKS = ["wlan0", "wwan0"]


def scenario(faults, seed):
    """The emulator's part; what is done to addresses and routes is returned beside it."""
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


INSIDE = r"""
import json, subprocess, sys, threading, time
faults, command = json.loads(sys.argv[1]), sys.argv[2:]
begun = time.monotonic()
def ip(*words): return subprocess.run(["ip", *words], capture_output=True, text=True).stdout
def restore(kept):
    for words in kept: ip(*words)
def work():
    for at, end, kind, link in faults:
        time.sleep(max(0, begun + at - time.monotonic()))
        kept = []
        # An address's end takes its routes along.
        addresses = [line.split() for line in ip("-o", "addr", "show", "dev", link, "scope", "global").splitlines()]
        routes = [(family, line.split()) for family in ("-4", "-6")
                  for line in ip(family, "route", "show", "default", "dev", link).splitlines()]
        if kind == "address":
            for words in addresses:
                ip("addr", "del", words[3], "dev", link)
                kept.append(("addr", "add", words[3], "dev", link) + (("nodad",) if words[2] == "inet6" else ()))
        for family, words in routes:
            ip(family, "route", "del", *words, "dev", link)
            if "linkdown" in words: words.remove("linkdown")
            kept.append((family, "route", "add", *words, "dev", link))
        time.sleep(max(0, begun + end - time.monotonic()))
        restore(kept)
threading.Thread(target=work, daemon=True).start()
sys.exit(subprocess.run(command).returncode)
"""


@functools.cache
def digest_of(folder, count):
    """The checksum of what the lab's server sends, worked out in a lab where nothing fails."""
    return subprocess.run(
        [f"{folder}/mplab", "run", "--quiet", "--", "curl", "--silent", "--show-error", "--fail", "--max-time", "120",
         f"http://server/sha256/{count}"], capture_output=True, text=True, check=True).stdout.strip()


def run(options, mode, direction, seed):
    import json
    text, inside = scenario(options.faults, seed)
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder)
        (path / "faults").write_text(text)
        (path / "inside.py").write_text(INSIDE)
        connect = [f"{options.folder}/mpconnect", "-v", "--report", "--no-progress", "--mode", mode]
        # What keeps a transfer going as long as the faults last: the rate at which its source writes.
        seconds = 2 * options.faults + 2
        rate = options.size / seconds
        if direction == "up":
            feed = (f"import sys,time\nb=time.monotonic();n=0;chunk=bytes(range(256))*64\n"
                    f"while n<{options.size}:\n"
                    f" k=min(len(chunk),{options.size}-n);sys.stdout.buffer.write(chunk[:k]);n+=k\n"
                    f" d=b+n/{rate}-time.monotonic()\n"
                    f" if d>0: sys.stdout.buffer.flush(); time.sleep(d)\n")
            (path / "feed.py").write_text(feed)
            script = f"python3 {path}/feed.py | {' '.join(connect)} server:9"
            digest, done, chunk = hashlib.sha256(), 0, bytes(range(256)) * 64
            while done < options.size:
                part = chunk[:options.size - done]
                digest.update(part)
                done += len(part)
            expected = digest.hexdigest()
        else:
            piece = max(1, int(rate / 100))
            count = options.size // piece
            # Its input stays open: after its own end a connection gets no other subflow (the kernel's rule). More
            # is asked for than is read, so that the end of the reader ends it.
            script = (f"mkfifo {path}/in; (echo {piece} 10 {count + 100}; sleep {seconds * 3}) > {path}/in & "
                      f"{' '.join(connect)} server:20 < {path}/in | head -c {piece * count} | sha256sum; kill $!")
            expected = digest_of(options.folder, piece * count)
        begun = time.monotonic()
        result = subprocess.run(
            [f"{options.folder}/mplab", "run", "--quiet", "--scenario", str(path / "faults"), "--",
             sys.executable, str(path / "inside.py"), json.dumps(inside), "bash", "-o", "pipefail", "-c", script],
            capture_output=True, text=True, timeout=seconds * 3 + 60)
        took = time.monotonic() - begun
        moves = sum(" moved from " in line for line in result.stderr.splitlines())
        stranded = sum("no path is left" in line for line in result.stderr.splitlines())
        return result, took, moves, stranded, expected


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--mode", default="handover,interactive,aggregate")
    parser.add_argument("--direction", default="up,down")
    parser.add_argument("--faults", type=int, default=100)
    parser.add_argument("--size", type=int, default=1 << 30)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--log", help="a folder for the events of each run")
    parser.add_argument("folder")
    options = parser.parse_args()
    failed = False
    for mode in options.mode.split(","):
        for direction in options.direction.split(","):
            result, took, moves, stranded, expected = run(options, mode, direction, options.seed)
            words = result.stdout.split()
            is_whole = result.returncode == 0 and expected in words
            failed |= not is_whole
            print(f"{mode:12}{direction:6}{'intact' if is_whole else 'BROKEN':8} {took:6.0f} s, {options.faults} faults, "
                  f"{moves} moves, {stranded} times no path; status {result.returncode}: {' '.join(words)[:90]}",
                  flush=True)
            if options.log:
                pathlib.Path(options.log, f"{mode}-{direction}").write_text(result.stderr)
    sys.exit(failed)


main()
