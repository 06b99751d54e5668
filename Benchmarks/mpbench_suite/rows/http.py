"""Clients of HTTP: requests while Wi-Fi dies, and what they cost while all is well. The server is nginx with TLS."""
import contextlib
import json
import os
import random
import shlex
import shutil
import socket
import subprocess
import time

from ..row import Metric, Row
from .race import CELLULAR, WIFI

LINKS = WIFI + "rtt=20ms,rate=100mbit\n" + CELLULAR + "rtt=40ms,rate=100mbit\n"
CLIENTS = ("ours", "ahc", "ahc-mptcp")
SECONDS, RATE, FAULT = 4, 20, 1.5
# A long answer's length, and how much of it a slow reader gets.
LONG, SLOW = 1 << 30, 256 << 20
# Requests one after the other, and the pause between two.
SERIES, PAUSE = 18, 50
# What a lab's host may be given where the machine's own setting is another; cubic mostly is that.
SENDERS = ("bbr", "reno")

CERTIFICATES = """set -e; cd "$1"
openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2 -subj /CN=root -keyout root.key \
    -out root.pem -addext basicConstraints=critical,CA:TRUE
openssl req -new -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -subj /CN=server -keyout server.key -out server.csr
openssl x509 -req -in server.csr -CA root.pem -CAkey root.key -CAcreateserial -days 2 -out server.pem \
    -extfile <(printf 'subjectAltName=DNS:server,DNS:localhost,IP:127.0.0.1\\n')
"""


def nginx(lab, listen):
    """Writes nginx's configuration, once for a run. Returns its command."""
    root = lab.folder / "nginx"
    if not (root / "server.pem").exists():
        root.mkdir(exist_ok=True)
        subprocess.run(["bash", "-c", CERTIFICATES, "bash", str(root)], check=True, capture_output=True)
        (root / "2000").write_bytes(b"x" * 2000)
        with open(root / "long", "wb") as file:
            file.truncate(LONG)
        with open(root / "slow", "wb") as file:
            file.truncate(SLOW)
        with open(root / "megabyte", "wb") as file:
            file.truncate(1_000_000)
        # Of what was written just now nginx's tag names no version.
        hour = time.time() - 3600
        os.utime(root / "megabyte", (hour, hour))
    listens = " ".join(f"listen {place} ssl http2;" for place in listen)
    (root / "conf").write_text(f"""
        user root; daemon off; master_process off; pid {root}/pid; error_log {root}/error.log;
        events {{ worker_connections 1024; }}
        http {{
            access_log off; root {root}; keepalive_requests 10000000; sendfile on; default_type text/plain;
            client_body_temp_path {root}/a; proxy_temp_path {root}/b; fastcgi_temp_path {root}/c;
            uwsgi_temp_path {root}/d; scgi_temp_path {root}/e;
            server {{ {listens} ssl_certificate {root}/server.pem; ssl_certificate_key {root}/server.key; }}
        }}""")
    return ["nginx", "-c", f"{root}/conf", "-e", f"{root}/error.log"]


def words(lab, contender, is_http1):
    return [lab.command("mpbench-http"), "--ca", f"{lab.folder}/nginx/root.pem", *(["--h1"] if is_http1 else []), contender]


def curl(lab, is_http1):
    """One process that asks RATE times a second, each request when the one before has its answer."""
    return ["stdbuf", "-oL", "curl", "--silent", "--http1.1" if is_http1 else "--http2", "--cacert", f"{lab.folder}/nginx/root.pem",
            "--output", "/dev/null", "--write-out", "%{time_total}\\n", "--rate", f"{RATE}/s",
            f"https://server/2000?[1-{SECONDS * RATE}]"]


def dead(is_http1, is_mptcp):
    def run(lab, contender, _):
        serve = nginx(lab, ["443", "[::]:443"])
        serve = shlex.join((["mptcpize", "run"] if is_mptcp else []) + serve)
        if contender == "curl":
            # What has no answer yet is ended with the run.
            client = shlex.join(["timeout", str(SECONDS + 0.5)] + curl(lab, is_http1)) + " || true"
        else:
            client = shlex.join(words(lab, contender, is_http1) + ["requests", "https://server/2000", str(SECONDS), str(RATE)])
        fault = FAULT + random.random() * 0.02
        mplab = shlex.quote(lab.command("mplab"))
        script = f"(sleep {fault}; {mplab} set wlan0 blackhole) > /dev/null & {client}; wait"
        output = lab.execute(LINKS, ["sh", "-c", script], SECONDS + 20, "--serve", "exec " + serve)
        if contender == "curl":
            took = [float(line) * 1000 for line in output.split()]
            whole = len(took) == SECONDS * RATE
            return {"wait": max(took) if whole else max(took + [(SECONDS + 0.5 - fault) * 1000]),
                    "failed": SECONDS * RATE - len(took)}, {"took": took}
        result = json.loads(output.splitlines()[-1])
        samples = result["samples"]
        return {"wait": max(sample["took"] for sample in samples),
                "failed": sum("failure" in sample for sample in samples)}, result

    name = f"http-dead-{'h1' if is_http1 else 'h2'}-{'mptcp' if is_mptcp else 'tcp'}"
    peer = "with MPTCP" if is_mptcp else "without MPTCP"
    return Row(name, f"{RATE} requests a second by {'HTTP/1.1' if is_http1 else 'HTTP/2'}, Wi-Fi silently dead, server {peer}", [
        Metric("wait", "longest wait", median=150 if is_mptcp else 500),
        Metric("failed", "requests without an answer", unit="", worst=0)],
        run, CLIENTS + ("curl",), fewer={"ahc": 3, "ahc-mptcp": 3, "curl": 3}, seconds=SECONDS + 2)


