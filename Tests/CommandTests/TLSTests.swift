import CommandSupport
import Foundation
import MultipathTLS
import TestSupport
import Testing

/// `mpconnect --tls` against nginx with a certificate chain of the test's own, over two paths.
@Suite("mpconnect --tls", .needsNamespaces, .needs("openssl", "nginx", "ip", "nft"))
struct TLSTests {
    /// In the client: `$root` is trusted; `nginx_with KIND PORT [VERSIONS]` starts nginx in the server with that
    /// certificate and those versions of TLS, on all its addresses; `ask ARGUMENTS…` sends a request for its page, whose answer and status it prints;
    /// `mute MATCH…` makes the server deaf to all but handshakes. 203.0.113.2 is the server's as well.
    private func run(
        _ certificates: TestCertificates, _ script: String, within limit: Duration = .seconds(60)
    ) async throws -> Program.Result {
        try await TwoPaths.run(
            """
            root='\(certificates.root)'
            folder='\(certificates.folder.path)'
            server ip addr add 203.0.113.2/32 dev lo
            nginx_with() {
                mkdir -p "$PWD/$2"; echo 'a page of nginx' > "$PWD/$2/index.html"
                cat > "$PWD/$2/conf" <<CONF
                user root; daemon off; master_process off; pid $PWD/$2/pid; error_log $PWD/$2/error.log;
                events { worker_connections 64; }
                http {
                    access_log off; root $PWD/$2;
                    client_body_temp_path $PWD/$2/a; proxy_temp_path $PWD/$2/b;
                    fastcgi_temp_path $PWD/$2/c; uwsgi_temp_path $PWD/$2/d; scgi_temp_path $PWD/$2/e;
                    server {
                        listen $2 ssl http2;
                        ssl_protocols ${3:-TLSv1.2 TLSv1.3}; ssl_ciphers DEFAULT@SECLEVEL=0;
                        ssl_certificate $folder/$1.pem; ssl_certificate_key $folder/server.key;
                    }
                }
            CONF
                server nginx -c "$PWD/$2/conf" -e "$PWD/$2/error.log" &
                wait_for nginx server bash -c "exec 3<>/dev/tcp/203.0.113.1/$2"
            }
            # What matches is dropped once it carries data: TCP's handshake is complete, and nothing follows.
            mute() {
                server nft add table inet mute
                server nft add chain inet mute input '{ type filter hook input priority 0; }'
                server nft add rule inet mute input "$@" 'tcp flags & psh == psh' drop
            }
            # nginx that reads our TLS's farewell before it has answered closes without its own, and that is an error:
            # standard input stays open until the answer has ended.
            fetch() {
                local page=$1 answer=$2 status; shift 2
                rm -f ended
                set +o pipefail
                { printf "GET /$page HTTP/1.0\\r\\n\\r\\n"; until [ -e ended ]; do sleep 0.01; done; } |
                    "$bin/mpconnect" --tls "$@" | { cat > "$answer"; touch ended; }
                status=${PIPESTATUS[1]}
                set -o pipefail
                return $status
            }
            ask() {
                local status=0
                fetch '' answer --cacert "$root" "$@" || status=$?
                tail -n 1 answer
                echo "status $status"
            }

            """ + script, within: limit)
    }

