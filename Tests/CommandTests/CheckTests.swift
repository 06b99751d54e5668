import Foundation
import TestSupport
import Testing

/// `mppaths check` over two paths to a server, of which one has a fault.
@Suite("mppaths check", .needsNamespaces, .needs("openssl", "ip", "nft", "dnsmasq", "python3"))
struct CheckTests {
    /// In the client: `tls KIND ADDRESS` has the server answer by TLS with that certificate, on port 443 of an address; `web`
    /// has it answer by HTTP on port 80; `check ARGUMENTS…` prints the verdict's fault and path, and the exit status.
    /// `drop MATCH…` has the server drop what matches, and `names INTERFACE …` is a name server on that path.
    private func run(
        _ certificates: TestCertificates? = nil, _ script: String
    ) async throws -> [String: String] {
        let result = try await TwoPaths.run(
            """
            folder='\(certificates?.folder.path ?? "")'
            server ip addr add 203.0.113.66/32 dev lo
            export MULTIPATH_HOME=$PWD
            # One thread a connection: the check makes several at once.
            cat > tls.py <<'END'
            import http.server, ssl, sys
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.load_cert_chain(sys.argv[2], sys.argv[3])
            class Server(http.server.ThreadingHTTPServer):
                def get_request(self):
                    connection, peer = super().get_request()
                    return context.wrap_socket(connection, server_side=True, do_handshake_on_connect=False), peer
            Server((sys.argv[1], 443), http.server.SimpleHTTPRequestHandler).serve_forever()
            END
            tls() {
                server python3 tls.py "$2" "$folder/$1.pem" "$folder/server.key" > /dev/null 2>&1 &
                wait_for "TLS" server bash -c "exec 3<>/dev/tcp/$2/443"
            }
            web() {
                mkdir -p web; echo page > web/index.html
                server python3 -m http.server --directory web --bind 203.0.113.1 80 > /dev/null 2>&1 &
                wait_for "HTTP" server bash -c "exec 3<>/dev/tcp/203.0.113.1/80"
            }
            drop() {
                server nft add table inet block
                server nft add chain inet block input '{ type filter hook input priority 0; }'
                server nft add rule inet block input "$@"
            }
            # names PATH ITS-END ITS-ADDRESS SERVER ANSWER
            names() {
                mkdir -p /run/systemd/netif/leases
                server dnsmasq --no-daemon --listen-address="$4" --bind-interfaces --no-resolv --no-hosts \
                    --conf-file=/dev/null --local=/example/ --log-queries --address="/server.example/$5" 2> "$1.log" &
                wait_for "dnsmasq" grep -q started "$1.log"
                printf 'ADDRESS=%s\\nDNS=%s\\n' "$3" "$4" > "/run/systemd/netif/leases/$(ip -o link show "$1" | cut -d: -f1)"
            }
            check() {
                local status=0
                "$bin/mppaths" check --json "$@" > found || status=$?
                python3 - $status <<'END'
            import json, sys
            found = json.load(open("found"))
            verdict = found["verdict"]
            print("fault", verdict["fault"])
            print("path", verdict["path"])
            print("status", sys.argv[1], found["exit_status"])
            print("sentence", verdict["sentence"])
            END
            }

            """ + script, within: .seconds(90))
        #expect(result.status == 0, "\(result.errors)")
        var words: [String: String] = [:]
        for line in result.outputText.split(separator: "\n") {
            let parts = line.split(separator: " ", maxSplits: 1)
            if parts.count == 2 { words[String(parts[0])] = String(parts[1]) }
        }
        return words
    }

    private static let address = "203.0.113.1"

