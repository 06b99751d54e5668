"""A download by HTTP from a server that speaks only TCP, while Wi-Fi goes away: how long nothing comes.

Beside Examples/resume-download a loop of curl, which goes on from the byte that it has: what a script would do."""
import json
import shlex
import sys

from ..environment import PROGRAMS
from ..row import Metric, Row
from .race import CELLULAR, WIFI

GROWTH = str(PROGRAMS / "growth.py")
BYTES = 8_000_000
URL = f"http://server/{BYTES}"
# Seconds; a contender that takes longer is stuck for good.
PATIENCE = 12
LINKS = WIFI + "rtt=20ms,rate=50mbit\n" + CELLULAR + "rtt=60ms,rate=20mbit\n"
CURL = f"""
    until [ "$(stat -c %s "$1")" -ge {BYTES} ]; do
        curl -sN --connect-timeout 1 --speed-time 1 --speed-limit 1 -C "$(stat -c %s "$1")" {URL} >> "$1"
    done"""


def download(lab, contender, action):
    path = f"{lab.folder}/download"
    words = ([lab.command("resume-download"), URL] if contender == "ours"
             else ["sh", "-c", CURL, "sh", path])
    change = f"sleep 0.7; {shlex.quote(lab.command('mplab'))} set wlan0 {action}" if action else ":"
    script = f"""({change}) > /dev/null & {shlex.join([sys.executable, GROWTH, str(PATIENCE), str(BYTES), path, *words])}
        wait"""
    return json.loads(lab.execute(LINKS, ["sh", "-c", script], PATIENCE + 20, "--tcp-only-server").splitlines()[-1])


def resuming(name, title, action):
    known = {}

    def run(lab, contender, _):
        if "digest" not in known:
            known["digest"] = download(lab, "curl", None)["digest"]
        result = download(lab, contender, action)
        # A contender that is stuck lacks some of it; a whole download is checked to the byte.
        if result["digest"] != known["digest"] and (contender == "ours" or result["bytes"] >= BYTES):
            raise RuntimeError(f"{result['bytes']} bytes, and not the right ones")
        return {"pause": result["pause"]}, result

    return Row(name, f"download by HTTP over TCP, {title}", [
        Metric("pause", "longest time without a byte", median=1000)], run, ("ours", "curl"), fewer={"curl": 1},
        group="connecting", seconds=3)


def resume_rows():
    return [resuming("resume-dead", "Wi-Fi silently dead", "blackhole"),
            resuming("resume-link", "Wi-Fi's link goes", "down")]
