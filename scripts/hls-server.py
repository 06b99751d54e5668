#!/usr/bin/env python3
"""Serves HLS streams by HTTP/1.1 over MPTCP, where the kernel has it: hls-server.py [--port N] [--folder DIR]

/made/master.m3u8 is a stream of synthetic MPEG-TS packets, in five variants. Its query says which: duration=60 (seconds),
segment=2 (seconds), live=1 (begins when it is first asked for; a window of six segments slides). Segments hold null packets,
so that they are media by their form, and the same for each client: their SHA-256 can be compared.

/faulty/FAULT/index.m3u8 is a stream of six such segments, with a fault at the third: see FAULTS. /seen tells which requests came
so far, and whether they carried credentials. Everything else comes from the folder, with ranges of bytes.
"""
import argparse
import hashlib
import http.server
import json
import pathlib
import re
import socket
import socketserver
import subprocess
import time
import urllib.parse

IPPROTO_MPTCP = 262
# Bits per second.
RATES = (400_000, 800_000, 1_600_000, 3_200_000, 4_800_000)
WINDOW = 6
TYPES = {".m3u8": "application/vnd.apple.mpegurl", ".ts": "video/mp2t", ".mp4": "video/mp4", ".m4s": "video/iso.segment"}
FAULTS = {
    "none": "nothing is wrong",
    "cut": "each answer ends in the middle of what is left, four times",
    "cut-anew": "the first answer ends in the middle; the server knows no ranges",
    "cut-always": "each answer ends in the middle; the server knows no ranges",
    "cut-changed": "the first answer ends in the middle; then the server has another segment",
    "cut-elsewhere": "the first answer ends in the middle; then the server sends another part than was asked for, twice",
    "silent": "the first answer stops in the middle, and its connection stays",
    "busy": "the server answers 500, twice",
    "error": "the server always answers 500",
    "missing": "the server answers 404",
    "refused-range": "the first answer ends in the middle; then 416",
    "page": "a page of HTML in the segment's place",
    "empty": "no bytes",
    "endless": "bytes without end",
    "too-long": "a length of a terabyte",
    "redirect": "another address",
    "redirect-file": "the address of a file of the client's machine",
    "redirect-ring": "an address that leads to itself",
    "redirect-away": "another server (other=PORT), which must not be told the credentials",
    "away": "the segment is on another server (other=PORT)",
    "wrong-types": "everything is called a page of HTML, and is none",
    "ranges": "all segments are parts of one file",
    "ranges-ignored": "the same, by a server that knows no ranges",
    "ranges-beyond": "the same, and the last one ends behind the file's end",
    "key-missing": "there is no such key", "key-short": "a key of 15 bytes", "key-page": "a page of HTML for a key",
    "key-wrong": "another key", "key-busy": "the key comes at the second request",
    "map-missing": "there is no initialization section",
    "jump": "the segment is another film's, and no tag says so",
    "window": "a live window that has moved on when it is asked for again",
    "playlist-endless": "a playlist without end", "playlist-busy": "the playlist comes at the third request",
    "playlist-zip": "a playlist that is said to be compressed, and is not",
    "playlist-ring": "the playlist's address leads to itself",
}
# The fault's place, and how long each segment is, in bytes and seconds.
FAULTY, SEGMENTS, LENGTH, DURATION = 2, 6, 188 * 500, 1
KEY, VECTOR = b"a key's 16 bytes", bytes(15) + b"\1"
RANGE = re.compile(r"bytes=(\d+)-(\d*)")
begun = {}
counts = {}
seen = []


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


def encrypted(body):
    """AES-128 in CBC mode, which Python's own library has not got."""
    return subprocess.run(["openssl", "enc", "-aes-128-cbc", "-K", KEY.hex(), "-iv", VECTOR.hex()], input=body,
                          stdout=subprocess.PIPE, check=True).stdout


