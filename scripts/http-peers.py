#!/usr/bin/env python3
"""Proves MultipathHTTP against servers that are not ours: 10,000 requests over each, 64 at a time, every answer compared.

    scripts/http-peers.py [--count 10000] [--hummingbird FILE] [HTTPPROBE]

HTTPPROBE is the program of that name (`swift build --product httpprobe`), FILE that of mpbench-hummingbird
(`swift build --package-path Benchmarks --product mpbench-hummingbird`), without which that peer is left out. nginx and Apache are
left out where they are not installed. Exit 1 where an answer is missing or wrong."""
import argparse
import contextlib
import os
import pathlib
import shutil
import socket
import subprocess
import sys
import tempfile
import time

CERTIFICATES = """set -e; cd "$1"
openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2 -subj /CN=root -keyout root.key \
    -out root.pem -addext basicConstraints=critical,CA:TRUE
openssl req -new -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -subj /CN=server -keyout server.key -out server.csr
openssl x509 -req -in server.csr -CA root.pem -CAkey root.key -CAcreateserial -days 2 -out server.pem \
    -extfile <(printf 'subjectAltName=IP:127.0.0.1\\n')
"""
BYTES = 2000


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def nginx(folder, plain, secure):
    (folder / "nginx.conf").write_text(f"""
        daemon off; worker_processes 1; pid {folder}/nginx.pid; error_log {folder}/nginx.log;
        {'user root;' if os.geteuid() == 0 else ''}
        events {{ worker_connections 1024; }}
        http {{
            access_log off; root {folder}/web; keepalive_requests 1000;
            client_body_temp_path {folder}/a; proxy_temp_path {folder}/b; fastcgi_temp_path {folder}/c;
            uwsgi_temp_path {folder}/d; scgi_temp_path {folder}/e;
            server {{
                listen 127.0.0.1:{plain}; listen 127.0.0.1:{secure} ssl http2;
                ssl_certificate {folder}/server.pem; ssl_certificate_key {folder}/server.key;
            }}
        }}""")
    return ["nginx", "-c", f"{folder}/nginx.conf", "-e", f"{folder}/nginx.log"]


def apache(folder, plain, secure):
    modules = "/usr/lib/apache2/modules"
    loaded = "\n".join(f"LoadModule {name}_module {modules}/mod_{name}.so" for name in
                       ("mpm_event", "authz_core", "ssl", "http2", "dir"))
    user = "User www-data\nGroup www-data" if os.geteuid() == 0 else ""
    (folder / "apache.conf").write_text(f"""
        ServerRoot {folder}
        ServerName 127.0.0.1
        PidFile {folder}/apache.pid
        DefaultRuntimeDir {folder}
        {loaded}
        {user}
        Listen 127.0.0.1:{plain}
        Listen 127.0.0.1:{secure}
        ErrorLog {folder}/apache.log
        DocumentRoot {folder}/web
        <Directory {folder}/web>
            Require all granted
        </Directory>
        MaxKeepAliveRequests 1000
        Protocols h2 http/1.1
        <VirtualHost 127.0.0.1:{secure}>
            SSLEngine on
            SSLCertificateFile {folder}/server.pem
            SSLCertificateKeyFile {folder}/server.key
        </VirtualHost>""")
    return ["apache2", "-f", f"{folder}/apache.conf", "-DFOREGROUND"]


@contextlib.contextmanager
def running(command, *ports):
    process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
    try:
        for port in ports:
            for _ in range(500):
                with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port)):
                    break
                if process.poll() is not None:
                    raise SystemExit(f"{command[0]} ended: {process.stderr.read()}")
                time.sleep(0.02)
        yield
    finally:
        process.terminate()
        process.wait()


def flood(probe, folder, name, url, count, is_http1):
    words = [probe, "--ca", f"{folder}/root.pem", *(["--h1"] if is_http1 else []), "flood", url, str(count), "64"]
    result = subprocess.run(words, capture_output=True, text=True, timeout=300)
    line = result.stdout.strip()
    print(f"{name}: {line or result.stderr.strip()}", flush=True)
    expected = "http/1.1" if is_http1 else "h2"
    return f"{count * BYTES} bytes, failed 0, by [\"{expected}\"]" in line


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--count", type=int, default=10_000)
    parser.add_argument("--hummingbird")
    parser.add_argument("probe", nargs="?", default=".build/debug/httpprobe")
    arguments = parser.parse_args()
    is_whole = True
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        folder.chmod(0o755)
        (folder / "web").mkdir()
        (folder / "web" / "page").write_bytes(bytes(33 + i % 90 for i in range(BYTES)))
        subprocess.run(["bash", "-c", CERTIFICATES, "bash", name], check=True, capture_output=True)
        for peer, server in (("nginx", nginx), ("apache2", apache)):
            if shutil.which(peer) is None:
                print(f"{peer}: not installed")
                continue
            plain, secure = free_port(), free_port()
            with running(server(folder, plain, secure), plain, secure):
                for title, url, is_http1 in (("HTTP/1.1", f"http://127.0.0.1:{plain}", True),
                                             ("HTTP/1.1, TLS", f"https://127.0.0.1:{secure}", True),
                                             ("HTTP/2, TLS", f"https://127.0.0.1:{secure}", False)):
                    is_whole &= flood(arguments.probe, folder, f"{peer}, {title}", f"{url}/page", arguments.count, is_http1)
        if arguments.hummingbird:
            chain = [f"{folder}/server.pem", f"{folder}/server.key"]
            for title, more, scheme, is_http1 in (("HTTP/1.1", [], "http", True), ("HTTP/1.1, TLS", chain, "https", True),
                                                  ("HTTP/2, TLS", chain, "https", False)):
                port = free_port()
                with running([arguments.hummingbird, str(port), *more], port):
                    is_whole &= flood(arguments.probe, folder, f"Hummingbird, {title}",
                                      f"{scheme}://127.0.0.1:{port}/bytes/{BYTES}", arguments.count, is_http1)
    sys.exit(0 if is_whole else 1)


main()
