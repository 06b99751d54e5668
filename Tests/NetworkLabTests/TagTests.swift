import Foundation
import TestSupport
import Testing

@testable import NetworkLab

extension Labs {
    @Suite("What a lab's user says of a link")
    struct Tags {
        private static let start = """
            mplab() { '\(LabCommand.program("mplab"))' "$@"; }
            mppaths() { '\(LabCommand.program("mppaths"))' "$@"; }
            log=$(mktemp); trap 'rm "$log"' EXIT
            hears() { # TEXT: waits until the watch has told it
              for ((i = 0; i < 1000; i++)); do
                grep -q "$1" "$log" && { echo "$1"; return; }
                read -t 0.02 <> <(:)
              done; echo "not heard: $1"; cat "$log"
            }
            '\(LabCommand.program("mppaths"))' watch > "$log" & watch=$!

            """

        @Test("changes while programs run, by mplab set and by mppaths set alike")
        func changes() throws {
            let outcome = try LabCommand.lab(
                [],
                Self.start + """
                    hears 'initial'
                    mplab set wlan0 constrained
                    hears 'wlan0 constrained changed (was no by assumed, is yes by settings)'
                    mplab set
                    mppaths set wlan0 constrained no
                    hears 'wlan0 constrained changed (was yes by settings, is no by settings)'
                    mplab set wwan0 expensive no
                    hears 'wwan0 expensive changed (was yes by settings, is no by settings)'
                    mplab set wwan0 auto
                    hears 'wwan0 expensive changed (was no by settings, is guessed yes by interface_type)'
                    mplab set; kill $watch
                    """)
            #expect(
                outcome.output == """
                    initial
                    wlan0 constrained changed (was no by assumed, is yes by settings)
                    wlan0 clean not-expensive constrained
                    wwan0 clean expensive
                    wlan0: expensive no, constrained no; running programs take it over at once
                    wlan0 constrained changed (was yes by settings, is no by settings)
                    wwan0 expensive changed (was yes by settings, is no by settings)
                    wwan0 expensive changed (was no by settings, is guessed yes by interface_type)
                    wlan0 clean not-expensive not-constrained
                    wwan0 clean

                    """, "\(outcome)")
        }

        @Test("changes at a scenario's time, and is told from outside too")
        func timeline() throws {
            let folder = try TemporaryFolder()
            try folder.write(
                """
                link wlan0 wifi rtt=2ms
                link wwan0 cellular,not-expensive,constrained rtt=2ms
                at 3s wlan0 constrained
                """, to: "low-data.lab")
            let running = try RunningCommand(
                [
                    LabCommand.program("mplab"), "run", "--quiet", "--scenario", folder.file("low-data.lab"),
                    "--trace", folder.file("trace"), "--", "bash", "-c",
                    Self.start + """
                        hears 'wlan0 constrained changed (was no by assumed, is yes by settings)'
                        hears 'wwan0 constrained changed (was yes by settings, is no by assumed)'
                        kill $watch
                        """,
                ])
            #expect(
                eventually(.seconds(30)) {
                    (try? folder.text("trace"))?.contains(#""change":"constrained yes""#) == true
                })
            #expect(try Processes.set(running, "wwan0", "constrained", "auto") == 0)
            let outcome = running.wait()
            #expect(
                outcome.output == """
                    wlan0 constrained changed (was no by assumed, is yes by settings)
                    wwan0 constrained changed (was yes by settings, is no by assumed)

                    """, "\(outcome)")
        }

        @Test("is not what the machine's user says of an interface with that name")
        func ownSettings() throws {
            let folder = try TemporaryFolder()
            try folder.makeFolder("multipath")
            try folder.write("constrained yes wlan0\n", to: "multipath/paths.conf")
            let outcome = try LabCommand.run([
                "/usr/bin/env", "XDG_CONFIG_HOME=\(folder.path)", LabCommand.program("mplab"), "run",
                "--quiet",
                "--", LabCommand.program("mppaths"), "set", "wlan0", "expensive", "yes",
            ])
            #expect(
                outcome.output
                    == "wlan0: expensive yes, constrained auto; running programs take it over at once\n")
            #expect(try folder.text("multipath/paths.conf") == "constrained yes wlan0\n")
        }

        @Test("stands in a folder that goes with the lab, or with the next one where the lab was killed")
        func folderGoes() throws {
            let marker = "\(UInt32.random(in: 100_000...999_999))"
            let script = ["--", "bash", "-c", "echo $MULTIPATH_HOME; exec sleep \(marker)"]
            let killed = try RunningCommand([LabCommand.program("mplab"), "run", "--quiet"] + script)
            let folders = { (process: Int32) in
                try FileManager.default.contentsOfDirectory(atPath: "/tmp")
                    .filter { $0.hasPrefix("mplab-\(process)-") }
            }
            let number = killed.process.processIdentifier
            #expect(eventually(.seconds(30)) { Processes.isRunning("sleep", marker) })
            killed.signal(SIGKILL)
            let home = killed.wait().output.split(separator: "\n").first.map(String.init) ?? ""
            #expect(home.contains("mplab-\(number)-"))
            // The first that comes when the last process of the killed one has ended.
            let isGone = try eventually {
                let next = try LabCommand.lab([], "ls $MULTIPATH_HOME")
                #expect(next.output == "paths.conf\n")
                return try folders(number) == []
            }
            #expect(isGone, "\(home)")
        }
    }
}

@Suite("Words about a link")
struct TagTextTests {
    @Test(
        "are read as they are written",
        arguments: [
            ("constrained", LinkAction.Tag.constrained(true), "constrained yes"),
            ("constrained no", .constrained(false), "constrained no"),
            ("not-constrained", .constrained(false), "constrained no"),
            ("constrained auto", .constrained(nil), "constrained auto"),
            ("expensive yes", .expensive(true), "expensive yes"),
            ("not-expensive", .expensive(false), "expensive no"), ("auto", .automatic, "auto"),
        ])
    func words(text: String, tag: LinkAction.Tag, again: String) throws {
        #expect(try LinkAction(parsing: text) == .tag(tag))
        #expect(tag.text == again)
        #expect(try LinkAction(parsing: again) == .tag(tag))
    }

    @Test("that can't be read are told with what they should be")
    func malformed() {
        let error = #expect(throws: LabTextError.self) { try LinkAction(parsing: "constrained maybe") }
        #expect(
            error?.description
                == "'constrained maybe' should read constrained yes, constrained no or constrained auto")
        let unknown = #expect(throws: LabTextError.self) { try LinkAction(parsing: "constraned") }
        #expect(unknown?.description.contains("did you mean 'constrained") == true, "\(unknown as Any)")
    }
}
