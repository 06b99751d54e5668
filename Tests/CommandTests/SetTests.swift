import TestSupport
import Testing

@Suite("mppaths set")
struct SetTests {
    private func set(_ arguments: String..., in folder: TemporaryFolder) async throws -> Program.Result {
        try await Program.run(
            [Commands.mppaths, "set"] + arguments, environment: ["XDG_CONFIG_HOME": folder.file("config")])
    }

    @Test("writes what it is told, says what is set now, and lists it")
    func sets() async throws {
        let folder = try TemporaryFolder()
        let path = folder.file("config/multipath/paths.conf")
        let empty = try await set(in: folder)
        #expect(empty.outputText == "# \(path) (there is no such file yet)\n")
        let first = try await set("wwan0", "expensive", "no", in: folder)
        #expect(first.status == 0)
        #expect(
            first.outputText
                == "wwan0: expensive no, constrained auto; running programs take it over at once\n")
        _ = try await set("Hotel Guest ", "constrained", "yes", in: folder)
        let second = try await set("Hotel Guest ", "expensive", "yes", in: folder)
        #expect(
            second.outputText
                == "Hotel Guest\\x20: expensive yes, constrained yes; running programs take it over at once\n"
        )
        let list = try await set(in: folder)
        #expect(list.status == 0)
        #expect(
            list.outputText == """
                # \(path)
                expensive yes Hotel Guest\\x20
                constrained yes Hotel Guest\\x20
                expensive no wwan0

                """)
        let last = try await set("wwan0", "expensive", "auto", in: folder)
        #expect(
            last.outputText
                == "wwan0: expensive auto, constrained auto; running programs take it over at once\n")
        #expect(try !folder.text("config/multipath/paths.conf").contains("wwan0"))
    }

    @Test("leaves what was written by hand, and tells of lines that can't be read")
    func keeps() async throws {
        let folder = try TemporaryFolder()
        try folder.makeFolder("config/multipath")
        try folder.write("# mine\ncheap yes a\nexpensive no a", to: "config/multipath/paths.conf")
        #expect(try await set("a", "expensive", "yes", in: folder).status == 0)
        #expect(try folder.text("config/multipath/paths.conf") == "# mine\ncheap yes a\nexpensive yes a")
        let list = try await set(in: folder)
        #expect(list.status == 0)
        #expect(list.outputText.hasSuffix("\nexpensive yes a\n"))
        #expect(
            list.errors == """
                mppaths: \(folder.file("config/multipath/paths.conf")): line 2: 'cheap' should be expensive or \
                constrained

                """)
    }

    @Test("says where the environment counts more than what it writes")
    func environment() async throws {
        let folder = try TemporaryFolder()
        func set(_ property: String) async throws -> Program.Result {
            try await Program.run(
                [Commands.mppaths, "set", "wlan0", property, "yes"],
                environment: [
                    "XDG_CONFIG_HOME": folder.file("config"),
                    "MULTIPATH_INTERFACES": "wlan0=wifi,not-constrained",
                ])
        }
        let constrained = try await set("constrained")
        #expect(constrained.status == 0)
        #expect(
            constrained.outputText.hasSuffix(
                "; programs that inherit this environment stay with not-constrained: MULTIPATH_INTERFACES counts more "
                    + "than the file\n"))
        #expect(try await set("expensive").outputText.hasSuffix("; running programs take it over at once\n"))
    }

    @Test("takes a name that begins with a dash behind two of them")
    func dash() async throws {
        let folder = try TemporaryFolder()
        let result = try await set("--", "-guest-", "expensive", "yes", in: folder)
        #expect(result.status == 0, "\(result.errors)")
        #expect(result.outputText.hasPrefix("-guest-: expensive yes"))
    }

    @Test(
        "refuses in one line what it doesn't understand, and ends with 2",
        arguments: [
            (["a"], "what about 'a'? Write: mppaths set NAME expensive|constrained yes|no|auto"),
            (["a", "expensive"], "what about 'a'?"),
            (["a", "cheap", "yes"], "'cheap' should be expensive or constrained"),
            (["a", "expensive", "maybe"], "'maybe' should be yes, no or auto"),
            (["", "expensive", "yes"], "a name is missing"),
            ([String(repeating: "x", count: 33), "expensive", "yes"], "has 33 bytes"),
            (["a", "expensive", "yes", "b"], "'b'"),
        ])
    func usage(arguments: [String], message: String) async throws {
        let folder = try TemporaryFolder()
        let result = try await Program.run(
            [Commands.mppaths, "set"] + arguments, environment: ["XDG_CONFIG_HOME": folder.path])
        #expect(result.status == 2)
        #expect(result.output.isEmpty)
        #expect(result.errors.contains(message), "\(result.errors)")
        #expect(result.errors.split(separator: "\n").count == 1)
        #expect(throws: (any Error).self) { try folder.text("multipath/paths.conf") }
    }

    @Test("says why it can't write, and ends with 1")
    func failure() async throws {
        let folder = try TemporaryFolder()
        try folder.write("", to: "config")
        let result = try await set("a", "expensive", "yes", in: folder)
        #expect(result.status == 1)
        #expect(
            result.errors
                == "mppaths: make the folder \(folder.file("config/multipath")): Not a directory\n")
    }

    @Test("explains itself with examples")
    func help() async throws {
        let result = try await Program.run([Commands.mppaths, "set", "--help"])
        #expect(result.status == 0)
        #expect(result.outputText.contains("EXAMPLES"))
        #expect(result.outputText.contains("mppaths set wwan0 expensive no"))
    }
}
