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
            Self.home + #"""
                server "$bin/mpconnect" --listen 203.0.113.1:7000 < <(wait_for "the end" grep -q two got) > got 2> listener &
                listener=$!
                wait_for "the listener" grep listening listener
                {
                    echo one; wait_for "the first half" grep -q one got
                    wait_for "a second path" grep -q 'wwan0 joined' events
                    silence w0
                    echo two; wait_for "the second half" grep -q two got
                } | MULTIPATH_INTERFACES='wlan0=wifi wwan0=cellular,not-expensive' "$bin/mpconnect" -v 203.0.113.1:7000 2> events
                wait $listener
                cat got
                """#)
        #expect(result.status == 0, "\(result.errors)")
        #expect(result.outputText == "one\ntwo\n")
    }
}
