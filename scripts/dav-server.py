#!/usr/bin/env python3
"""A WebDAV server for tests, benchmarks and demonstrations: dav-server.py KIND FOLDER [--port N]

KIND is nginx, apache or rclone, which have to be installed, or python: a small one of this file's own, with strong entity
tags, conditions and ranges. It serves FOLDER on all addresses, to everyone, until it is ended. What the servers need besides
stands in FOLDER.work.
"""
import argparse
import email.utils
import os
import pathlib
import shutil
import socket
import urllib.parse
import xml.sax.saxutils
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

NGINX = """
load_module /usr/lib/nginx/modules/ngx_http_dav_ext_module.so; {user}
daemon off; worker_processes 2; pid {work}/pid; error_log {work}/error.log;
events {{ worker_connections 256; }}
http {{
  log_format method '$request_method'; access_log {work}/requests method; root {folder}; client_max_body_size 0;
  client_body_temp_path {work}/body; proxy_temp_path {work}/b; fastcgi_temp_path {work}/c; uwsgi_temp_path {work}/d;
  scgi_temp_path {work}/e; keepalive_requests 1000000;
  server {{
    listen [::]:{port} ipv6only=off; location / {{
    dav_methods PUT DELETE MKCOL COPY MOVE; dav_ext_methods PROPFIND OPTIONS; }} }} }}
"""
APACHE = """
ServerRoot {work}
PidFile {work}/pid
Listen {port}
ServerName server
{user}
LoadModule mpm_event_module {modules}/mod_mpm_event.so
LoadModule authz_core_module {modules}/mod_authz_core.so
LoadModule dav_module {modules}/mod_dav.so
LoadModule dav_fs_module {modules}/mod_dav_fs.so
ErrorLog {work}/error.log
LogFormat %m method
CustomLog {work}/requests method
MaxKeepAliveRequests 0
DocumentRoot {folder}
DavLockDB {work}/lock
<Directory {folder}>
Dav On
Require all granted
</Directory>
"""


