#!/usr/bin/env python3
"""Kills mpsync at random moments, and looks whether both sides are whole: sync-kill.py --bin FOLDER [--kills N]

For each server (nginx, apache, rclone) and each direction (both, push, pull): both sides change, mpsync is killed (SIGKILL) at a
random moment of its run, and after that each file is looked at on both sides: it must be an old or a new version, whole. Now
and then a user changes a file right after the kill. The next run must end with status 0 and leave no temporary file on
either side; with both directions the two are the same by SHA-256 then, and no content that a user wrote last is missing.
"""
import argparse
import collections
import hashlib
import os
import pathlib
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
PORT = 8080
OWN = ".mpsync"


def contents(folder):
    found = {}
    for path in folder.rglob("*"):
        name = path.relative_to(folder)
        if not name.parts[0].startswith(OWN) and path.is_file():
            found[str(name)] = hashlib.sha256(path.read_bytes()).hexdigest()
    return found


def temporaries(here, there):
    return [str(path) for path in [*(here / OWN / "part").glob("*"), *there.glob(OWN + "*")]]


class World:
    """One folder and one server, with all that was ever written."""

    def __init__(self, seed, here, there, way):
        self.random = random.Random(seed)
        self.here, self.there, self.way = here, there, way
        self.number = self.moves = 0
        # What users did, for the one who looks into a fault.
        self.journal = (here.parent / "journal").open("w")
        self.written = {}
        # Contents that a user overwrote or deleted, on either side.
        self.destroyed = set()

    def content(self):
        self.number += 1
        size = self.random.choice([0, 10, 3_000, 50_000, 400_000] + [20_000_000] * (self.number % 40 == 0))
        data = f"{self.number} ".encode() + self.random.randbytes(size)
        self.written[hashlib.sha256(data).hexdigest()] = self.number
        return data

    def act(self, folder, is_late=False):
        name = f"folder {self.random.randrange(4)}/file {self.random.randrange(15)}"
        path = folder / name
        deed = self.random.randrange(10)
        had = path.read_bytes()[:8].split(b" ")[0].decode() if path.exists() else "-"
        print(f"{folder.name}/{name} had {had}; {'written' if deed < 7 or is_late else 'deleted' if deed < 9 else 'moved'}, "
              f"number {self.number}, moves {self.moves}{', late' if is_late else ''}", file=self.journal, flush=True)
        if path.exists():
            self.destroyed.add(hashlib.sha256(path.read_bytes()).hexdigest())
        if deed < 7 or is_late:
            path.parent.mkdir(exist_ok=True)
            if path.exists() and self.random.random() < 0.5:
                path.write_bytes(self.content())
            else:
                new = path.with_name("new")
                new.write_bytes(self.content())
                new.rename(path)
        elif deed < 9 and path.exists():
            path.unlink()
        elif path.exists():
            self.moves += 1
            other = path.with_name(f"moved {self.moves}")
            self.destroyed.discard(hashlib.sha256(path.read_bytes()).hexdigest())
            path.rename(other)

    def change(self):
        for _ in range(self.random.randint(5, 25)):
            if self.way != "pull":
                self.act(self.here)
            if self.way != "push":
                self.act(self.there)

    def torn(self):
        """Files that no user wrote as they are."""
        found = []
        for side in (self.here, self.there):
            found += [f"{side.name}/{name}" for name, digest in contents(side).items() if digest not in self.written]
        return found

    def shared(self, side):
        """One way, what a conflict kept under another name stays on its side."""
        return {name: digest for name, digest in contents(side).items() if self.way == "both" or "(conflict of " not in name}

    def lost(self):
        there = set(contents(self.here).values()) | set(contents(self.there).values())
        return [self.written[digest] for digest in self.written if digest not in there and digest not in self.destroyed]