    @Test("finds nothing wrong where nothing is")
    func healthy() async throws {
        let certificates = try await TestCertificates()
        let found = try await run(
            certificates, "tls good 203.0.113.1; check --cacert $folder/root.pem 203.0.113.1:443")
        #expect(found["fault"] == "none", "\(found)")
        #expect(found["status"] == "0 0")
        // Python's server makes sockets of plain TCP.
        #expect(
            found["sentence"]
                == "All is well: wlan0 and wwan0 reach 203.0.113.1:443, by TCP: it does not speak MPTCP.")
    }

    @Test("knows a captive portal by its page where no host is")
    func portal() async throws {
        let found = try await run(
            nil,
            """
            cat > portal.py <<'END'
            import http.server
            class Portal(http.server.BaseHTTPRequestHandler):
                def do_GET(self):
                    self.send_response(302); self.send_header("Location", "http://portal.example/login"); self.end_headers()
                def log_message(self, *words): pass
            http.server.HTTPServer(("0.0.0.0", 8081), Portal).serve_forever()
            END
            server python3 portal.py &
            wait_for "the portal" server bash -c "exec 3<>/dev/tcp/127.0.0.1/8081"
            # On its link it answers for every address.
            server ip addr add 192.0.2.200/24 dev w0
            server nft add table ip portal
            server nft add chain ip portal in '{ type nat hook prerouting priority -100; }'
            server nft add rule ip portal in iifname w0 tcp dport 80 redirect to :8081
            drop iifname w0 tcp dport != 8081 drop
            web
            check 203.0.113.1:80
            """)
        #expect(found["fault"] == "captive_portal", "\(found)")
        #expect(found["path"] == "wlan0")
        #expect(found["status"] == "1 1")
        #expect(found["sentence"]?.contains("http://portal.example/login") == true)
    }

    @Test("knows a blocked port by the others that answer")
    func blockedPort() async throws {
        let found = try await run(nil, "web; drop iifname w0 tcp dport 80 drop; check 203.0.113.1:80")
        #expect(found["fault"] == "port_blocked", "\(found)")
        #expect(found["path"] == "wlan0")
    }

    @Test("knows a dead path")
    func deadPath() async throws {
        let found = try await run(nil, "web; silence w0; check 203.0.113.1:80")
        #expect(found["fault"] == "path_silent", "\(found)")
        #expect(found["path"] == "wlan0")
        #expect(found["sentence"]?.contains("wwan0 reaches 203.0.113.1:80") == true)
    }

    @Test("knows a path MTU black hole: small packets arrive")
    func packets() async throws {
        let found = try await run(
            nil, "web; drop iifname w0 meta length '>' 1200 drop; check 203.0.113.1:80")
        #expect(found["fault"] == "path_mtu_black_hole", "\(found)")
        #expect(found["path"] == "wlan0")
    }

    @Test("knows such a black hole by TLS as well, whose first message is long")
    func packetsWithTLS() async throws {
        let certificates = try await TestCertificates()
        let found = try await run(
            certificates,
            "tls good 203.0.113.1; drop iifname w0 meta length '>' 1200 drop; check --cacert $folder/root.pem 203.0.113.1:443"
        )
        #expect(found["fault"] == "path_mtu_black_hole", "\(found)")
    }

    @Test("knows a certificate that is not trusted, whichever path it looks over")
    func certificate() async throws {
        let certificates = try await TestCertificates()
        let found = try await run(
            certificates, "tls stranger 203.0.113.1; check --cacert $folder/root.pem 203.0.113.1:443")
        #expect(found["fault"] == "wrong_certificate", "\(found)")
        #expect(found["path"] == "None")
    }

    @Test("knows the name server that lies by the certificate at the address it gives")
    func lyingServer() async throws {
        let certificates = try await TestCertificates()
        let found = try await run(
            certificates,
            """
            tls good 203.0.113.1; tls stranger 203.0.113.66
            names wlan0 w0 192.0.2.2 192.0.2.1 203.0.113.66
            names wwan0 w1 198.51.100.2 198.51.100.1 203.0.113.1
            check --cacert $folder/root.pem server.example:443
            """)
        #expect(found["fault"] == "lying_name_server", "\(found)")
        #expect(found["path"] == "wlan0")
        #expect(
            found["sentence"]?.hasPrefix(
                "The name server 192.0.2.1 of wlan0 answers 203.0.113.66 for server.example")
                == true)
    }

    @Test(
        "takes another address of the host beside a dead path for no lie, and one where nothing is for a lie")
    func otherAddress() async throws {
        let names = """
            names wlan0 w0 192.0.2.2 192.0.2.1 203.0.113.66
            names wwan0 w1 198.51.100.2 198.51.100.1 203.0.113.1
            web

            """
        let dead = try await run(
            nil, names + "drop iifname w0 meta l4proto tcp drop; check server.example:80")
        #expect(dead["fault"] == "path_silent" && dead["path"] == "wlan0", "\(dead)")
        let lie = try await run(
            nil, names + "drop ip daddr 203.0.113.66 meta l4proto tcp drop; check server.example:80")
        #expect(lie["fault"] == "lying_name_server" && lie["path"] == "wlan0", "\(lie)")
    }

    @Test("takes the server's own end for no answer to whether an idle connection is forgotten")
    func idleServer() async throws {
        let found = try await run(
            nil,
            """
            cat > brief.py <<'END'
            import socket, threading, time
            listener = socket.create_server(("203.0.113.1", 7000))
            def end(connection):
                time.sleep(1)
                connection.close()
            while True: threading.Thread(target=end, args=(listener.accept()[0],)).start()
            END
            server python3 brief.py &
            wait_for "the server" server bash -c "exec 3<>/dev/tcp/203.0.113.1/7000"
            check --idle 3s 203.0.113.1:7000
            python3 -c 'import json; print("idle", [path["idle"] for path in json.load(open("found"))["paths"]])'
            """)
        #expect(found["fault"] == "none", "\(found)")
        #expect(found["idle"] == "['ended_by_server', 'ended_by_server']", "\(found)")
    }

    @Test("knows HTTP in the clear on a port of TLS for what it is, and no portal")
    func plainHTTP() async throws {
        let found = try await run(
            nil,
            """
            cat > clear.py <<'END'
            import socket, threading
            listener = socket.create_server(("203.0.113.1", 443))
            def answer(connection):
                if connection.recv(4096): connection.sendall(b"HTTP/1.1 400 Bad Request\\r\\n\\r\\n")
                connection.close()
            while True: threading.Thread(target=answer, args=(listener.accept()[0],)).start()
            END
            server python3 clear.py &
            wait_for "the server" server bash -c "exec 3<>/dev/tcp/203.0.113.1/443"
            check 203.0.113.1:443
            """)
        #expect(found["fault"] == "tls_failed" && found["path"] == "None", "\(found)")
        #expect(found["sentence"]?.contains("HTTP answers in the clear") == true, "\(found)")
    }

    @Test("says that no name server knows a name, that nothing listens, and that there is no path")
    func others() async throws {
        let missing = try await run(nil, "echo '127.0.0.1 localhost' > hosts; check missing.example:443")
        #expect(["no_such_name", "names_unanswered"].contains(missing["fault"]), "\(missing)")
        let closed = try await run(nil, "check 203.0.113.1:81")
        #expect(closed["fault"] == "refused", "\(closed)")
        let none = try await run(nil, "ip link set wlan0 down; ip link set wwan0 down; check 203.0.113.1:80")
        #expect(none["fault"] == "no_path", "\(none)")
        #expect(none["status"] == "3 3")
    }

    @Test("says what is wrong with its arguments")
    func usage() async throws {
        for (arguments, words) in [
            (["check", "host"], "has no port"), (["check"], "HOST:PORT"),
            (["check", "--tls", "--http", "host:1"], "exclude each other"),
            (["check", "--idle", "2h", "host:1"], "an hour at most"),
        ] {
            let result = try await Program.run([Commands.mppaths] + arguments)
            #expect(result.status == 2, "\(arguments): \(result.errors)")
            #expect((result.errors + result.outputText).contains(words), "\(arguments): \(result.errors)")
        }
    }
}
