"""Requests of a megabyte, one after the other, while Wi-Fi dies after the tenth; and a download behind a half-close."""
import json
import pathlib
import shlex
import statistics
import sys

from ..environment import PROGRAMS
from ..lab import SENDERS, Network
from ..row import Metric, Row
from .modes import named

COUNT, BEFORE = 20, 10
# Seconds for all of them, where each takes ten times what it should.
PATIENCE = 30
LINKS = {"wifi": "rtt=20ms,rate=100mbit", "cellular": "rtt=40ms,rate=100mbit"}


def milliseconds(result):
    return [1e3 * (took if took >= 0 else result["end"] - sent) for sent, took in result["requests"]]


def after_move(load, sender):
    """What each request after the move takes, beside the same on a connection that began on cellular."""
    network, known = Network(**LINKS, sender=sender), {}
    words = ("--count", str(COUNT))

    def reference(lab):
        """Of the requests of the same number."""
        result = lab.run(network, "handover", f"segments-{load}", PATIENCE, extra=(*words, "--require", "wwan0"),
                         listener="ours")
        return statistics.median(milliseconds(result)[BEFORE + 1:])

    def run(lab, contender, number):
        if number not in known:
            known[number] = reference(lab)
        result = lab.run(network, named(contender), f"segments-{load}", PATIENCE,
                         extra=(*words, "--after", str(BEFORE), "wlan0", "blackhole"),
                         listener="ours" if contender == "ours" else "kernel")
        if not result["faults"]:
            raise RuntimeError("Wi-Fi did not die")
        times = milliseconds(result)
        # The first of them waits for the move as well.
        after = times[BEFORE + 1:]
        return {"ratio": [took / known[number] for took in after], "time": after, "before": times[:BEFORE],
                "first": times[BEFORE], "reference": known[number]}, result

    what = "from" if load == "down" else "to"
    return Row(f"after-move-{load}@{sender}", f"requests of 1 MB {what} our listener, Wi-Fi dies after the tenth, {sender}", [
        Metric("ratio", "of a connection's that began there", "x", median=1.1, worst=1.1),
        Metric("time", "each after the move"), Metric("reference", "each where it began there"),
        Metric("before", "each before the move"), Metric("first", "the one that Wi-Fi died under")],
        run, fewer={"kernel": 3}, seconds=9)


GROWTH = str(PROGRAMS / "growth.py")
FETCH = str(PROGRAMS / "fetch.py")
BYTES = 30_000_000
# Seconds; the whole takes some 9 where nothing stops it.
FETCH_PATIENCE = 16


def half_close(sender):
    """The command's whole input is one request: its own end is closed before the first byte of the answer."""
    known = {}

    def download(lab, contender, action):
        path = pathlib.Path(lab.folder) / "download"
        words = ([lab.command("mpconnect"), "--no-progress", "server:80"] if contender == "ours"
                 else [sys.executable, FETCH, "server", "80"])
        script = f"printf 'GET /{BYTES} HTTP/1.0\\r\\n\\r\\n' | {shlex.join(words)}"
        growth = shlex.join([sys.executable, GROWTH, str(FETCH_PATIENCE), str(BYTES), str(path), "sh", "-c", script])
        fault = f"sleep 3; {shlex.quote(lab.command('mplab'))} set wlan0 blackhole" if action else ":"
        endpoint = ("ip mptcp limits set subflows 8 add_addr_accepted 8; "
                    "ip mptcp endpoint add 192.0.2.18 dev wwan0 subflow backup" if contender == "kernel" else ":")
        # The scenario wifi-blackhole.
        links = ("link wlan0 wifi rtt=20ms,rate=50mbit\nlink wwan0 cellular rtt=60ms,rate=20mbit\n"
                 f"families ipv4\ncongestion server={sender}\n")
        output = lab.execute(links, ["sh", "-c", f"{endpoint}; ({fault}) > /dev/null & {growth}; wait"],
                             FETCH_PATIENCE + 20)
        return json.loads(output.splitlines()[-1])

    def run(lab, contender, _):
        if "digest" not in known:
            known["digest"] = download(lab, "ours", False)["digest"]
        result = download(lab, contender, True)
        return {"whole": int(result["digest"] == known["digest"]), "pause": result["pause"]}, result

    return Row(f"half-close@{sender}", f"printf 'GET …' | mpconnect while Wi-Fi dies in silence, {sender}", [
        Metric("whole", "whole", "", worst=1, at_least=True), Metric("pause", "longest pause", median=150)],
        run, fewer={"kernel": 1}, seconds=14)


def segment_rows():
    return ([after_move(load, sender) for sender in SENDERS for load in ("down", "up")]
            + [half_close(sender) for sender in SENDERS])