    private func report(_ result: Program.Result) throws -> [String: Any] {
        try #require(
            try Commands.objects(result.errors).last { $0["event"] as? String == "report" },
            "\(result.errors)")
    }

    private func attempts(_ report: [String: Any]) -> [(address: String, outcome: String, error: String)] {
        (report["attempts"] as? [[String: Any]] ?? []).map {
            (
                $0["address"] as? String ?? "", $0["outcome"] as? String ?? "", $0["error"] as? String ?? ""
            )
        }
    }

    @Test("verifies the name though the address is given, agrees on a protocol, and reports the handshake")
    func rightName() async throws {
        let result = try await run(
            TestCertificates(),
            """
            nginx_with good 443
            ask --alpn http/1.1 --resolve server.example:443:203.0.113.1 --json server.example:443
            ask --report --resolve SERVER.example:443:203.0.113.1 server.example:443
            """)
        #expect(
            result.outputText == "a page of nginx\nstatus 0\na page of nginx\nstatus 0\n", "\(result.errors)")
        let lines = result.errors.split(separator: "\n").filter { $0.hasPrefix("{") }
        let objects = try Commands.objects(lines.joined(separator: "\n"))
        #expect(objects.map { $0["event"] as? String } == ["established", "report"])
        #expect(objects.first?["alpn"] as? String == "http/1.1")
        let tls = try #require(objects.last?["tls"] as? [String: Any])
        #expect(tls["version"] as? String == "TLSv1.3")
        #expect(tls["alpn"] as? String == "http/1.1")
        #expect(tls["handshake_ms"] as? Double ?? 0 > 0)
        #expect(result.errors.contains("\n  tls         TLSv1.3, handshake "))
    }

    @Test("verifies an address where that is the destination, and reaches what it likes with --insecure")
    func addressAndInsecure() async throws {
        let result = try await run(
            TestCertificates(),
            """
            nginx_with good 443
            ask 203.0.113.1:443
            ask 203.0.113.2:443
            fetch '' answer --insecure 203.0.113.2:443
            tail -n 1 answer
            """)
        #expect(
            result.outputText == "a page of nginx\nstatus 0\nstatus 1\na page of nginx\n", "\(result.errors)")
        #expect(result.errors.contains("the certificate is for other names; the address is not among them"))
    }

    @Test("refuses a server that speaks no newer TLS than 1.1, also with --insecure")
    func oldVersions() async throws {
        let result = try await run(
            TestCertificates(),
            """
            nginx_with good 443 'TLSv1 TLSv1.1'
            server openssl s_client -connect 203.0.113.1:443 -cipher DEFAULT@SECLEVEL=0 < /dev/null 2>&1 |
                grep -m 1 -o 'Protocol  *: TLSv1.1' || true
            ask --resolve server.example:443:203.0.113.1 server.example:443
            fetch '' answer --insecure 203.0.113.1:443 || echo "status $?"
            """)
        #expect(
            result.outputText.split(separator: "\n").suffix(2) == ["status 1", "status 1"], "\(result.errors)"
        )
        // The server itself does answer.
        #expect(result.outputText.contains("TLSv1.1"), "\(result.outputText)")
    }

    @Test("refuses a wrong name, an expired certificate and an unknown authority, each in clear words")
    func refusals() async throws {
        let result = try await run(
            TestCertificates(),
            """
            nginx_with good 443
            nginx_with expired 444
            nginx_with stranger 445
            ask --no-mptcp --resolve other.example:443:203.0.113.1 other.example:443
            ask --no-mptcp --resolve server.example:444:203.0.113.1 server.example:444
            ask --no-mptcp --resolve server.example:445:203.0.113.1 server.example:445
            """)
        #expect(result.outputText == "status 1\nstatus 1\nstatus 1\n")
        let lines = result.errors.split(separator: "\n").map(String.init)
        let errors = lines.filter { $0.hasPrefix("mpconnect: ") }
        try #require(errors.count == 3, "\(result.errors)")
        #expect(
            errors[0]
                == "mpconnect: other.example:443: TLS: the certificate is for other names; "
                + "other.example is not among them: server.example")
        #expect(errors[1].contains("the certificate is not trusted: it has expired"), "\(errors)")
        #expect(errors[2].contains("the certificate is not trusted: its issuer is unknown here"), "\(errors)")
        // Each path was tried, and each attempt is listed with its reason.
        let attempts = lines.filter { $0.hasPrefix("  attempt     ") }
        #expect(attempts.count { $0.contains(" wlan0 tcp ") } == 3, "\(result.errors)")
        #expect(attempts.count { $0.contains(" wwan0 tcp ") } == 3)
        #expect(attempts.allSatisfy { $0.contains(": TLS: the certificate is ") })
    }

    @Test("lets another address win when the first one's TCP is up and its TLS stalls")
    func stalledAddress() async throws {
        let result = try await run(
            TestCertificates(),
            """
            nginx_with good 443
            mute ip daddr 203.0.113.2
            ask --no-mptcp --require wlan0 --resolve server.example:443:203.0.113.2,203.0.113.1 --json server.example:443
            """)
        #expect(result.outputText == "a page of nginx\nstatus 0\n", "\(result.errors)")
        let attempts = attempts(try report(result))
        #expect(attempts.map(\.address) == ["203.0.113.2", "203.0.113.1"])
        #expect(attempts.map(\.outcome) == ["cancelled", "won"])
    }

    @Test("lets the other path win when the first carries TCP's handshake and then nothing")
    func stalledPath() async throws {
        let result = try await run(
            TestCertificates(),
            """
            nginx_with good 443
            mute iifname w0
            ask --json --resolve server.example:443:203.0.113.1 server.example:443
            """)
        #expect(result.outputText == "a page of nginx\nstatus 0\n", "\(result.errors)")
        let report = try report(result)
        #expect(report["interface"] as? String == "wwan0")
        let first = try #require((report["attempts"] as? [[String: Any]])?.first)
        #expect(first["interface"] as? String == "wlan0")
        #expect(first["outcome"] as? String == "cancelled")
        #expect(first["connected_ms"] as? Double ?? 0 > 0)
    }

    @Test("ends at its timeout where no attempt's TLS comes up")
    func noTLS() async throws {
        let result = try await run(
            TestCertificates(),
            """
            nginx_with good 443
            mute tcp dport 443
            ask --connect-timeout 1s --resolve server.example:443:203.0.113.1 --json server.example:443
            """)
        #expect(result.outputText == "status 1\n")
        let report = try report(result)
        #expect((report["error"] as? String)?.contains("no answer within") == true)
        let attempts = attempts(report)
        #expect(attempts.count >= 2)
        #expect(attempts.allSatisfy { $0.outcome == "cancelled" })
    }

    @Test("fetches a large file, byte for byte")
    func large() async throws {
        let result = try await run(
            TestCertificates(),
            """
            nginx_with good 443
            head -c 20000000 /dev/urandom > $PWD/443/large
            fetch large got --cacert "$root" 203.0.113.1:443
            tail -c 20000000 got | cmp - 443/large && echo same
            """)
        #expect(result.outputText == "same\n", "\(result.errors)")
    }

    @Test("sends a large input to its last byte before TLS's farewell")
    func upload() async throws {
        let result = try await run(
            TestCertificates(),
            """
            head -c 20000000 /dev/urandom > sent
            server openssl s_server -quiet -accept 203.0.113.1:443 -naccept 1 -cert "$folder/good.pem" \
                -cert_chain "$folder/good.pem" -key "$folder/server.key" > arrived < <(sleep 3) &
            wait_for "the server" bash -c 'ip netns exec server ss -Htln sport = :443 | grep -q .'
            "$bin/mpconnect" --tls --cacert "$root" 203.0.113.1:443 < sent
            wait_for "all of it" cmp sent arrived
            echo same
            """)
        #expect(result.outputText == "same\n", "\(result.errors)")
    }

    @Test("takes one certificate's wildcard for exactly one label, and nothing but names for names")
    func names() {
        let cases: [(String, [String], Bool)] = [
            ("server.example", ["other.example", "Server.Example"], true),
            ("server.example.", ["server.example"], true), ("a.server.example", ["*.server.example"], true),
            ("a.b.server.example", ["*.server.example"], false),
            ("server.example", ["*.server.example"], false),
            ("server.example", ["*.example"], false), ("server.example", ["*"], false),
            ("ab.server.example", ["a*.server.example"], false), ("server.example", [], false),
            ("", [""], false),
        ]
        for (name, presented, isMatch) in cases {
            #expect(CertificateNames.match(name, presented) == isMatch, "\(name) \(presented)")
        }
    }

    @Test(
        "says how arguments do not fit together",
        arguments: [
            ["--cacert", "x", "server.example:443"], ["--tls", "--listen", ":0"],
            ["--tls", "--insecure", "--cacert", "x", "server.example:443"],
            ["--tls", "--alpn", "h2,,x", "server.example:443"], ["--resolve", "x", "server.example:443"],
        ])
    func usage(_ arguments: [String]) async throws {
        let result = try await Program.run([Commands.mpconnect] + arguments)
        #expect(result.status == 2)
        #expect(result.errors.split(separator: "\n").count == 1)
        #expect(result.errors.hasSuffix("(see mpconnect --help)\n"))
    }

    @Test("says which file of authorities it can't use")
    func authorities() async throws {
        let result = try await Commands.connect("--tls", "--cacert", "/nonexistent.pem", "127.0.0.1:443")
        #expect(result.status == 1)
        #expect(result.errors.hasPrefix("mpconnect: can't use the certificates in /nonexistent.pem: "))
    }
}
