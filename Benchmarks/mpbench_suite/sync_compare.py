"""What it takes mpsync and rclone to keep a folder and a WebDAV server the same.

FOLDER holds mpsync, and with --faults mplab. Each run is one of 10,000 files of 1 to 100 KB in 100 folders (small),
or one file of 1 GiB (large), sent to an empty server (nginx, apache, rclone) and then fetched into an empty folder;
both sides are compared by SHA-256. Clients take turns, run by run; both transfer 4 files at a time. Every run has a
network namespace of its own: loopback alone, or with --faults a lab with Wi-Fi and cellular, through ten faults.
Requests are the server's own log (rclone writes none; mpsync's are its summary's then), bytes those at the interfaces
with all headers. CPU is the client's. What is not over by the deadline is ended there (marked >), and counts as whole
where it is the same.
"""
import json
import os
import pathlib
import random
import shlex
import shutil
import signal
import statistics
import sys
import tempfile

from . import usage
from .environment import PROGRAMS, PROJECT
from .figures import between, median
from .lab import RUN_ERRORS, call, in_lab

SERVERS = ["nginx", "apache", "rclone"]
CLIENTS = ["mpsync", "rclone"]
WAYS = ["push", "pull"]
PORT = 8080
SCENARIO = """about Wi-Fi and cellular; ten faults, one after another.
link wlan0 wifi rtt=10ms,rate={wifi}
link wwan0 cellular,not-expensive rtt=40ms,rate={cellular}
"""
# What happens to which link, and what ends it.
FAULTS = [
    ("wlan0 blackhole=both", "wlan0 blackhole=none"),
    ("wlan0 down", "wlan0 up"),
    ("wlan0 loss=20%", "wlan0 loss=0%"),
    ("wlan0 blackhole=up", "wlan0 blackhole=none"),
    ("wwan0 blackhole=both", "wwan0 blackhole=none"),
    ("wlan0 blackhole=down", "wlan0 blackhole=none"),
    ("wwan0 down", "wwan0 up"),
    ("wlan0 rate=1mbit", "wlan0 rate={wifi}"),
    ("wlan0 blackhole=both", "wlan0 blackhole=none"),
    ("wlan0 down", "wlan0 up"),
]


def scenario(options):
    lines = [SCENARIO.format(wifi=options.wifi, cellular=options.cellular)]
    for number, (begin, end) in enumerate(FAULTS):
        at = 2 + number * options.every
        lines.append(f"at {at}s {begin}\nat {at + options.every / 2:g}s {end.format(wifi=options.wifi)}\n")
    return "".join(lines)


def make_small(folder, count):
    """The same files each time."""
    source = random.Random(20)
    for number in range(count):
        place = folder / f"folder {number % 100:02}"
        place.mkdir(parents=True, exist_ok=True)
        (place / f"file {number:05}.bin").write_bytes(source.randbytes(source.randint(1_000, 100_000)))


def make_large(folder, size):
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / "large.bin").open("wb") as file:
        source = random.Random(20)
        for offset in range(0, size, 1 << 24):
            file.write(source.randbytes(min(1 << 24, size - offset)))


def run(options, client, kind, data, top):
    """The figures of each way, of one run of a client with a server, in a network namespace of its own."""
    work = top / "work"
    shutil.rmtree(data / ".mpsync", ignore_errors=True)
    work.mkdir()
    serve = ["exec", sys.executable, str(PROJECT / "scripts/dav-server.py"), kind, f"{work}/served",
             "--port", str(PORT)]
    program = str(options.bin / "mpsync") if client == "mpsync" else client
    words = [sys.executable, str(PROGRAMS / "syncing.py"), "--deadline", str(options.deadline),
             *(word for way in options.way or [] for word in ("--way", way))]
    try:
        if options.faults:
            (top / "scenario").write_text(scenario(options))
            serve += ["--mptcp"] * options.mptcp
            output = in_lab(options.bin / "mplab", ["--scenario", str(top / "scenario"), "--serve", silent(serve)],
                            [*words, "--retries", "1000", client, program, f"http://server:{PORT}/", data, work], None)
        else:
            output = call(["unshare", *([] if os.geteuid() == 0 else ["-r"]), "-n", *words, "--serve", silent(serve),
                           client, program, f"http://127.0.0.1:{PORT}/", data, work], None)
        return json.loads(output.splitlines()[-1])
    finally:
        shutil.rmtree(work)


