import Foundation
import TestSupport
import Testing

/// Servers of other projects, from Debian's packages. Each gets a folder and a port of its own.
@Suite("With real servers")
struct RealServerTests {
    private static func folder() throws -> URL {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent(
            "multipath-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        return folder
    }

    private static let request = Data("GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n".utf8)
    private static let page = "<p>a page of nginx</p>\n"

    /// Runs nginx on loopback while `body` runs.
    private func withNginx(_ prefix: [String], _ body: (Int) async throws -> Void) async throws {
        let folder = try Self.folder()
        defer { try? FileManager.default.removeItem(at: folder) }
        let port = try Commands.freePort()
        try Self.page.write(
            to: folder.appendingPathComponent("index.html"), atomically: true, encoding: .utf8)
        // Workers that run as another user could not read a folder of root's.
        let user = geteuid() == 0 ? "user root;" : ""
        try """
        \(user) daemon off; master_process off; pid \(folder.path)/pid; error_log \(folder.path)/error.log;
        events { worker_connections 64; }
        http {
            access_log off; root \(folder.path);
            client_body_temp_path \(folder.path)/body; proxy_temp_path \(folder.path)/proxy;
            fastcgi_temp_path \(folder.path)/fastcgi; uwsgi_temp_path \(folder.path)/uwsgi; scgi_temp_path \(folder.path)/scgi;
            server { listen 127.0.0.1:\(port); }
        }
        """.write(to: folder.appendingPathComponent("nginx.conf"), atomically: true, encoding: .utf8)
        let nginx = try Running(
            prefix + ["nginx", "-c", "\(folder.path)/nginx.conf", "-e", "\(folder.path)/error.log"])
        defer { nginx.kill() }
        try await Program.wait("nginx: \(nginx.errorText)") {
            try await Commands.connect("127.0.0.1:\(port)", input: Self.request).status == 0
        }
        try await body(port)
    }

    @Test("mpconnect fetches a page from nginx, and reports TCP because of the peer", .needs("nginx"))
    func nginx() async throws {
        try await withNginx([]) { port in
            let result = try await Commands.connect("--report", "127.0.0.1:\(port)", input: Self.request)
            #expect(result.status == 0)
            #expect(result.outputText.hasPrefix("HTTP/1.1 200 OK\r\n"))
            #expect(result.outputText.hasSuffix(Self.page))
            #expect(result.errors.contains("transport   tcp (fallback: peer"))
        }
    }

    @Test(
        "mpconnect fetches a page from nginx under mptcpize, and reports MPTCP", .needs("nginx", "mptcpize"))
    func nginxMPTCP() async throws {
        try await withNginx(["mptcpize", "run"]) { port in
            let result = try await Commands.connect("--json", "127.0.0.1:\(port)", input: Self.request)
            #expect(result.status == 0)
            #expect(result.outputText.hasSuffix(Self.page))
            let report = try #require(try Commands.objects(result.errors).last)
            #expect(report["transport"] as? String == "mptcp")
            #expect(report["fallback_reason"] is NSNull)
            let path = try #require((report["paths"] as? [[String: Any]])?.first)
            #expect(path["bytes_sent"] as? Int == Self.request.count)
            #expect(path["bytes_received"] as? Int == result.output.count)
        }
    }

    @Test(
        "ssh runs a command and copies a file through mpconnect", .needs("sshd", "ssh", "ssh-keygen", "scp"))
    func ssh() async throws {
        let folder = try Self.folder()
        defer { try? FileManager.default.removeItem(at: folder) }
        let port = try Commands.freePort()
        for key in ["host", "user"] {
            let made = try await Program.run([
                "ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", "\(folder.path)/\(key)",
            ])
            #expect(made.status == 0, "\(made.errors)")
        }
        try FileManager.default.copyItem(
            at: folder.appendingPathComponent("user.pub"), to: folder.appendingPathComponent("authorized"))
        try """
        ListenAddress 127.0.0.1:\(port)
        HostKey \(folder.path)/host
        AuthorizedKeysFile \(folder.path)/authorized
        PidFile none
        StrictModes no
        UsePAM no
        PasswordAuthentication no
        Subsystem sftp internal-sftp
        """.write(to: folder.appendingPathComponent("sshd_config"), atomically: true, encoding: .utf8)
        // As root sshd wants a folder for its unprivileged part.
        if geteuid() == 0 {
            try? FileManager.default.createDirectory(atPath: "/run/sshd", withIntermediateDirectories: true)
        }
        let sshd = try Running([
            try #require(Program.find("sshd")), "-D", "-e", "-f", "\(folder.path)/sshd_config",
        ])
        defer { sshd.kill() }
        try await Program.wait("sshd: \(sshd.errorText)") { sshd.errorText.contains("Server listening") }
        let options = [
            "-i", "\(folder.path)/user", "-o", "StrictHostKeyChecking=no", "-o",
            "UserKnownHostsFile=/dev/null",
            "-o", "BatchMode=yes", "-o", "LogLevel=ERROR", "-o", "ProxyCommand=\(Commands.mpconnect) %h:%p",
        ]
        let user = NSUserName()
        let command = try await Program.run(
            ["ssh"] + options + ["-p", "\(port)", "\(user)@127.0.0.1", "echo $((6 * 7)); cat"],
            input: Data("input\n".utf8))
        #expect(command == Program.Result(status: 0, output: Data("42\ninput\n".utf8), errors: ""))
        let content = Data((0..<3_000_000).map { UInt8(truncatingIfNeeded: $0 &* 2_654_435_761 >> 13) })
        try content.write(to: folder.appendingPathComponent("file"))
        let copy = try await Program.run(
            ["scp"] + options + [
                "-q", "-P", "\(port)", "\(folder.path)/file", "\(user)@127.0.0.1:\(folder.path)/copy",
            ])
        #expect(copy.status == 0, "\(copy.errors)")
        #expect(try Data(contentsOf: folder.appendingPathComponent("copy")) == content)
    }
}
