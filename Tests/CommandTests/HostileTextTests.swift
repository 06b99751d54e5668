import Foundation
import LabNet
import LinuxNet
import PathCore
import TestSupport
import Testing

/// Names, recordings, certificates and answers that would clear a terminal, set its title, turn the writing's direction,
/// or pass for lines of the command's own.
@Suite(
    "What comes from outside is harmless to a terminal", .needsNamespaces, .needs("ip", "unshare", "openssl"))
struct HostileTextTests {
    /// Clears the screen, sets the title, turns the direction, and begins a line.
    private static let hostile = "\u{1B}[2J\u{1B}]0;owned\u{7}\u{9B}31m\u{202E}\n#9 forged"

    /// A name server that says that every name is another's (CNAME, RFC 1035), whose text is hostile, and has the address
    /// 203.0.113.1.
    private static let nameServer = #"""
        import socket, struct
        server = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        server.bind(("192.0.2.1", 53))
        print("ready", flush=True)
        hostile = b"\x1b[2J\x1b]0;owned\x07\x9b31m\n#9 forged"
        alias = bytes([len(hostile)]) + hostile + b"\x07example\x00"
        while True:
            question, client = server.recvfrom(4096)
            place = 12
            while question[place]: place += question[place] + 1
            end = place + 5
            kind = struct.unpack(">H", question[place + 1:place + 3])[0]
            print("asked for", kind, flush=True)
            records = [struct.pack(">HHHIH", 0xC00C, 5, 1, 60, len(alias)) + alias]
            if kind == 1: records.append(alias + struct.pack(">HHIH", 1, 1, 60, 4) + bytes([203, 0, 113, 1]))
            answer = question[:2] + struct.pack(">HHHHH", 0x8580, 1, len(records), 0, 0) + question[12:end]
            server.sendto(answer + b"".join(records), client)
        """#

    private func expectSafe(
        _ result: Program.Result, _ what: String, sourceLocation: SourceLocation = #_sourceLocation
    ) {
        let text = result.outputText + result.errors
        let unsafe = text.unicodeScalars.filter { $0 != "\n" && SafeText.isUnsafe($0) }
        #expect(unsafe.isEmpty, "\(what): \(text.debugDescription)", sourceLocation: sourceLocation)
        #expect(!text.contains("\n#9 forged"), "\(what)", sourceLocation: sourceLocation)
        #expect(!text.isEmpty, "\(what)", sourceLocation: sourceLocation)
    }

    @Test("interface names, in every command that tells one")
    func interfaces() async throws {
        for command in [
            "mppaths", "mppaths list --json", "mppaths list --all", "mppaths set",
            "mpconnect -v --report 203.0.113.1:7000", "mpconnect --json 203.0.113.1:7000",
            "mpconnect -v --report --require wwan0 203.0.113.1:7000",
            "mpconnect --prefer none 203.0.113.1:7000",
        ] {
            let result = try await TwoPaths.run(
                #"""
                evil=$'w\e[2J\a\x9b'
                ip link set wlan0 down
                ip link set wlan0 name "$evil"
                ip link set "$evil" up
                ip route add default via 192.0.2.1 dev "$evil" metric 600
                server "$bin/mpconnect" --listen 203.0.113.1:7000 < /dev/null > /dev/null 2> listener &
                wait_for "the listener" grep listening listener
                "$bin"/\#(command) < /dev/null
                """#)
            expectSafe(result, command)
            if command.hasSuffix("--json") || command.contains("--json ") {
                #expect((result.outputText + result.errors).contains(#"w\u001b[2J\u0007"#), "\(command)")
            }
        }
    }

    @Test("a recording's names and Wi-Fi networks, in each form of replay")
    func recordings() async throws {
        let recorded = try await TwoPaths.run(
            #""$bin/mppaths" record --duration 1s - ; ip -o link show wlan0 | cut -d: -f1 >&2"#)
        #expect(recorded.status == 0, "\(recorded.errors)")
        let index = try #require(
            InterfaceIndex(recorded.errors.trimmingCharacters(in: .whitespacesAndNewlines)))
        let folder = try TemporaryFolder()
        var hints = InterfaceHints()
        hints.wireless[index] = WirelessHint(ssid: Self.hostile)
        var bytes = PathRecord.header
        var reader = try PathRecord.Reader(Array(recorded.output))
        while var record = try reader.next() {
            // The name has as many bytes as the one it replaces.
            record.payload = Self.replacing(
                Array("wlan0".utf8), with: Array("\u{1B}[2J\n".utf8), in: record.payload)
            if record.kind == .told { bytes += PathRecord(.hints, at: record.time, hints.recorded).bytes }
            if record.kind != .hints { bytes += record.bytes }
        }
        try Data(bytes).write(to: URL(fileURLWithPath: folder.file("evil.mpp")))
        for form in [[], ["--json"], ["--lines"]] {
            let result = try await Program.run(
                [Commands.mppaths, "replay"] + form + [folder.file("evil.mpp")])
            #expect(result.status == 0, "\(result.errors)")
            expectSafe(result, "replay \(form)")
        }
    }

    /// The bytes with each occurrence of some others replaced.
    private static func replacing(_ old: [UInt8], with new: [UInt8], in bytes: [UInt8]) -> [UInt8] {
        var result: [UInt8] = []
        var rest = bytes[...]
        while let byte = rest.first {
            if rest.starts(with: old) {
                result += new
                rest = rest.dropFirst(old.count)
            } else {
                result.append(byte)
                rest = rest.dropFirst()
            }
        }
        return result
    }

    @Test("a certificate's names")
    func certificates() async throws {
        let certificates = try await TestCertificates(name: "\u{1B}[2J\u{1B}]0;owned\u{7}.example")
        for form in ["-v", "--json", "--report"] {
            let result = try await TwoPaths.run(
                """
                server openssl s_server -quiet -accept 7443 -cert '\(certificates.chain("good"))' \\
                    -key '\(certificates.key)' -cert_chain '\(certificates.chain("good"))' > server 2>&1 &
                wait_for "the server" server bash -c 'exec 3<>/dev/tcp/203.0.113.1/7443'
                "$bin/mpconnect" \(form) --tls --cacert '\(certificates.root)' \\
                    --resolve server.example:7443:203.0.113.1 server.example:7443 < /dev/null || true
                """)
            expectSafe(result, form)
            #expect((result.outputText + result.errors).contains("owned"), "\(result.errors)")
        }
    }

    @Test("a name server's answers", .needs("python3"))
    func names() async throws {
        for form in ["-v", "--json", "--report"] {
            let result = try await TwoPaths.run(
                """
                mkdir -p /run/systemd/netif/leases
                printf 'ADDRESS=192.0.2.2\\nDNS=192.0.2.1\\n' > "/run/systemd/netif/leases/$(ip -o link show wlan0 | cut -d: -f1)"
                server python3 -c "$names" > names &
                wait_for "the name server" grep ready names
                "$bin/mpconnect" \(form) --interface-dns --prohibit cellular server.example:7443 < /dev/null || echo "status $?"
                cat names
                """, with: ["names": Self.nameServer])
            expectSafe(result, form)
            // c-ares takes no such alias.
            #expect(result.outputText.hasPrefix("status 1\n"), "\(result.outputText)")
            #expect(result.outputText.contains("asked for 1\n"))
            #expect(result.errors.contains("server.example"), "\(result.errors)")
        }
    }

    @Test("what answers in a lab's place, which may be endless or silent")
    func labs() async throws {
        for (place, answer) in ["\(Self.hostile)\n", String(repeating: Self.hostile, count: 100_000)]
            .enumerated()
        {
            let number = 1_000_000 + Int(getpid()) * 2 + place
            let listener = try LocalSocket.listen("mplab-\(number)")
            let descriptor = listener.number
            Thread {
                while true {
                    let socket = accept(descriptor, nil, nil)
                    guard socket >= 0 else { return }
                    Array(answer.utf8).withUnsafeBytes {
                        _ = send(socket, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL))
                    }
                    close(socket)
                }
            }.start()
            for words in [[], ["wlan0", "blackhole"]] {
                let result = try await Program.run(
                    [Program.product("mplab"), "set", "--lab", "\(number)"] + words, within: .seconds(20))
                expectSafe(result, "answer \(place), \(words)")
                if place == 1 || !words.isEmpty { #expect(result.status == 1) }
            }
            shutdown(descriptor, Int32(SHUT_RDWR))
            _ = consume listener
        }
    }

    @Test("a settings file, and the arguments of every command")
    func texts() async throws {
        let folder = try TemporaryFolder()
        try folder.makeFolder("multipath")
        try folder.write(
            "expensive yes \(Self.hostile)\n\(Self.hostile) yes a\nexpensive \u{1B}[2J b\n",
            to: "multipath/paths.conf")
        let settings = try await Program.run(
            [Commands.mppaths, "set"], environment: ["XDG_CONFIG_HOME": folder.path])
        expectSafe(settings, "mppaths set")
        let word = Self.hostile
        for arguments in [
            ["mppaths", word], ["mppaths", "list", "--\(word)"], ["mppaths", "replay", word],
            ["mppaths", "record", word, "--duration", word], ["mppaths", "set", word, word, word],
            ["mpconnect", word], ["mpconnect", "--mode", word, "a:1"],
            ["mpconnect", "--prohibit", word, "a:1"],
            ["mpconnect", "--resolve", word, "a:1"], ["mpconnect", "--cacert", word, "--tls", "a:1"],
            ["mplab", word], ["mplab", "set", word, word], ["mplab", "scenarios", word],
            ["mplab", "run", "--scenario", word], ["mplab", "run", "--wifi", word],
            ["mplab", "run", "--tap", word],
            ["mplab", "run", "--trace", "/\(word)/x", "--", "true"], ["mplab", "run", "--quiet", "--", word],
            ["mprun", word], ["mprun", "--\(word)"], ["mprun", "--prohibit", word, "--", word],
            ["mpathd", word], ["mpathd", "--listen", "/\(word)/x"], ["mpstream", word],
            ["mpstream", "http://\(word)/"], ["mpsync", word, word],
            ["mpsync", "/\(word)/x", "http://127.0.0.1:1/\(word)/"],
        ] {
            let result = try await Program.run(
                [Program.product(arguments[0])] + arguments.dropFirst(),
                environment: ["XDG_CONFIG_HOME": folder.path])
            expectSafe(result, "\(arguments)")
        }
    }
}
