"""What data costs on its way: bulk, latency, connecting, memory; beside SwiftNIO, iperf3 and a plain C program.

Two hosts that a veth pair joins, without an emulated link between them: rows would measure the emulator. Each run has
hosts of its own. The peer is always mpbench-plain, but iperf3's own server for iperf3."""
import json
import math
import os
import resource

from ..environment import PROGRAMS
from ..lab import call
from ..row import Metric, Row

HOSTS = str(PROGRAMS / "two_hosts.sh")
PEER = "198.51.100.2"
BYTES = 4_000_000_000
# Through pipes a byte takes longer.
PIPED = 1_000_000_000
CONNECTIONS = 3_000
CROWD = 10_000
# Of each of this library's connections, at most.
DESCRIPTORS = 2


def between_hosts(lab, words, limit=60, prefix=()):
    """What a command prints that runs in one of the hosts."""
    return call([*prefix, HOSTS, lab.command("mpbench-plain"), *words], limit)


def shell(lab, script, limit=60):
    """The same of a shell script; `in_peer COMMAND` runs something in the other host."""
    functions = 'set -euo pipefail\nin_peer() { nsenter --net=/proc/$PEER_PROCESS/ns/net "$@"; }\n'
    return between_hosts(lab, ["bash", "-c", functions + script], limit)


def command(lab, contender, is_mptcp, load, number, *more):
    """The program of a contender that prints a line of JSON."""
    if contender == "c":
        words = [lab.command("mpbench-plain"), "mptcp" if is_mptcp else "tcp"]
    else:
        name = {"ours": "ours" if is_mptcp else "ours-tcp"}.get(contender, contender)
        words = [lab.command("mpbench-data"), name]
    return words + [load, PEER, str(number), *map(str, more)]


# Bulk

def iperf3(lab, is_mptcp, load):
    """Its own figures: what arrived, and its process's time on a CPU. Its server comes up while it waits."""
    preload = "mptcpize run " if is_mptcp else ""
    reverse = " -R" if load == "down" else ""
    output = shell(lab, f"""
        in_peer {preload}iperf3 -s -1 > /dev/null &
        for _ in $(seq 200); do if in_peer ss -Htln sport = :5201 | grep -q .; then break; fi; sleep 0.01; done
        {preload}iperf3 -J -c {PEER} -n {BYTES}{reverse}""")
    end = json.loads(output)["end"]
    side = end["sum_received" if load == "down" else "sum_sent"]
    busy = end["cpu_utilization_percent"]["host_total"] / 100
    return {"bytes": end["sum_received"]["bytes"], "seconds": end["sum_received"]["seconds"],
            "cpu": busy * side["seconds"] * end["sum_received"]["bytes"] / side["bytes"]}


def bulk(load, is_mptcp):
    def run(lab, contender, _):
        if contender == "iperf3":
            result = iperf3(lab, is_mptcp, load)
        else:
            result = json.loads(between_hosts(lab, command(lab, contender, is_mptcp, load, BYTES)))
        gigabytes = result["bytes"] / 1e9
        return {"rate": 8 * gigabytes / result["seconds"], "cpu": result["cpu"] / gigabytes}, result

    against = "nio-mptcp" if is_mptcp else "nio"
    words = "to the peer" if load == "up" else "from the peer"
    return Row(f"bulk-{load}" + ("" if is_mptcp else "-tcp"),
               f"4 GB {words} by {'MPTCP' if is_mptcp else 'TCP'}, one connection",
               [Metric("rate", "throughput", "Gbit/s", ratio=0.95, at_least=True, against=against),
                Metric("cpu", "CPU per gigabyte", "s/GB", ratio=1 / 1.1, against=against)],
               run, ("ours", against, "c", "iperf3"), most_runs=5, fewer={"iperf3": 3, "c": 3}, seconds=1.7)


# Pipes

