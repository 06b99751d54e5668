import TestSupport
import Testing

@Suite("With a home directory that doesn't answer", .needsNamespaces, .needs("ip", "unshare", "nft", "mount"))
struct HungHomeTests {
    /// A file system whose server never says a word: each call on it waits for ever.
    private static let home = #"""
        mkdir home
        exec 9<> /dev/fuse
        mount -i -t fuse -o fd=9,rootmode=40000,user_id=0,group_id=0 hung home
        export HOME=$PWD/home XDG_CONFIG_HOME=$PWD/home

        """#

    @Test("mppaths tells the paths, and the loss of one")
    func paths() async throws {
        let result = try await TwoPaths.run(
            Self.home + #"""
                "$bin/mppaths" watch --json > seen &
                last() { tail -n 1 seen | grep -q "\"primary\":\"$1\""; }
                wait_for "the first update" last wlan0
                ip link set wlan0 down
                wait_for "the loss of Wi-Fi" last wwan0
                kill %1
                """#)
        #expect(result.status == 0, "\(result.errors)")
    }

    @Test("mpconnect connects, and moves when Wi-Fi dies")
    func connection() async throws {
        let result = try await TwoPaths.run(
            """
            \(Self.home)
            \(TwoPaths.conversation(#""$bin/mpconnect" -v"#))
            cat got
            """)
        #expect(result.status == 0, "\(result.errors)")
        #expect(result.outputText == "one\ntwo\n")
    }
}
