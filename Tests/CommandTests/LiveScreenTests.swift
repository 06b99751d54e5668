import CommandSupport
import Foundation
import Multipath
import TestSupport
import Testing

@Suite("The live table of mppaths watch")
struct LiveScreenTests {
    /// A laptop that has just lost its Ethernet.
    private var screen: LiveScreen {
        var screen = LiveScreen()
        screen.show(Screens.laptop, at: "14:03:20")
        var next = Screens.laptop
        next.generation = 2
        next.changes = [
            PathChange(.primaryChanged, interface: "wlan0", detail: "was eth0, is wlan0"),
            PathChange(.pathLost, interface: "eth0", detail: "no carrier"),
        ]
        screen.show(next, at: "14:03:22")
        return screen
    }

    private func text(_ rows: Int, _ columns: Int, hasColours: Bool = false) -> String {
        screen.lines(LiveScreen.Size(rows: rows, columns: columns), hasColours: hasColours)
            .joined(separator: "\n")
    }

    @Test("shows paths, other interfaces and the latest changes on 24 by 80")
    func whole() {
        #expect(
            text(24, 80) == """
                2 paths, wlan0 first                                          update 2  14:03:22
                   PATH     TYPE       EXPENSIVE    SAVE  IP   METRIC  LINK, ADDRESSES
                1  wlan0    wifi       unknown      yes   4 6  600     "Home", 433 Mbit/s, sign…
                2  wwan0    cellular   guessed yes  no    4    700     198.51.100.2/24
                -  lo       loopback   loopback
                -  eth0     wired      no carrier
                -  docker0  virtual    no default route
                -  veth1    virtual    no default route
                -  eth1     wired      down

                14:03:22  wlan0 primary changed (was eth0, is wlan0)
                14:03:22  eth0 path lost (no carrier)
                14:03:20  initial
                """)
    }

    @Test("shows addresses where there is room for them")
    func wide() {
        #expect(
            text(24, 200).contains(
                "\"Home\", 433 Mbit/s, signal -52 dBm, 192.0.2.2/24, 2001:db8:1::2/64 (deprecated), 2001:db8:1::"
            ))
    }

    @Test("keeps the paths and the newest changes where there are few rows")
    func low() {
        #expect(
            text(9, 60) == """
                2 paths, wlan0 first                      update 2  14:03:22
                   PATH     TYPE       EXPENSIVE    SAVE  IP   METRIC  LINK…
                1  wlan0    wifi       unknown      yes   4 6  600     "Hom…
                2  wwan0    cellular   guessed yes  no    4    700     198.…
                   5 more interfaces without a path

                14:03:22  wlan0 primary changed (was eth0, is wlan0)
                14:03:22  eth0 path lost (no carrier)
                """)
        #expect(text(3, 20).split(separator: "\n").count == 2)
    }

    @Test("fits every terminal, however small, with whatever names", arguments: [true, false])
    func sizes(hasColours: Bool) {
        var screen = screen
        var snapshot = Screens.laptop
        snapshot.interfaces[0].name = "カフェカフェカフェカフェカフェ"
        snapshot.interfaces[0].ssid = "\u{1B}[31m🏠🏠🏠🏠"
        snapshot.changes = (0..<30).map { PathChange(.addressesChanged, interface: "wlan\($0)") }
        screen.show(snapshot, at: "14:03:23")
        for rows in [1, 2, 3, 5, 8, 13, 21, 34] {
            for columns in 1...90 {
                let lines = screen.lines(
                    LiveScreen.Size(rows: rows, columns: columns), hasColours: hasColours)
                #expect(lines.count <= max(1, rows - 1), "\(rows) by \(columns)")
                let bare = lines.map { $0.replacing(/\u{1B}\[\d+m/, with: "") }
                #expect(bare.allSatisfy { TerminalText.width($0) <= columns }, "\(rows) by \(columns)")
                #expect(bare.allSatisfy { !$0.contains("\u{1B}") })
            }
        }
    }

    @Test("has colours only where they are wanted, and the same text with and without")
    func colours() {
        let coloured = text(24, 80, hasColours: true)
        #expect(coloured.contains("\u{1B}[33mguessed yes\u{1B}[0m"))
        #expect(coloured.contains("\u{1B}[31meth0 path lost (no carrier)\u{1B}[0m"))
        #expect(coloured.replacing(/\u{1B}\[\d+m/, with: "") == text(24, 80))
    }

    @Test("is drawn in place, after a resize too, and gives the cursor back")
    func drawing() {
        var frame = LiveFrame()
        let size = LiveScreen.Size(rows: 24, columns: 80)
        var bytes = "$ mppaths watch\r\n" + frame.draw(["one", "two"], on: size)
        #expect(TerminalScreen(bytes).text == "one\ntwo")
        #expect(!TerminalScreen(bytes).isCursorShown)
        bytes += frame.draw(["three"], on: size)
        #expect(TerminalScreen(bytes).text == "three")
        bytes += frame.draw(["four"], on: LiveScreen.Size(rows: 10, columns: 40))
        #expect(TerminalScreen(bytes).text == "four")
        bytes += frame.close()
        #expect(TerminalScreen(bytes).isCursorShown)
        #expect(TerminalScreen(bytes).unknown == [])
        #expect(frame.close() == "")
    }
}