def piped(load):
    """By TCP: where any reader is slower than the link, MPTCP's sender waits 200 ms at a time for a window that has
    long been opened (Linux 6.18), and a row would measure nothing else."""
    def run(lab, contender, _):
        # The whole process, from its start on. bash tells what it took.
        port = 9 if load == "up" else 19
        program = (f"'{lab.command('mpconnect')}' --no-mptcp {PEER}:{port}" if contender == "ours"
                   else f"'{lab.command('mpbench-plain')}' tcp pipe {PEER} {port}")
        begin = f"head -c {PIPED} /dev/zero" if load == "up" else f"echo {PIPED}"
        end = "od -An -t u8" if load == "up" else "wc -c"
        arrived, times = shell(lab, f"""
            TIMEFORMAT='%R %U %S'
            times=$(mktemp)
            {begin} | {{ time {program} 2> /dev/null; }} 2> "$times" | {end}
            cat "$times"; rm "$times"
            """, 90).splitlines()
        if int(arrived) != PIPED:
            raise RuntimeError(f"{arrived.strip()} bytes arrived instead of {PIPED}")
        wall, user, system = map(float, times.split())
        return ({"rate": 8e-9 * PIPED / wall, "cpu": (user + system) / (1e-9 * PIPED)},
                {"seconds": wall, "cpu": user + system})

    words = "from a pipe to the peer" if load == "up" else "from the peer to a pipe"
    return Row(f"pipe-{load}", f"1 GB {words} by TCP: mpconnect, and read and write in C",
               [Metric("rate", "throughput", "Gbit/s", at_least=True), Metric("cpu", "CPU per gigabyte", "s/GB")],
               run, ("ours", "c"), most_runs=4, seconds=3)


# Latency

def latency():
    def run(lab, contender, _):
        # On one CPU for both hosts: a wake-up of the other one takes three times as long as all else together, or
        # doesn't happen, as the scheduler likes. On one CPU steering's work can't hide on the other.
        pinned = ["taskset", "-c", str(min(os.sched_getaffinity(0)))]
        result = json.loads(between_hosts(lab, command(lab, contender, True, "rr", 20_000), prefix=pinned))
        return {"p50": result["p50"], "p99": result["p99"], "cpu": 1e6 * result["cpu"] / result["requests"]}, result

    against = "ours-unfollowed"
    return Row("request-response", "20,000 requests of 200 bytes by MPTCP, one at a time, both ends on one CPU",
               [Metric("p50", "p50", "µs", ratio=1 / 1.05, against=against), Metric("p99", "p99", "µs"),
                Metric("cpu", "CPU per request", "µs")],
               run, ("ours", against, "nio-mptcp", "c"), most_runs=7, seconds=1)


# Connecting

def connecting(at_once):
    def run(lab, contender, _):
        words = command(lab, contender, contender != "nio", "connect", CONNECTIONS, at_once)
        result = json.loads(between_hosts(lab, words))
        return {"rate": result["connections"] / result["seconds"],
                "cpu": 1e6 * result["cpu"] / result["connections"]}, result

    how = "one after the other" if at_once == 1 else f"{at_once} at a time"
    return Row(f"connections-{at_once}", f"{CONNECTIONS:,} connections, made and closed, {how}",
               [Metric("rate", "connections a second", "/s", ratio=0.8 if at_once > 1 else None, at_least=True, against="nio"),
                Metric("cpu", "CPU of each", "µs")],
               run, ("ours", "ours-unfollowed", "nio-mptcp", "nio", "c"), most_runs=10 if at_once > 1 else 3, seconds=2)


# Memory

def crowd():
    def run(lab, contender, _):
        # Where one process may not have as many descriptors, several have the connections together.
        limit = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
        parts = 1 if limit == resource.RLIM_INFINITY else math.ceil(1.05 * CROWD * DESCRIPTORS / limit)
        words = command(lab, contender, True, "crowd", math.ceil(CROWD / parts), 64)
        program = " ".join(f"'{word}'" for word in words)
        # All at once, and none ends before the last has looked at itself.
        output = shell(lab, f"for _ in $(seq {parts}); do {program} & done; wait", 120)
        results = [json.loads(line) for line in output.splitlines()]
        connections = sum(result["connections"] for result in results)
        if len(results) != parts or connections < CROWD:
            raise RuntimeError(f"{connections} connections instead of {CROWD}")

        def mean(key):
            return sum(result[key] * result["connections"] for result in results) / connections
        return {"memory": mean("memory"), "descriptors": mean("descriptors")}, {"parts": results}

    against = "ours-unfollowed"
    return Row("crowd-10000", "10,000 MPTCP connections that say nothing",
               [Metric("memory", "resident memory of each", "KiB", more=16, against=against),
                Metric("descriptors", "descriptors of each", "")],
               run, ("ours", against, "nio-mptcp"), most_runs=3, fewer={"nio-mptcp": 1}, seconds=10)


def data_rows():
    return [bulk(load, is_mptcp) for is_mptcp in (True, False) for load in ("up", "down")] + [
        piped("up"), piped("down"), latency(), connecting(1), connecting(64), crowd()]