def series(words, kind, way, seed):
    work = pathlib.Path(tempfile.mkdtemp(prefix="sync-kill-", dir=words.folder))
    here, there = work / "here", work / "there"
    here.mkdir()
    server = subprocess.Popen([sys.executable, str(ROOT / "scripts/dav-server.py"), kind, str(there), "--port", str(PORT)],
                              stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True)
    url = f"http://127.0.0.1:{PORT}/"
    command = [str(words.bin / "mpsync"), "--retry-pause", "20ms", "--max-delete", "1000000", "--allow-empty",
               *([] if way == "both" else [f"--{way}"]), str(here), url]
    counts = collections.Counter()
    faults = []
    try:
        while subprocess.run(["curl", "-s", "-o", "/dev/null", url]).returncode:
            time.sleep(0.05)
        world = World(seed, here, there, way)
        length = 1.0
        while counts["killed"] < words.kills:
            world.change()
            print(f"run {counts['killed'] + counts['over before'] + 1}", file=world.journal, flush=True)
            begun = time.monotonic()
            process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            try:
                process.wait(world.random.uniform(0.01, length))
                counts["over before"] += 1
                length = max(time.monotonic() - begun, 0.2)
            except subprocess.TimeoutExpired:
                process.send_signal(signal.SIGKILL)
                process.wait()
                counts["killed"] += 1
                if temporaries(here, there):
                    counts["left something"] += 1
            if torn := world.torn():
                faults.append(f"seed {seed}, after kill {counts['killed']}: no user wrote {torn}")
            if world.random.random() < 0.3:
                world.act(there if way == "pull" else here, is_late=True)
            begun = time.monotonic()
            # What a server does still with a request of the killed run may make a file look changed once.
            outcome = subprocess.run(command, capture_output=True, text=True)
            if outcome.returncode:
                counts["second run"] += 1
                outcome = subprocess.run(command, capture_output=True, text=True)
            length = 0.8 * length + 0.2 * (time.monotonic() - begun)
            place = f"seed {seed}, kill {counts['killed']}"
            if outcome.returncode:
                faults.append(f"{place}: status {outcome.returncode}: {outcome.stderr[-300:]}")
            if temporaries(here, there):
                faults.append(f"{place}: left {temporaries(here, there)}")
            if torn := world.torn():
                faults.append(f"{place}: no user wrote {torn}")
            if lost := world.lost():
                faults.append(f"{place}: lost {lost}")
            if world.shared(here) != world.shared(there):
                faults.append(f"{place}: the sides differ")
            if faults:
                if words.keep:
                    print(f"kept: {work}")
                break
    finally:
        os.killpg(server.pid, signal.SIGTERM)
        server.wait()
        if not (faults and words.keep):
            shutil.rmtree(work, ignore_errors=True)
    print(f"{kind:7} {way:5} {counts['killed']:4} kills, {counts['left something']} left temporary files to the next run, "
          f"{counts['over before']} runs were over before; next runs that needed one more: {counts['second run']}; "
          f"{world.number} files written; {'faults: ' + '; '.join(faults) if faults else 'both sides whole each time'}", flush=True)
    return not faults


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bin", type=pathlib.Path, required=True)
    parser.add_argument("--kills", type=int, default=100)
    parser.add_argument("--server", action="append")
    parser.add_argument("--way", action="append")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--folder", type=pathlib.Path)
    parser.add_argument("--keep", action="store_true", help="keep the folders of a fault")
    parser.add_argument("--inside", nargs=2, help=argparse.SUPPRESS)
    words = parser.parse_args()
    words.bin = words.bin.absolute()
    signal.signal(signal.SIGTERM, lambda number, _: sys.exit(128 + number))
    if words.inside:
        subprocess.run(["ip", "link", "set", "lo", "up"], check=True)
        sys.exit(0 if series(words, *words.inside, words.seed) else 1)
    is_whole = True
    for kind in words.server or ["nginx", "apache", "rclone"]:
        for way in words.way or ["both", "push", "pull"]:
            again = ["unshare", *([] if os.geteuid() == 0 else ["-r"]), "-n", sys.executable, __file__, *sys.argv[1:], "--inside",
                     kind, way]
            process = subprocess.Popen(again)
            try:
                is_whole &= process.wait() == 0
            finally:
                # It ends its server first.
                process.terminate()
                process.wait()
    sys.exit(0 if is_whole else 1)


if __name__ == "__main__":
    main()
