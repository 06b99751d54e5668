import PathCore
import Testing

@Suite("What somebody says about an interface")
struct InterfaceOverridesTests {
    @Test(
        "in the environment is read by name and word",
        arguments: [
            ("", [:]), (" ; ", [:]),
            ("wlan0=wifi", ["wlan0": InterfaceOverride(type: .wifi)]),
            (
                "wlan0=wifi wwan0=cellular,expensive,constrained",
                [
                    "wlan0": InterfaceOverride(type: .wifi),
                    "wwan0": InterfaceOverride(type: .cellular, isExpensive: true, isConstrained: true),
                ]
            ),
            (
                "\teth0=not-expensive;usb0=not-constrained\n",
                [
                    "eth0": InterfaceOverride(isExpensive: false),
                    "usb0": InterfaceOverride(isConstrained: false),
                ]
            ),
            (
                "usb0=cellular usb0=expensive",
                ["usb0": InterfaceOverride(type: .cellular, isExpensive: true)]
            ),
            (
                "usb0=wired,expensive,not-expensive,other",
                ["usb0": InterfaceOverride(type: .other, isExpensive: false)]
            ),
        ] as [(String, [String: InterfaceOverride])])
    func parses(text: String, expected: [String: InterfaceOverride]) throws {
        #expect(try InterfaceOverrides.parse(text) == expected)
    }

    @Test("takes every type by its name", arguments: InterfaceType.allCases)
    func parsesTypes(type: InterfaceType) throws {
        #expect(
            try InterfaceOverrides.parse("x0=\(type.rawValue)") == ["x0": InterfaceOverride(type: type)])
    }

    @Test(
        "is refused with the place and what was expected there, with the nearest word",
        arguments: [
            ("wlan0", "'wlan0' should read NAME=WORD, as in wlan0=wifi"),
            ("eth0=wired wlan0=", "'wlan0=' should read NAME=WORD, as in wlan0=wifi"),
            ("=wifi", "'=wifi' should read NAME=WORD, as in wlan0=wifi"),
            ("wlan0=WiFi", "'WiFi' in 'wlan0=WiFi' is none of \(words) (did you mean 'wifi'?)"),
            ("wlan0=wifi,not-wired", "'not-wired' in 'wlan0=wifi,not-wired' is none of \(words)"),
            ("wlan0==wifi", "'=wifi' in 'wlan0==wifi' is none of \(words) (did you mean 'wifi'?)"),
        ])
    func refuses(text: String, problem: String) {
        #expect { try InterfaceOverrides.parse(text) } throws: {
            ($0 as? InterfaceOverrides.Malformed)?.description == "MULTIPATH_INTERFACES: \(problem)"
        }
    }

    private static let words = """
        wired, wifi, cellular, bluetooth, loopback, tunnel, virtual, other, [not-]expensive, [not-]constrained
        """

    @Test("counts for each property by itself: the program, then the environment, then the evidence")
    func precedence() {
        let reducer = SnapshotReducer(
            [.cellular("said", 2), .cellular("half", 3), .cellular("silent", 4)], [], [],
            overrides: InterfaceOverrides(
                configuration: [
                    "said": InterfaceOverride(type: .wifi, isExpensive: false, isConstrained: true),
                    "half": InterfaceOverride(isExpensive: false),
                ],
                environment: [
                    "said": InterfaceOverride(type: .wired, isExpensive: true, isConstrained: false),
                    "half": InterfaceOverride(type: .wired, isExpensive: true, isConstrained: true),
                ]))
        #expect(
            reducer.snapshot().excluded.map(\.interface) == [
                PathInterface(
                    index: 2, name: "said", type: Verdict(.wifi, .configuration),
                    expensive: Verdict(.no, .configuration), constrained: Verdict(true, .configuration)),
                PathInterface(
                    index: 3, name: "half", type: Verdict(.wired, .environment),
                    expensive: Verdict(.no, .configuration), constrained: Verdict(true, .environment)),
                PathInterface(
                    index: 4, name: "silent", type: Verdict(.cellular, .kernel),
                    expensive: Verdict(.guessedYes, .interfaceType), constrained: Verdict(false, .assumed)),
            ])
    }

    @Test("about the type decides what is expensive, where nothing is said of that")
    func typeDecidesExpense() {
        let reducer = SnapshotReducer(
            [.wired("usb0", 2), .cellular("wwan0", 4)], [], [],
            overrides: InterfaceOverrides(
                environment: [
                    "usb0": InterfaceOverride(type: .cellular), "wwan0": InterfaceOverride(type: .wired),
                ]))
        #expect(
            reducer.snapshot().excluded.map(\.interface.expensive)
                == [Verdict(.guessedYes, .interfaceType), Verdict(.guessedNo, .interfaceType)])
    }
}