def moved(is_http1, sender):
    """The first answer is under way when Wi-Fi dies, or the first that is asked for after that."""
    def run(lab, contender, _):
        serve = shlex.join(["mptcpize", "run"] + nginx(lab, ["443", "[::]:443"]))
        is_alone = contender == "alone"
        client = shlex.join(words(lab, "ours" if is_alone else contender, is_http1)
                            + ["series", "https://server/megabyte", str(SERIES), str(PAUSE)])
        mplab = shlex.quote(lab.command("mplab"))
        if is_alone:
            script = f"{mplab} set wlan0 carrier off > /dev/null; sleep 0.3; {client}"
        else:
            script = f"(sleep {FAULT + random.random() * 0.2}; {mplab} set wlan0 blackhole) > /dev/null & {client}; wait"
        output = lab.execute(LINKS.replace("100mbit", "100mbit,queue=40ms"), ["sh", "-c", script], 60,
                             "--congestion", f"server={sender}", "--serve", "exec " + serve)
        result = json.loads(output.splitlines()[-1])
        if any("failure" in sample for sample in result["samples"]):
            raise RuntimeError(f"{result}")
        took = [sample["took"] for sample in result["samples"] if sample["path"] == "wwan0"]
        if len(took) < 4:
            raise RuntimeError(f"too few over cellular: {result}")
        return {**dict(zip(("first", "second", "third", "fourth"), took)), "together": sum(took[1:4])}, result

    name = "h1" if is_http1 else "h2"
    # A first one that is under way has had some of it by Wi-Fi: it is beside the others for what it costs.
    return Row(f"http-moved-{name}@{sender}", f"1 MB by each request in a row, {name}, Wi-Fi silently dead, server with MPTCP, {sender}", [
        Metric("first", "first over cellular"),
        *(Metric(which, which, ratio=1 / 1.1, against="alone") for which in ("second", "third", "fourth")),
        # Which of them pays for the last step of slow start depends on how much the first has left.
        Metric("together", "second to fourth together", ratio=1 / 1.1, against="alone")],
        run, ("ours", "alone"), seconds=5)


@contextlib.contextmanager
def serving(lab):
    """nginx on a port of loopback."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    process = subprocess.Popen(nginx(lab, [f"127.0.0.1:{port}"]), stderr=subprocess.DEVNULL)
    try:
        for _ in range(200):
            with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port)):
                break
            time.sleep(0.02)
        yield f"https://localhost:{port}"
    finally:
        process.terminate()
        process.wait()


def measured(lab, contender, is_http1, load, path, *more):
    with serving(lab) as server:
        output = subprocess.run(words(lab, contender, is_http1) + [load, server + path, *more], check=True,
                                capture_output=True, text=True, timeout=120).stdout
    result = json.loads(output.splitlines()[-1])
    if result["failed"] or result["http2"] == is_http1:
        raise RuntimeError(f"{result}")
    return result


def flood(is_http1):
    count = 20_000

    def run(lab, contender, _):
        result = measured(lab, contender, is_http1, "flood", "/2000", str(count), "64")
        return {"rate": count / result["seconds"], "processor": result["processor"] / count * 1e6}, result

    name = "h1" if is_http1 else "h2"
    return Row(f"http-requests-{name}", f"2 kB requests over loopback, 64 at a time, {name} with TLS", [
        Metric("rate", "requests a second", unit="1/s", ratio=0.9, at_least=True, against="ahc"),
        Metric("processor", "processor time a request", unit="µs", ratio=1 / 1.15, against="ahc")],
        run, ("ours", "ahc"), seconds=8)


def body(is_http1):
    def run(lab, contender, _):
        result = measured(lab, contender, is_http1, "body", "/long")
        if result["bytes"] != LONG:
            raise RuntimeError(f"{result['bytes']} bytes")
        return {"rate": LONG / result["seconds"] / 1e6, "memory": result["memory"] / 1024}, result

    name = "h1" if is_http1 else "h2"
    return Row(f"http-body-{name}", f"an answer of 1 GiB over loopback, {name} with TLS", [
        Metric("rate", "bytes a second", unit="MB/s", ratio=0.95, at_least=True, against="ahc"),
        Metric("memory", "memory", unit="MiB")], run, ("ours", "ahc", "ahc-mptcp"), seconds=6)


def slow(is_http1):
    def run(lab, contender, _):
        result = measured(lab, contender, is_http1, "slow", "/slow")
        return {"memory": result["memory"] / 1024}, result

    name = "h1" if is_http1 else "h2"
    return Row(f"http-slow-{name}", f"an answer of 256 MiB to a slow reader, {name} with TLS", [
        Metric("memory", "memory", unit="MiB", worst=64)], run, ("ours", "ahc"), most_runs=3, seconds=20)


def http_rows():
    if shutil.which("nginx") is None:
        return []
    rows = [dead(is_http1, is_mptcp) for is_http1 in (True, False) for is_mptcp in (True, False)]
    rows += [moved(is_http1, sender) for is_http1 in (True, False) for sender in SENDERS]
    for is_http1 in (True, False):
        rows += [flood(is_http1), body(is_http1), slow(is_http1)]
    return rows
