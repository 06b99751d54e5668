"""A stream of 60 s in variants of 0.4 to 4.8 Mbit/s (HLS), while the paths go bad: what a viewer sees.

Beside mpstream FFmpeg's HLS client, which is also mpv's and ffplay's, with the highest variant: it changes none."""
import json
import pathlib
import tempfile

from .. import streams
from ..lab import in_lab
from ..row import Metric, Row

SECONDS, DEADLINE = 60, 120


def playing(scenario, title, goal):
    known = {}

    def run(lab, contender, _):
        if "ladder" not in known:
            known["folder"] = tempfile.TemporaryDirectory(prefix="mpbench-ladder-")
            known["ladder"] = pathlib.Path(known["folder"].name)
            streams.make_ladder(known["ladder"], SECONDS)
        player = "mpstream" if contender == "ours" else contender
        command = lab.command("mpstream") if contender == "ours" else contender
        output = in_lab(lab.command("mplab"), ["--scenario", scenario, "--serve", streams.serving(known["ladder"])],
                        streams.playing(player, command, SECONDS, DEADLINE), DEADLINE + 60)
        result = json.loads(output.splitlines()[-1])
        startup = DEADLINE if result["startup"] is None else result["startup"]
        return {"stalled": result["stalled"], "startup": startup * 1000, "rate": streams.rate(player, result) / 1e6}, result

    return Row(f"stream-{scenario}", f"60 s of film, {title}", [
        Metric("stalled", "time without a picture", unit="s", median=goal), Metric("startup", "until the first picture"),
        Metric("rate", "mean rate", unit="Mbit/s", at_least=True)], run, ("ours", "ffmpeg"), fewer={"ffmpeg": 3},
        group="streams", usual=10, seconds=60)


def stream_rows():
    return [playing("wifi-walkout", "walking out of Wi-Fi's reach", 0),
            playing("elevator", "20 s without any path", 0),
            playing("train", "two paths that are bad in turn", None)]
