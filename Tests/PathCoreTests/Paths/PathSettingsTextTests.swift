import PathCore
import TestSupport
import Testing

@Suite("The settings file's text")
struct PathSettingsTextTests {
    @Test(
        "says one thing a line, the name to the line's end",
        arguments: [
            ("", [:]),
            ("\n\n # expensive yes wlan0\n#\n", [:]),
            ("expensive yes wlan0", ["wlan0": .init(isExpensive: true)]),
            (
                "expensive no wlan0\nconstrained yes wlan0\n",
                ["wlan0": .init(isExpensive: false, isConstrained: true)]
            ),
            ("  expensive\t yes   Hotel  Guest #2 \t\n", ["Hotel  Guest #2": .init(isExpensive: true)]),
            (
                "constrained yes é\r\nexpensive yes b\r\n",
                [
                    "é": .init(isConstrained: true), "b": .init(isExpensive: true),
                ]
            ),
            ("expensive yes a\nexpensive no a", ["a": .init(isExpensive: false)]),
            (#"expensive yes \x20a\x5cb\x0A"#, [" a\\b\n": .init(isExpensive: true)]),
            (#"expensive yes \xC3\xA9"#, ["é": .init(isExpensive: true)]),
            (#"expensive yes \x00"#, ["\0": .init(isExpensive: true)]),
            ("expensive yes \u{301}a", ["\u{301}a": .init(isExpensive: true)]),
        ] as [(String, [String: PathSettings.Entry])])
    func reads(text: String, entries: [String: PathSettings.Entry]) {
        let (settings, problems) = PathSettings.parse(text)
        #expect(settings.entries == entries)
        #expect(problems == [])
    }

    @Test(
        "keeps its good lines beside a bad one, whose number and reason it tells",
        arguments: [
            ("cheap yes wlan0", "'cheap' should be expensive or constrained"),
            ("Expensive yes wlan0", "'Expensive' should be expensive or constrained"),
            ("expensive", "nothing after 'expensive' should be yes or no"),
            ("constrained maybe wlan0", "'maybe' after 'constrained' should be yes or no"),
            ("expensive yes", "a name is missing"),
            (#"expensive yes a\b"#, "a backslash is written \\x5C, any other byte \\xNN"),
            (#"expensive yes \x4"#, "a backslash is written \\x5C, any other byte \\xNN"),
            (#"expensive yes \x+4"#, "a backslash is written \\x5C, any other byte \\xNN"),
            (#"expensive yes \xFF"#, "the name is no UTF-8"),
            (
                "expensive yes 123456789012345678901234567890123",
                "'123456789012345678901234567890123' has 33 bytes; the name of a network has 32 at most"
            ),
        ])
    func problems(line: String, message: String) {
        let (settings, problems) = PathSettings.parse("expensive yes a\n\n\(line)\nexpensive no b")
        #expect(settings.entries == ["a": .init(isExpensive: true), "b": .init(isExpensive: false)])
        #expect(problems == [PathSettings.Problem(line: 3, message: message)])
        #expect(problems.first?.description == "line 3: \(message)")
    }

    @Test("gives back every name it was given, on one line of what a terminal can show")
    func roundTrip() {
        var random = SplitMix64(seed: 80_211)
        let scalars = Array(
            "\0\t\n\r \\x#aé\u{85}\u{A0}\u{301}\u{200D}\u{202E}\u{2028}😀\u{10FFFF}".unicodeScalars)
        for _ in 0..<5_000 {
            var name = ""
            while name.utf8.count < 1 + random.next() % 28 {
                name.unicodeScalars.append(scalars[Int(random.next() % UInt64(scalars.count))])
            }
            let settings = PathSettings(entries: [name: .init(isExpensive: true, isConstrained: false)])
            let lines = settings.lines
            #expect(lines.count == 2)
            for line in lines {
                #expect(line.utf8.allSatisfy { $0 >= 0x20 && $0 != 0x7F }, "\(name.debugDescription)")
            }
            let read = PathSettings.parse(lines.joined(separator: "\n"))
            #expect(read.problems == [])
            // Bytes, not characters: those are equal in several forms.
            #expect(read.settings.entries.keys.map { Array($0.utf8) } == [Array(name.utf8)])
            #expect(read.settings == settings)
        }
    }

    @Test("never traps, and never loses a good line to what stands before it")
    func mutations() {
        var random = SplitMix64(seed: 20_261_121)
        let pieces = [
            "expensive", "constrained", "yes", "no", " ", "\t", "\n", "\r", "\\", "\\x", "20", "#", "é", "\0",
        ]
        for _ in 0..<10_000 {
            let text = (0..<random.next() % 20).map { _ in
                pieces[Int(random.next() % UInt64(pieces.count))]
            }.joined()
            let (settings, _) = PathSettings.parse(text + "\nexpensive yes last one")
            #expect(settings["last one", .expensive] == true, "\(text.debugDescription)")
            let edited = PathSettings.text(text, setting: .constrained, of: "a", to: false)
            #expect(PathSettings.parse(edited).settings["a", .constrained] == false)
            let undone = PathSettings.text(edited, setting: .constrained, of: "a", to: nil)
            #expect(PathSettings.parse(undone).settings == PathSettings.parse(text).settings)
        }
    }

    @Test(
        "is edited where it says something, and nowhere else",
        arguments: [
            // Another answer, in the place of the old one.
            ("# a\n expensive  no a\ntypo\n", true, "# a\nexpensive yes a\ntypo\n"),
            // The same answer, as it was written.
            ("  expensive   yes  a  # not a comment\nexpensive yes a", true, nil),
            // The last of several counts.
            ("expensive yes a\nx\nexpensive no a\n", true, "x\nexpensive yes a\n"),
            ("expensive yes a\nx\nexpensive no a\n", nil, "x\n"),
            // Nothing yet: at the end, which may lack its line feed.
            ("# a", false, "# a\nexpensive no a\n"),
            ("", false, "expensive no a\n"),
            ("constrained yes a\r\n", true, "constrained yes a\r\nexpensive yes a\r\n"),
            ("constrained yes a\r\nexpensive no a\r\n", true, "constrained yes a\r\nexpensive yes a\r\n"),
            // Nothing to take back.
            ("constrained yes a\nexpensive yes A", nil, nil),
        ] as [(String, Bool?, String?)])
    func edits(text: String, value: Bool?, expected: String?) {
        #expect(PathSettings.text(text, setting: .expensive, of: "a", to: value) == expected ?? text)
    }

    @Test("begins with how to edit it by hand")
    func newFile() {
        let text = PathSettings.text(nil, setting: .constrained, of: "My Telephone", to: true)
        #expect(text.hasPrefix("# What you know better"))
        #expect(text.hasSuffix("\n\nconstrained yes My Telephone\n"))
        let (settings, problems) = PathSettings.parse(text)
        #expect(settings.entries == ["My Telephone": .init(isConstrained: true)])
        #expect(problems == [])
        #expect(PathSettings.text(nil, setting: .constrained, of: "a", to: nil) == "")
    }

    @Test("takes the whole entry away with the last thing it says")
    func emptyEntries() {
        var settings = PathSettings(entries: ["a": .init(isExpensive: true)])
        settings["a", .expensive] = nil
        #expect(settings.entries == [:])
    }
}
