#!/usr/bin/env python3
"""Serves HLS streams by HTTP/1.1 over MPTCP, where the kernel has it: hls-server.py [--port N] [--folder DIR]

/made/master.m3u8 is a stream of synthetic MPEG-TS packets, in five variants. Its query says which: duration=60 (seconds),
segment=2 (seconds), live=1 (begins when it is first asked for; a window of six segments slides). Segments hold null packets,
so that they are media by their form, and the same for each client: their SHA-256 can be compared. Everything else comes from
the folder, with ranges of bytes.
"""
import argparse
import hashlib
import http.server
import pathlib
import re
import socket
import socketserver
import time
import urllib.parse

IPPROTO_MPTCP = 262
# Bits per second.
RATES = (400_000, 800_000, 1_600_000, 3_200_000, 4_800_000)
WINDOW = 6
TYPES = {".m3u8": "application/vnd.apple.mpegurl", ".ts": "video/mp2t", ".mp4": "video/mp4", ".m4s": "video/iso.segment"}
RANGE = re.compile(r"bytes=(\d+)-(\d*)")
begun = {}


def packets(variant, number, size):
    """Null packets (ISO/IEC 13818-1), whose bytes say where they belong."""
    body = hashlib.sha256(f"{variant}/{number}".encode()).digest() * 6
    packet = b"\x47\x1f\xff\x10" + body[:184]
    return packet * max(size // 188, 1)


def made(path, query):
    """The type and the bytes of something synthetic; None where there is no such thing."""
    duration, length = float(query.get("duration", "60")), float(query.get("segment", "2"))
    words = urllib.parse.urlencode(query)
    if path == "master.m3u8":
        lines = ["#EXTM3U"]
        for variant, rate in enumerate(RATES):
            lines += [f"#EXT-X-STREAM-INF:BANDWIDTH={rate},RESOLUTION={320 + 160 * variant}x{180 + 90 * variant}",
                      f"{variant}.m3u8?{words}"]
        return ".m3u8", "\n".join(lines).encode()
    if match := re.fullmatch(r"(\d)\.m3u8", path):
        variant = int(match[1])
        count, first = int(duration / length), 0
        lines = ["#EXTM3U", "#EXT-X-VERSION:3", f"#EXT-X-TARGETDURATION:{int(-(-length // 1))}"]
        if query.get("live"):
            # A window is there from the start on.
            age = time.monotonic() - begun.setdefault(words, time.monotonic())
            end = min(int(age / length) + WINDOW, count)
            first = max(end - WINDOW, 0)
        else:
            end = count
            lines.append("#EXT-X-PLAYLIST-TYPE:VOD")
        lines.append(f"#EXT-X-MEDIA-SEQUENCE:{first}")
        for number in range(first, end):
            lines += [f"#EXTINF:{length:.3f},", f"{variant}-{number}.ts?{words}"]
        if end == count:
            lines.append("#EXT-X-ENDLIST")
        return ".m3u8", ("\n".join(lines) + "\n").encode()
    if match := re.fullmatch(r"(\d)-(\d+)\.ts", path):
        variant = int(match[1])
        return ".ts", packets(variant, int(match[2]), int(RATES[variant] * length / 8))
    return None


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    folder = pathlib.Path(".")

    def do_GET(self):
        parts = urllib.parse.urlsplit(self.path)
        path = urllib.parse.unquote(parts.path).lstrip("/")
        query = dict(urllib.parse.parse_qsl(parts.query))
        if path.startswith("made/"):
            found = made(path.removeprefix("made/"), query)
        else:
            file = (self.folder / path).resolve()
            inside = file.is_relative_to(self.folder.resolve()) and file.is_file()
            found = (file.suffix, file.read_bytes()) if inside else None
        if found is None:
            self.send_error(404)
            return
        kind, body = found
        tag = '"' + hashlib.md5(body).hexdigest() + '"'
        status, first, last = 200, 0, len(body) - 1
        match = RANGE.fullmatch(self.headers.get("Range", ""))
        if match and self.headers.get("If-Range", tag) == tag:
            first, last = int(match[1]), min(int(match[2] or last), last)
            if first > last:
                self.send_response(416)
                self.send_header("Content-Range", f"bytes */{len(body)}")
                self.send_header("Content-Length", "0")
                self.end_headers()
                return
            status = 206
        self.send_response(status)
        self.send_header("Content-Type", TYPES.get(kind, "application/octet-stream"))
        self.send_header("Content-Length", str(last - first + 1))
        self.send_header("ETag", tag)
        self.send_header("Accept-Ranges", "bytes")
        if status == 206:
            self.send_header("Content-Range", f"bytes {first}-{last}/{len(body)}")
        self.end_headers()
        self.wfile.write(body[first:last + 1])

    def log_message(self, *_):
        pass


class Server(socketserver.ThreadingMixIn, http.server.HTTPServer):
    daemon_threads = True
    address_family = socket.AF_INET6
    request_queue_size = 64

    def __init__(self, port, handler):
        super().__init__(("::", port), handler, bind_and_activate=False)
        try:
            self.socket = socket.socket(socket.AF_INET6, socket.SOCK_STREAM, IPPROTO_MPTCP)
        except OSError:
            pass
        self.socket.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 0)
        self.server_bind()
        self.server_activate()

    def handle_error(self, *_):
        # A client that has gone is its own affair.
        pass


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--port", type=int, default=8080)
    parser.add_argument("--folder", type=pathlib.Path, default=pathlib.Path("."))
    words = parser.parse_args()
    Handler.folder = words.folder
    server = Server(words.port, Handler)
    print(f"serving on port {server.server_address[1]}", flush=True)
    server.serve_forever()


if __name__ == "__main__":
    main()
