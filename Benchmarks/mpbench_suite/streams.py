"""A ladder of HLS variants, and what plays it in a lab: for the rows of streams, and for stream_compare."""
import shlex
import subprocess
import sys

from .environment import PROGRAMS, PROJECT

SERVER = PROJECT / "scripts/hls-server.py"
# kbit/s.
RATES = (400, 800, 1600, 3200, 4800)
URL = "http://server:8080/master.m3u8"


def make_ladder(folder, seconds):
    """A test picture with noise, so that each variant takes its rate; segments of 2 s."""
    master = ["#EXTM3U"]
    for number, rate in enumerate(RATES):
        (folder / str(number)).mkdir()
        subprocess.run(
            ["ffmpeg", "-v", "error", "-f", "lavfi", "-i", f"testsrc2=s=320x180:r=25:d={seconds},noise=alls=60:allf=t", "-c:v",
             "libx264", "-preset", "ultrafast", "-g", "50", "-keyint_min", "50", "-sc_threshold", "0", "-b:v", f"{rate}k",
             "-minrate", f"{rate}k", "-maxrate", f"{rate}k", "-bufsize", f"{rate}k", "-f", "hls", "-hls_time", "2",
             "-hls_list_size", "0", "-hls_playlist_type", "vod", str(folder / str(number) / "index.m3u8")], check=True)
        master += [f"#EXT-X-STREAM-INF:BANDWIDTH={rate * 1100},RESOLUTION=320x18{number}", f"{number}/index.m3u8"]
    (folder / "master.m3u8").write_text("\n".join(master) + "\n")


def serving(ladder):
    """The shell command of the lab's server host."""
    return f"{shlex.join([sys.executable, str(SERVER), '--folder', str(ladder)])} > /dev/null"


def playing(player, command, seconds, deadline):
    """The words of the client host: they print a run's result. FFmpeg has the highest variant, as in ffplay and mpv."""
    words = [sys.executable, str(PROGRAMS / "playing.py"), player, command, URL, str(seconds), str(deadline), str(len(RATES) - 1)]
    return ["bash", "-c", f"until curl -s -m 2 -o /dev/null {URL}; do sleep 0.05; done; exec \"$@\"", "bash", *words]


def rate(player, result):
    """Bits of media for a second of media."""
    return result["rate"] if player == "mpstream" else RATES[-1] * 1000 if result["startup"] is not None else 0