def silent(words):
    """As a shell command."""
    return f"{shlex.join(words)} > /dev/null 2>&1"


def compare(options, kind, part, data, top):
    """The runs of each client with one server; those that failed are left out."""
    clients = options.client or CLIENTS
    runs = {client: [] for client in clients}
    for number in range(options.runs):
        for client in clients if number % 2 == 0 else reversed(clients):
            try:
                runs[client].append(run(options, client, kind, data, top))
            except RUN_ERRORS as error:
                print(f"mpbench sync-compare: {kind}, {part}, {client}: the run failed: {error}", file=sys.stderr)
    return runs


def show(kind, part, way, runs):
    name = f"{kind:7} {part:6} {way:5}"
    for client, all_runs in runs.items():
        if not all_runs:
            continue
        mark = ">" if any(run["late"] for run in all_runs) else ""
        print(f"{name} {client:7} {mark + format(median(all_runs, 'seconds'), '.1f'):>6} s "
              f"{median(all_runs, 'cpu'):5.1f} s {median(all_runs, 'requests'):9.0f} "
              f"{median(all_runs, 'sent') / 1e6:6.0f} MB {median(all_runs, 'received') / 1e6:6.0f} MB "
              f"{median(all_runs, 'memory') / 1e6:5.0f} MB  {sum(run['same'] for run in all_runs)} of {len(all_runs)}"
              f"   ({between([run['seconds'] for run in all_runs], '.1f')} s; gone on "
              f"{sum(run['continued'] for run in all_runs)}, begun anew "
              f"{sum(run['restarted'] for run in all_runs)} times)", flush=True)
        for run in all_runs:
            if run["status"] and not run["late"]:
                print(f"    status {run['status']}: {run.get('complaint')}")
            if run["left"] and not run["late"]:
                print(f"    left behind: {run['left']}")
    pairs = [one["seconds"] / other["seconds"] for one, other in zip(runs.get("mpsync", []), runs.get("rclone", []))]
    if pairs:
        print(f"{name} mpsync takes {statistics.median(pairs):.2f} times rclone's time, in {len(pairs)} pairs "
              f"({between(pairs, '.2f')})", flush=True)


def measure(options, top):
    """`top` is the folder of the runs' files."""
    results = {}
    print("server  part   way   client     time     CPU  requests     sent  received   memory  same")
    for part in options.part or ["small", "large"]:
        data = top / part
        if part == "small":
            make_small(data, options.files)
        else:
            make_large(data, options.size)
        for kind in options.server or SERVERS:
            results[f"{kind} {part}"] = runs = compare(options, kind, part, data, top)
            for way in options.way or WAYS:
                show(kind, part, way, {client: [run[way] for run in all_runs if way in run]
                                       for client, all_runs in runs.items()})
            if options.json:
                options.json.write_text(json.dumps(results))
        shutil.rmtree(data)


def main(words):
    # Asked to end, it ends what it has started, and leaves no folder behind.
    signal.signal(signal.SIGTERM, lambda number, _: sys.exit(128 + number))
    parser = usage.parser("sync-compare", __doc__)
    usage.add_commands(parser)
    parser.add_argument("--server", action="append")
    parser.add_argument("--client", action="append")
    parser.add_argument("--part", action="append")
    parser.add_argument("--way", action="append", help="push or pull alone")
    parser.add_argument("--runs", type=int, default=1)
    parser.add_argument("--files", type=int, default=10_000)
    parser.add_argument("--size", type=int, default=1 << 30)
    parser.add_argument("--deadline", type=int, default=600)
    parser.add_argument("--faults", action="store_true")
    parser.add_argument("--mptcp", action="store_true", help="the server speaks MPTCP, by mptcpize")
    parser.add_argument("--wifi", default="200mbit")
    parser.add_argument("--cellular", default="100mbit")
    parser.add_argument("--every", type=int, default=5, help="seconds from fault to fault; each lasts half of it")
    parser.add_argument("--folder", type=pathlib.Path,
                        help="where files are made; the system's temporary folder unless given")
    parser.add_argument("--json", type=pathlib.Path)
    options = parser.parse_args(words)
    top = pathlib.Path(tempfile.mkdtemp(prefix="sync-compare-", dir=options.folder))
    try:
        measure(options, top)
    finally:
        shutil.rmtree(top, ignore_errors=True)
