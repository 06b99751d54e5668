#if HTTP
    import Foundation
    import Multipath
    import NIOSSL
    import TestSupport

    @testable import MultipathHTTP

    /// nginx on a port of loopback, with TLS and a certificate for `server.example`.
    final class Nginx: Sendable {
        static let name = "server.example"
        let port: Int
        let certificates: TestCertificates
        private let folder: URL
        private let process: Running

        /// - Parameters:
        ///   - certificate: of `TestCertificates`.
        ///   - lines: more of the server's block.
        ///   - other: a certificate that is presented behind the chain.
        init(
            _ certificate: String = "good", _ lines: String = "", adornedWith other: String? = nil
        ) async throws {
            certificates = try await TestCertificates(name: Self.name, addresses: ["127.0.0.1"])
            if let other {
                let chain = try String(contentsOfFile: certificates.chain(certificate), encoding: .utf8)
                let more = try String(contentsOfFile: certificates.chain(other), encoding: .utf8)
                try (chain + more).write(
                    toFile: certificates.chain(certificate), atomically: true, encoding: .utf8)
            }
            folder = FileManager.default.temporaryDirectory.appendingPathComponent(
                "nginx-\(UUID().uuidString)")
            try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
            port = try await Self.freePort()
            let root = folder.path
            try Data(repeating: UInt8(ascii: "x"), count: 1_000_000).write(
                to: folder.appendingPathComponent("million"))
            try Data("a page of nginx\n".utf8).write(to: folder.appendingPathComponent("index.html"))
            let text = String(repeating: "all work and no play ", count: 5_000)
            try Data(text.utf8).write(to: folder.appendingPathComponent("text.html"))
            try """
            user root; daemon off; master_process off; pid \(root)/pid; error_log \(root)/error.log;
            events { worker_connections 1024; }
            http {
                access_log off; root \(root); gzip on; gzip_min_length 100; keepalive_requests 100000;
                client_body_temp_path \(root)/a; proxy_temp_path \(root)/b; client_max_body_size 0;
                fastcgi_temp_path \(root)/c; uwsgi_temp_path \(root)/d; scgi_temp_path \(root)/e;
                server {
                    listen 127.0.0.1:\(port) ssl http2; ssl_protocols TLSv1.2 TLSv1.3;
                    ssl_certificate \(certificates.chain(certificate)); ssl_certificate_key \(certificates.key);
                    location /put { dav_methods PUT; create_full_put_path on; }
                    \(lines)
                }
            }
            """.write(to: folder.appendingPathComponent("conf"), atomically: true, encoding: .utf8)
            process = try Running(["nginx", "-c", "\(root)/conf", "-e", "\(root)/error.log"])
            for _ in 0..<1500 {
                if (try? Data(contentsOf: folder.appendingPathComponent("pid")))?.isEmpty == false { return }
                try await Task.sleep(for: .milliseconds(20))
            }
            throw Program.TimedOut(description: "nginx does not start: \(process.errorText)")
        }

        deinit {
            process.kill()
            try? FileManager.default.removeItem(at: folder)
        }

        func url(_ path: String) -> String { "https://\(Self.name):\(port)\(path)" }

        /// Has it serve a file of zeros.
        func makeFile(_ name: String, of length: Int) throws {
            let path = folder.appendingPathComponent(name)
            try Data().write(to: path)
            try FileHandle(forWritingTo: path).truncate(atOffset: UInt64(length))
        }

        /// What was put there.
        func content(_ path: String) -> Data? { try? Data(contentsOf: folder.appendingPathComponent(path)) }

        /// Knows the server's address, and trusts its authority.
        func client(
            _ protocols: Set<HTTPRequestMetrics.ProtocolName> = [.http1, .http2],
            configure: (inout MultipathHTTPClient.Configuration) -> Void = { _ in }
        ) -> MultipathHTTPClient {
            var configuration = MultipathHTTPClient.Configuration()
            configuration.protocols = protocols
            configuration.tls.trustRoots = .file(certificates.root)
            configure(&configuration)
            return MultipathHTTPClient(
                configuration: configuration,
                connector: Connector(resolver: StaticResolver([Self.name: [IPAddress("127.0.0.1")!]])))
        }

        /// A port that was free a moment ago.
        private static func freePort() async throws -> Int {
            let server = try await RawServer { _, _ in nil }
            let port = server.port
            await server.close()
            return port
        }
    }
#endif
