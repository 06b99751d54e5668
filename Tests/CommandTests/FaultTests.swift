import Foundation
import TestSupport
import Testing

/// A connection whose Wi-Fi dies, again and again, and each time another system call of the library's fails once, by one of
/// four errors in turn: `FAULT_OFFSET=1` (2, 3) has each call fail by another one.
@Suite("When a system call fails once", .needsNamespaces, .needs("ip", "unshare", "nft"))
struct FaultTests {
    /// From so many calls on each round repeats an earlier one.
    private static let most = 150

    @Test("mpconnect neither traps nor hangs, and says what failed if it can't go on")
    func everyCall() async throws {
        let result = try await TwoPaths.run(
            #"""
            errors=(\#(ENOMEM) \#(EMFILE) \#(ENOBUFS) \#(EPERM))
            for number in $(seq \#(Self.most)); do
                server "$bin/mpconnect" --listen 203.0.113.1:$((7000 + number)) < /dev/null > got 2> listener &
                listener=$!
                wait_for "the listener" grep listening listener
                status=0
                { echo one; sleep 0.15; silence w0; echo two; sleep 0.25; } |
                    MULTIPATH_INTERFACES='wlan0=wifi wwan0=cellular,not-expensive' \
                    MULTIPATH_FAULT=$number:${errors[$(((number + ${FAULT_OFFSET:-0}) % 4))]} \
                    timeout -s KILL 20 "$bin/mpconnect" 203.0.113.1:$((7000 + number)) > /dev/null 2> said || status=$?
                server nft delete table inet silence
                kill $listener 2> /dev/null || true
                wait $listener 2> /dev/null || true
                ip tcp_metrics flush all > /dev/null 2>&1 || true
                echo "$number	$status	$(tr '\n' '|' < said)"
                grep -q '^fault: ' said || break
            done
            cat /proc/sys/net/mptcp/path_manager
            """#, within: .seconds(400))
        #expect(result.status == 0, "\(result.errors)")
        let lines = result.outputText.split(separator: "\n").map(String.init)
        var operations: Set<Substring> = []
        for line in lines.dropLast() {
            let parts = line.split(separator: "\t", omittingEmptySubsequences: false)
            try #require(parts.count == 3, "\(line)")
            // 137 is a hang; 132 to 134 and 139 are traps.
            #expect(["0", "1", "3"].contains(parts[1]), "\(line)")
            let said = parts[2].split(separator: "|")
            #expect(parts[1] == "0" || said.count > 1, "a failure has words: \(line)")
            operations.formUnion(said.filter { $0.hasPrefix("fault: ") })
        }
        #expect(lines.last == "kernel", "the setting is what it was")
        #expect(lines.count > 20)
        print("measured: \(lines.count - 1) runs, \(operations.count) kinds of calls failed")
    }
}
