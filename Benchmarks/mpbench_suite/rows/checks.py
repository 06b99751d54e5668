"""Whether the harness itself measures right: beside the figure that a contender's own tool prints, one found in
another way. `ours` is the harness's."""
import datetime
import json
import random
import re
import statistics
import sys

from ..lab import COUNTER
from ..row import Metric, Row
from .paths import world
from .race import CELLULAR, WIFI

LINKS = WIFI + "rtt=20ms,rate=50mbit,queue=50ms\n" + CELLULAR + "rtt=40ms,rate=50mbit,queue=50ms\n"


def iperf3():
    """The bytes of payload that arrive at the interface, behind all queues that drop some, and the rate iperf3
    prints."""
    known = {}

    def run(lab, contender, number):
        if number not in known:
            port = str(random.randint(5300, 9000))
            lines = lab.execute(LINKS, [
                sys.executable, COUNTER, "wlan0", "sh", "-c",
                "for _ in $(seq 50); do mptcpize run iperf3 -c 203.0.113.10 -p \"$1\" -t 3 -R -J > \"$2\" && break;"
                " sleep 0.1; done; tr -d '\\n' < \"$2\"; echo", "sh", port, f"{lab.folder}/iperf3"], 60,
                "--serve", f"mptcpize run iperf3 -s -p {port}").splitlines()
            counted, printed = json.loads(lines[-1]), json.loads(lines[-2])["end"]["sum_received"]
            known[number] = {"ours": 8e-6 * counted["received"] / counted["seconds"],
                             "iperf3": printed["bits_per_second"] / 1e6}
        return {"rate": known[number][contender]}, {}
    return Row("check-iperf3", "payload that arrives at the interface, and what iperf3 prints", [
        Metric("rate", "rate", "Mbit/s", at_least=True, near=1, against="iperf3")], run, ("ours", "iperf3"),
        most_runs=3, seconds=2)


STAMP = re.compile(r"\[(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d+)\]")


def ip_monitor():
    """When its lines are read, as the path monitor's rows have it, and its own time stamps."""
    known = {}

    def run(lab, contender, number):
        if number not in known:
            result = json.loads(world(lab, "latency", 500, "ip", "-ts", "-4", "monitor", "route")[0])
            stamps = [datetime.datetime.fromisoformat(stamp).timestamp() for stamp in STAMP.findall(result["lines"])]
            if len(stamps) != len(result["sent"]):
                raise RuntimeError(f"{len(stamps)} time stamps of {len(result['sent'])} changes")
            own = [1e3 * stamp - sent / 1e6 for stamp, sent in zip(stamps, result["sent"])]
            known[number] = {"ours": statistics.median(result["peer"]) / 1e6, "ip-monitor": statistics.median(own)}
        return {"time": known[number][contender]}, {}
    return Row("check-ip-monitor", "ip monitor's lines when they are read, and the time stamps it prints", [
        Metric("time", "after the change", near=0.1, against="ip-monitor")], run, ("ours", "ip-monitor"),
        most_runs=3, seconds=2)


def curl():
    """From SYN to SYN-ACK on the interface, and curl's time_connect."""
    known = {}

    def run(lab, contender, number):
        if number not in known:
            lines = lab.execute(LINKS, [
                sys.executable, COUNTER, "wlan0", "sh", "-c",
                "for _ in 1 2 3 4 5; do curl -s -o /dev/null -w '%{time_connect}\\n' http://203.0.113.10/1; done"],
                30).splitlines()
            known[number] = {"ours": json.loads(lines[-1])["handshakes"],
                             "curl": [1e3 * float(line) for line in lines[-6:-1]]}
        return {"time": known[number][contender]}, {}
    return Row("check-curl", "SYN to SYN-ACK on the interface, and curl's time_connect", [
        Metric("time", "until connected", near=1, against="curl")], run, ("ours", "curl"), most_runs=3, seconds=1)


def check_rows():
    return [iperf3(), ip_monitor(), curl()]
