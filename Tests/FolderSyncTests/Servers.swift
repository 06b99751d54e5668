#if HTTP && Outbox
    import Foundation
    import TestSupport

    /// A WebDAV server on a port of loopback, with a folder of its own.
    final class TestServer: Sendable {
        enum Kind: String, CaseIterable, Sendable {
            case nginx
            case apache
            case rclone
            /// In memory, with a fault for each first part of the path.
            case faulty
        }

        let folder: TemporaryFolder
        let url: String
        private let process: Running

        /// What it serves.
        var root: String { folder.file("root") }

        init(_ kind: Kind) async throws {
            folder = try TemporaryFolder()
            for name in ["root", "a"] { try folder.makeFolder(name) }
            let (path, port) = (folder.path, try Self.freePort())
            url = "http://127.0.0.1:\(port)/"
            let isRoot = geteuid() == 0
            switch kind {
            case .nginx:
                try folder.write(
                    """
                    load_module /usr/lib/nginx/modules/ngx_http_dav_ext_module.so; \(isRoot ? "user root;" : "")
                    daemon off; master_process off; pid \(path)/pid; error_log \(path)/error.log;
                    events { worker_connections 64; }
                    http { access_log off; root \(path)/root; client_max_body_size 0; client_body_temp_path \(path)/a;
                    proxy_temp_path \(path)/b; fastcgi_temp_path \(path)/c; uwsgi_temp_path \(path)/d;
                    scgi_temp_path \(path)/e;
                    server { listen 127.0.0.1:\(port); location / {
                    dav_methods PUT DELETE MKCOL COPY MOVE; dav_ext_methods PROPFIND OPTIONS; } } }
                    """, to: "conf")
                process = try Running(["nginx", "-c", "\(path)/conf", "-e", "\(path)/error.log"])
            case .apache:
                let modules = "/usr/lib/apache2/modules"
                try folder.write(
                    """
                    ServerRoot \(path)
                    PidFile \(path)/pid
                    Listen 127.0.0.1:\(port)
                    ServerName 127.0.0.1
                    \(isRoot ? "User www-data\nGroup www-data" : "")
                    LoadModule mpm_event_module \(modules)/mod_mpm_event.so
                    LoadModule authz_core_module \(modules)/mod_authz_core.so
                    LoadModule dav_module \(modules)/mod_dav.so
                    LoadModule dav_fs_module \(modules)/mod_dav_fs.so
                    ErrorLog \(path)/error.log
                    DocumentRoot \(path)/root
                    DavLockDB \(path)/a/lock
                    <Directory \(path)/root>
                    Dav On
                    Require all granted
                    </Directory>
                    """, to: "conf")
                for name in ["", "root", "a"] { chmod(folder.file(name), 0o777) }
                process = try Running(["apache2", "-X", "-f", "\(path)/conf"])
            case .rclone:
                process = try Running([
                    "rclone", "serve", "webdav", "\(path)/root", "--addr", "127.0.0.1:\(port)",
                    "--dir-cache-time", "0", "--poll-interval", "0",
                ])
            case .faulty: process = try Running(["python3", "-c", Self.faultyServer, "\(port)"])
            }
            let url = url
            do {
                try await Program.wait("\(kind)") {
                    try await Program.run(["curl", "-s", "-o", "/dev/null", url]).status == 0
                }
            } catch {
                throw Program.TimedOut(description: "\(error): \(process.errorText)")
            }
        }

        deinit { process.kill() }

        /// What it has printed.
        var output: String { process.outputText }

        private static func freePort() throws -> UInt16 {
            let port = try LoopbackPort(SOCK_STREAM)
            return port.number
        }

        /// Runs the program to its end.
        func sync(
            _ folder: String, _ options: [String] = [], _ path: String = ""
        ) async throws -> Program.Result {
            try await Program.run(
                [Program.product("mpsync"), "--retry-pause", "10ms"] + options + [folder, url + path],
                within: .seconds(60))
        }

        private static let faultyServer = #"""
            import sys, time, unicodedata, urllib.parse
            from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
            files, count, late, hung = {}, 0, set(), set()
            def fold(name): return unicodedata.normalize("NFC", name).lower() if name.startswith("/fold") else name
            class Server(BaseHTTPRequestHandler):
                protocol_version = "HTTP/1.1"
                def log_message(self, *_): pass
                def answer(self, status, body=b"", **fields):
                    self.send_response(status)
                    for name, value in fields.items(): self.send_header(name, value)
                    self.send_header("Content-Length", str(len(body))); self.end_headers()
                    if self.command != "HEAD": self.wfile.write(body)
                def do(self):
                    global count
                    body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
                    path = urllib.parse.unquote(self.path).rstrip("/"); mode = (path.split("/") + [""])[1]; key = fold(path)
                    target = fold(urllib.parse.unquote("/" + self.headers.get("Destination", "///").split("/", 3)[3]).rstrip("/"))
                    own = ".mpsync" in path + target and "probe" not in path
                    if self.command == "GET" and mode != "": 
                        if key not in files: return self.answer(404)
                        data = files[key][0]
                        return self.answer(200, data[:-1] if mode == "short" else data, ETag=files[key][1])
                    if self.command == "GET": return self.answer(200, b"here")
                    if self.command == "PUT":
                        if mode == "full" and own: return self.answer(507)
                        if mode == "broken" and own: return self.answer(500)
                        if mode == "slow" and own: time.sleep(2)
                        if "Content-Range" in self.headers: return self.answer(501)
                        if mode == "late" and own and not late:
                            # The connection breaks, and what has arrived is written in the end: over what came later.
                            late.add(key); self.close_connection = True
                            return self.connection.shutdown(2)
                        count += 1
                        tag = '"tag-number-%d"' % count
                        files[key] = (body[:-1] if mode == "cut" and own else body, "W/" + tag if mode == "weak" else tag)
                        return self.answer(201)
                    if self.command == "MKCOL":
                        if key in files: return self.answer(405)
                        files[key] = None; return self.answer(201)
                    if self.command == "MOVE":
                        if mode == "locked" and own: return self.answer(423)
                        if mode == "refuses" and own: return self.answer(412)
                        if key not in files: return self.answer(404)
                        if target in files and self.headers.get("Overwrite") == "F": return self.answer(412)
                        if key in late: files[key] = (files[key][0][:-1], files[key][1])
                        if mode == "foldrace" and own and not hung:
                            if ".mpsync" not in key and ".mpsync" in target: files[key] = (b"another's change", '"tag-of-another"')
                            elif ".mpsync" in key and "/gone-" in key or "/way-" in key:
                                hung.add(key); print("hangs", flush=True); time.sleep(60)
                        for name in [n for n in files if n == key or n.startswith(key + "/")]:
                            files[target + name[len(key):]] = files.pop(name)
                        return self.answer(201)
                    if self.command == "DELETE":
                        for name in [n for n in files if n == key or n.startswith(key + "/")]: files.pop(name)
                        return self.answer(204)
                    if self.command != "PROPFIND": return self.answer(405)
                    if mode == "html": return self.answer(200, b"<html>Log in</html>")
                    if mode == "html207": return self.answer(207, b"<html><br>Log in</html>")
                    if mode == "wants": return self.answer(401)
                    isRoot = path.count("/") <= 1
                    if not isRoot and key not in files and mode != "endless": return self.answer(404)
                    listed = [(path or "/", None if isRoot or mode == "endless" and not own else files[key])]
                    if self.headers.get("Depth") == "1":
                        listed += [(n, v) for n, v in sorted(files.items()) if n.rpartition("/")[0] == key]
                        if mode == "endless" and not own: listed.append((path + "/again", None))
                    text = '<D:multistatus xmlns:D="DAV:">'
                    hrefs = [(urllib.parse.quote(n), v) for n, v in listed]
                    if mode == "lies" and self.headers.get("Depth") == "1":
                        hrefs += [(h, (b"x", '"x"')) for h in ("/lies/../../etc/passwd", "http://evil.example/lies/x", "/lies/a%00b", "/lies/a%2Fb", "/other/x", "/lies/" + "n" * 256)]
                    for href, value in hrefs:
                        text += "<D:response><D:href>%s</D:href><D:propstat><D:prop>" % href
                        if value is None: text += "<D:resourcetype><D:collection/></D:resourcetype>"
                        else:
                            text += "<D:getcontentlength>%d</D:getcontentlength><D:resourcetype/>" % len(value[0])
                            if mode != "tagless": text += "<D:getetag>%s</D:getetag>" % value[1]
                        text += "</D:prop><D:status>HTTP/1.1 200 OK</D:status></D:propstat></D:response>"
                    self.answer(207, (text + "</D:multistatus>").encode())
                do_GET = do_PUT = do_MKCOL = do_MOVE = do_DELETE = do_PROPFIND = do
            ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1])), Server).serve_forever()
            """#
    }

    extension TemporaryFolder {
        /// Every file below a folder of it, but for the program's own.
        func files(_ name: String) throws -> [String: Data] {
            var found: [String: Data] = [:]
            let root = file(name)
            for case let path as String in FileManager.default.enumerator(atPath: root) ?? .init() {
                var isFolder: ObjCBool = false
                guard !path.hasPrefix(".mpsync"),
                    FileManager.default.fileExists(atPath: "\(root)/\(path)", isDirectory: &isFolder),
                    !isFolder.boolValue
                else { continue }
                found[path] = try Data(contentsOf: URL(fileURLWithPath: "\(root)/\(path)"))
            }
            return found
        }
    }
#endif