def faulty_playlist(fault, other):
    """The playlist of a stream with a fault."""
    lines = ["#EXTM3U", "#EXT-X-VERSION:7", f"#EXT-X-TARGETDURATION:{DURATION}"]
    first, end = 0, SEGMENTS
    if fault == "window":
        counts["window"] = counts.get("window", 0) + 1
        first, end = (0, SEGMENTS) if counts["window"] == 1 else (20, 20 + SEGMENTS)
    if fault == "map-missing":
        lines.append('#EXT-X-MAP:URI="init.mp4"')
    lines.append(f"#EXT-X-MEDIA-SEQUENCE:{first}")
    for number in range(first, end):
        name = f"{number}.ts"
        if fault.startswith("key-") and number == FAULTY:
            lines.append('#EXT-X-KEY:METHOD=AES-128,URI="key",IV=0x' + VECTOR.hex())
        if fault.startswith("key-") and number == FAULTY + 1:
            lines.append("#EXT-X-KEY:METHOD=NONE")
        if fault.startswith("ranges"):
            name = "all.ts"
            start = number * LENGTH + (LENGTH // 2 if fault == "ranges-beyond" and number == end - 1 else 0)
            lines.append(f"#EXT-X-BYTERANGE:{LENGTH}@{start}")
        if fault == "away" and number == FAULTY:
            name = f"http://127.0.0.1:{other}/faulty/none/{number}.ts"
        lines += [f"#EXTINF:{DURATION},", name]
    if fault != "window" or first > 0:
        lines.append("#EXT-X-ENDLIST")
    return "\n".join(lines) + "\n"


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    folder = pathlib.Path(".")

    def do_GET(self):
        parts = urllib.parse.urlsplit(self.path)
        path = urllib.parse.unquote(parts.path).lstrip("/")
        query = dict(urllib.parse.parse_qsl(parts.query))
        hasCredentials = "Authorization" in self.headers or "Cookie" in self.headers
        if path == "seen":
            return self.answer(200, json.dumps(seen).encode(), "application/json")
        seen.append({"path": path, "credentials": hasCredentials, "agent": self.headers.get("User-Agent"),
                     "range": self.headers.get("Range")})
        if match := re.fullmatch(r"faulty/([a-z-]+)/([^/]+)", path):
            return self.faulty(match[1], match[2], query)
        if path.startswith("made/"):
            found = made(path.removeprefix("made/"), query)
        else:
            file = (self.folder / path).resolve()
            inside = file.is_relative_to(self.folder.resolve()) and file.is_file()
            found = (file.suffix, file.read_bytes()) if inside else None
        if found is None:
            self.send_error(404)
            return
        self.serve(*found)

    def serve(self, kind, body):
        """A resource, or the part of it that was asked for."""
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

    def answer(self, status, body=b"", kind="text/html", length=None, **fields):
        """Any answer; one whose length is not its own ends the connection."""
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body) if length is None else length))
        for name, value in fields.items():
            self.send_header(name.replace("_", "-"), value)
        self.end_headers()
        self.wfile.write(body)
        if length not in (None, len(body)):
            self.close_connection = True

    def endless(self, kind, piece):
        """An answer that does not end before its reader goes."""
        self.send_response(200)
        self.send_header("Content-Type", kind)
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        self.close_connection = True
        piece *= max(65_536 // len(piece), 1)
        while True:
            self.wfile.write(f"{len(piece):x}\r\n".encode() + piece + b"\r\n")

    def faulty(self, fault, name, query):
        words, page = urllib.parse.urlencode(query), b"<html><body>no</body></html>"
        if fault not in FAULTS:
            return self.answer(404)
        key = f"{fault}/{name}"
        counts[key] = count = counts.get(key, 0) + 1
        if name == "index.m3u8":
            if fault == "playlist-endless":
                return self.endless("application/vnd.apple.mpegurl", b"#EXTM3U\n#EXTINF:1,\na.ts\n")
            if fault == "playlist-busy" and count < 3:
                return self.answer(503)
            if fault == "playlist-ring":
                return self.answer(302, Location="index.m3u8")
            playlist = faulty_playlist(fault, query.get("other", "0")).encode()
            if words:
                playlist = playlist.replace(b".ts\n", f".ts?{words}\n".encode())
            extra = {"Content_Encoding": "gzip"} if fault == "playlist-zip" else {}
            kind = "text/html" if fault == "wrong-types" else "application/vnd.apple.mpegurl"
            return self.answer(200, playlist, kind, **extra)
        if name == "key":
            if fault == "key-missing":
                return self.answer(404)
            if fault == "key-busy" and count < 2:
                return self.answer(503)
            keys = {"key-short": KEY[1:], "key-page": page, "key-wrong": KEY[::-1]}
            return self.answer(200, keys.get(fault, KEY), "application/octet-stream")
        if name == "all.ts":
            body = b"".join(packets("faulty", number, LENGTH) for number in range(SEGMENTS))
            return self.answer(200, body, "video/mp2t") if fault == "ranges-ignored" else self.serve(".ts", body)
        match = re.fullmatch(r"(\d+)\.ts", name)
        if not match:
            return self.answer(404)
        number = int(match[1])
        body = packets("faulty", number, LENGTH)
        if fault == "key-busy" and number == FAULTY:
            body = encrypted(body)
        if number != FAULTY:
            return self.answer(200, body) if fault == "wrong-types" else self.serve(".ts", body)
        self.fault(fault, count, body, page, query)

    def fault(self, fault, count, body, page, query):
        """The segment with the fault."""
        tag, half = '"1"', body[:len(body) // 2]
        once = fault in ("cut-anew", "cut-changed", "cut-elsewhere", "refused-range", "silent") and count == 1
        if once or fault == "cut-always":
            if fault != "silent":
                return self.answer(200, half, "video/mp2t", len(body), ETag=tag)
            self.send_response(200)
            self.send_header("Content-Length", str(len(body)))
            self.send_header("ETag", tag)
            self.end_headers()
            self.wfile.write(half)
            self.wfile.flush()
            time.sleep(20)
            self.close_connection = True
        elif fault == "cut" and count < 5:
            match = RANGE.fullmatch(self.headers.get("Range", ""))
            first = int(match[1]) if match else 0
            rest = body[first:]
            extra = {"Content_Range": f"bytes {first}-{len(body) - 1}/{len(body)}"} if match else {}
            self.answer(206 if match else 200, rest[:len(rest) // 2], "video/mp2t", len(rest),
                        ETag='"' + hashlib.md5(body).hexdigest() + '"', **extra)
        elif fault == "cut-anew":
            self.answer(200, body, "video/mp2t", ETag=tag)
        elif fault == "cut-changed":
            self.answer(200, packets("changed", FAULTY, LENGTH), "video/mp2t", ETag='"2"')
        elif fault == "cut-elsewhere" and count < 4:
            self.answer(206, body[1:], "video/mp2t", Content_Range=f"bytes 1-{len(body) - 1}/{len(body)}", ETag=tag)
        elif fault == "refused-range" and "Range" in self.headers:
            self.answer(416, Content_Range="bytes */5")
        elif fault == "busy" and count < 3 or fault == "error":
            self.answer(500)
        elif fault in ("missing", "page", "empty", "too-long", "endless"):
            match fault:
                case "missing":
                    self.answer(404)
                case "page":
                    self.answer(200, page, "video/mp2t")
                case "empty":
                    self.answer(200, b"", "video/mp2t")
                case "too-long":
                    self.answer(200, half, "video/mp2t", 1 << 40)
                case "endless":
                    self.endless("video/mp2t", body)
        elif fault.startswith("redirect"):
            self.answer(302, Location={
                "redirect": "../none/2.ts", "redirect-file": "file:///etc/passwd", "redirect-ring": "2.ts",
                "redirect-away": f"http://127.0.0.1:{query.get('other')}/faulty/none/2.ts"}[fault])
        elif fault == "wrong-types":
            self.answer(200, body)
        elif fault == "jump":
            self.serve(".ts", packets("changed", FAULTY, LENGTH))
        else:
            self.serve(".ts", body)

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