class Server(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    wbufsize = 1 << 16
    disable_nagle_algorithm = True
    root = pathlib.Path()

    def log_message(self, *_):
        pass

    def place(self, url):
        """The file of a URL; None for what leads out of the folder."""
        parts = [part for part in urllib.parse.unquote(urllib.parse.urlsplit(url).path).split("/") if part]
        return None if ".." in parts or any("\0" in part for part in parts) else self.root.joinpath(*parts)

    @staticmethod
    def tag(status):
        return f'"{status.st_ino:x}-{status.st_mtime_ns:x}-{status.st_size:x}"'

    def answer(self, status, body=b"", **fields):
        self.send_response(status)
        for name, value in fields.items():
            self.send_header(name.replace("_", "-"), value)
        if status != 204:
            self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def is_refused(self, place):
        """RFC 4918, section 10.4: a URL and one entity tag."""
        condition = self.headers.get("If", "")
        if "([" not in condition:
            return False
        return not place.exists() or self.tag(place.stat()) != condition[condition.index("([") + 2:].rstrip("])")

    def do(self):
        place = self.place(self.path)
        if place is None:
            self.close_connection = True
            return self.answer(400)
        try:
            getattr(self, "do_" + self.command.lower())(place)
        except (FileNotFoundError, NotADirectoryError):
            self.answer(409 if self.command in ("PUT", "MKCOL", "MOVE") else 404)

    do_GET = do_PUT = do_DELETE = do_MKCOL = do_MOVE = do_PROPFIND = do_OPTIONS = do

    def do_options(self, _):
        self.answer(200, DAV="1", Allow="OPTIONS, GET, PUT, DELETE, MKCOL, MOVE, PROPFIND")

    def do_get(self, place):
        if place.is_dir():
            return self.answer(200, b"a folder\n")
        with place.open("rb") as file:
            status = os.fstat(file.fileno())
            first, words = 0, self.headers.get("Range", "")
            if words.startswith("bytes=") and self.headers.get("If-Range", self.tag(status)) == self.tag(status):
                first = int(words[6:].split("-")[0])
            self.send_response(206 if first else 200)
            if first:
                self.send_header("Content-Range", f"bytes {first}-{status.st_size - 1}/{status.st_size}")
            self.send_header("ETag", self.tag(status))
            self.send_header("Last-Modified", email.utils.formatdate(status.st_mtime, usegmt=True))
            self.send_header("Content-Length", str(status.st_size - first))
            self.end_headers()
            file.seek(first)
            shutil.copyfileobj(file, self.wfile, 1 << 18)

    def do_put(self, place):
        left = int(self.headers.get("Content-Length", 0))
        if "Content-Range" in self.headers or not place.parent.is_dir():
            self.close_connection = True
            return self.answer(501 if "Content-Range" in self.headers else 409)
        with place.open("wb") as file:
            while left > 0:
                part = self.rfile.read(min(left, 1 << 18))
                if not part:
                    return
                file.write(part)
                left -= len(part)
        self.answer(201)

    def do_mkcol(self, place):
        if place.exists():
            return self.answer(405)
        place.mkdir()
        self.answer(201)

    def do_move(self, place):
        target = self.place(self.headers.get("Destination", "/.."))
        if target is None or not place.exists():
            return self.answer(404 if target else 400)
        if self.is_refused(target) or target.exists() and self.headers.get("Overwrite", "T") == "F":
            return self.answer(412)
        if target.is_dir():
            shutil.rmtree(target)
        place.rename(target)
        self.answer(201)

    def do_delete(self, place):
        if self.is_refused(place):
            return self.answer(412)
        if place.is_dir():
            shutil.rmtree(place)
        else:
            place.unlink()
        self.answer(204)

    def do_propfind(self, place):
        self.rfile.read(int(self.headers.get("Content-Length", 0)))
        found = [place] + (sorted(place.iterdir()) if self.headers.get("Depth") == "1" and place.is_dir() else [])
        text = '<?xml version="1.0" encoding="utf-8"?><D:multistatus xmlns:D="DAV:">'
        for item in found:
            status = item.stat()
            path = "/" + "/".join(map(urllib.parse.quote, item.relative_to(self.root).parts))
            text += f"<D:response><D:href>{xml.sax.saxutils.escape(path)}</D:href><D:propstat><D:prop>"
            if item.is_dir():
                text += "<D:resourcetype><D:collection/></D:resourcetype>"
            else:
                text += (f"<D:resourcetype/><D:getcontentlength>{status.st_size}</D:getcontentlength>"
                         f"<D:getetag>{self.tag(status)}</D:getetag><D:getlastmodified>"
                         f"{email.utils.formatdate(status.st_mtime, usegmt=True)}</D:getlastmodified>")
            text += "</D:prop><D:status>HTTP/1.1 200 OK</D:status></D:propstat></D:response>"
        self.answer(207, (text + "</D:multistatus>").encode(), Content_Type="application/xml; charset=utf-8")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("kind", choices=["nginx", "apache", "rclone", "python"])
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--port", type=int, default=8080)
    parser.add_argument("--mptcp", action="store_true", help="run it under mptcpize")
    words = parser.parse_args()
    folder, work = words.folder.absolute(), pathlib.Path(f"{words.folder.absolute()}.work")
    for path in (folder, work):
        path.mkdir(parents=True, exist_ok=True)
    if words.kind == "python":
        class DualStack(ThreadingHTTPServer):
            address_family = socket.AF_INET6
            request_queue_size = 128

            def server_bind(self):
                self.socket.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 0)
                super().server_bind()
        Server.root = folder
        return DualStack(("::", words.port), Server).serve_forever()
    is_root = os.geteuid() == 0
    values = {"folder": folder, "work": work, "port": words.port, "modules": "/usr/lib/apache2/modules"}
    if words.kind == "nginx":
        (work / "conf").write_text(NGINX.format(user="user root;" if is_root else "", **values))
        command = ["nginx", "-c", f"{work}/conf", "-e", f"{work}/error.log"]
    elif words.kind == "apache":
        (work / "conf").write_text(APACHE.format(user="", **values))
        command = ["apache2", "-D", "FOREGROUND", "-f", f"{work}/conf"]
        # Apache does not work as root; in a user namespace there may be no other user.
        if is_root:
            command = ["unshare", "--user", "--map-user=33", "--map-group=33", *command]
    else:
        command = ["rclone", "serve", "webdav", str(folder), "--addr", f":{words.port}", "--config", "/dev/null",
                   "--dir-cache-time", "0", "--poll-interval", "0"]
    if words.mptcp:
        command = ["mptcpize", "run", *command]
    os.execvp(command[0], command)


if __name__ == "__main__":
    main()