@Suite("mppaths watch on a terminal", .needsNamespaces, .needs("ip", "unshare", "script", "stty"))
struct LiveTerminalTests {
    /// Runs `mppaths watch` on a terminal of 24 by 80; `shown WHAT PATTERN` waits until the terminal was sent
    /// something, `stage` prints all it was sent so far.
    private func run(_ command: String, _ script: String) async throws -> [String] {
        let result = try await TwoPaths.run(
            """
            mkfifo keys
            export TERM=xterm; unset NO_COLOR
            # In the background bash has a command ignore SIGINT.
            env --default-signal=INT script -qefc 'stty rows 24 columns 80; tty > tty; \(command)' /dev/null < keys > screen &
            exec 4> keys
            shown() { wait_for "$1 on the terminal" grep -q "$1" screen; }
            stage() { cat screen; printf '\\0'; }
            \(script)
            """)
        #expect(result.status == 0, "\(result.errors)")
        return result.outputText.split(separator: "\0", omittingEmptySubsequences: false).map(String.init)
    }

    @Test("shows a table, redraws it upon a change and a resize, and gives the cursor back at Ctrl-C")
    func live() async throws {
        let stages = try await run(
            #"exec "$bin/mppaths" watch"#,
            #"""
            shown initial
            stage
            ip link set wlan0 down
            shown 'was wlan0, is wwan0'
            stage
            stty -F "$(cat tty)" rows 6 columns 40
            shown '2 more interfaces'
            stage
            printf '\003' >&4
            status=0; wait %1 || status=$?
            stage
            echo $status
            """#)
        try #require(stages.count == 5)
        let first = TerminalScreen(stages[0])
        #expect(first.text.hasPrefix("2 paths, wlan0 first   "))
        #expect(
            first.text.contains(
                "\n1  wlan0  wifi       unknown      no    4 6  600     192.0.2.2/24, 2001:db8:1::…\n"))
        #expect(
            first.text.contains("\n2  wwan0  cellular   guessed yes  no    4    700     198.51.100.2/24\n"))
        #expect(first.text.contains("\n-  lo     loopback   loopback\n"))
        #expect(first.text.hasSuffix("  initial"))
        #expect(first.hadColours)
        #expect(!first.isCursorShown)

        let second = TerminalScreen(stages[1])
        #expect(second.text.hasPrefix("1 path, wwan0 first   "))
        #expect(second.text.contains("\n1  wwan0  cellular "))
        #expect(second.text.contains("\n-  wlan0  wifi       down\n"))
        #expect(second.text.contains("  wwan0 primary changed (was wlan0, is wwan0)\n"))
        #expect(second.text.contains("  wlan0 path lost (down)\n"))

        // Only what came after the resize was for the small terminal.
        let resized = try #require(stages[2].range(of: "\u{1B}[H\u{1B}[2J", options: .backwards))
        let third = TerminalScreen(String(stages[2][resized.lowerBound...]), rows: 6, columns: 40)
        let rows = third.text.split(separator: "\n")
        #expect(rows.count == 4)
        #expect(rows.first?.hasPrefix("1 path, wwan0 first") == true)
        #expect(rows.last == "   2 more interfaces without a path")

        #expect(TerminalScreen(stages[3]).isCursorShown)
        #expect(stages[4] == "130\n")
        for stage in stages { #expect(TerminalScreen(stage).unknown == []) }
    }

    @Test("has no colours where NO_COLOR says so, whatever its value")
    func noColour() async throws {
        for (value, hasColours) in [("1", false), ("0", false), ("", true)] {
            let stages = try await run(
                #"NO_COLOR=\#(value) exec "$bin/mppaths" watch"#,
                #"shown initial; printf '\003' >&4; wait %1 || true; stage"#)
            #expect(TerminalScreen(stages[0]).hadColours == hasColours, "NO_COLOR=\(value)")
            #expect(TerminalScreen(stages[0]).isCursorShown)
        }
    }

    @Test("prints lines where the terminal can't do more, and where lines are asked for")
    func lines() async throws {
        for command in [
            #"TERM=dumb exec "$bin/mppaths" watch"#, #"exec "$bin/mppaths" watch --lines"#,
        ] {
            let stages = try await run(command, #"shown initial; printf '\003' >&4; wait %1 || true; stage"#)
            #expect(
                stages[0].hasPrefix("#1 satisfied wlan0 (wifi) > wwan0 (cellular, expensive) | initial\r\n"),
                "\(stages)")
            #expect(!stages[0].contains("\u{1B}"))
        }
        let json = try await run(
            #"exec "$bin/mppaths" watch --json"#,
            #"shown initial; printf '\003' >&4; wait %1 || true; stage"#)
        #expect(json[0].hasPrefix("{\"excluded\""))
        #expect(!json[0].contains("\u{1B}"))
    }

    @Test("lets the user stop it for a while: the cursor is there meanwhile, and then the table again")
    func suspended() async throws {
        let stages = try await run(
            #"sh -mc "$bin/mppaths watch; stty -a > /dev/null; echo stopped; fg > /dev/null""#,
            #"""
            shown initial
            printf '\032' >&4
            shown stopped
            wait_for "the table again" bash -c '[ "$(grep -c "paths, wlan0" screen)" -ge 2 ]'
            printf '\003' >&4
            wait %1 || true
            stage
            """#)
        let text = stages[0]
        let stop = try #require(text.range(of: "stopped"))
        #expect(TerminalScreen(String(text[..<stop.lowerBound])).isCursorShown)
        let again = String(text[stop.upperBound...])
        #expect(again.contains("\u{1B}[?25l"))
        #expect(again.contains("2 paths, wlan0 first"))
        #expect(TerminalScreen(text).isCursorShown)
    }
}
