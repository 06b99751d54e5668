import Foundation
import TestSupport
import Testing

/// A connection whose Wi-Fi dies, again and again, and each time another system call of the library's fails once, by one of
/// four errors in turn. `FAULT_STRIDE=1` takes every call and not every fifth; `FAULT_OFFSET=1` (2, …) begins later, so that
/// the calls fail by other errors.
@Suite("When a system call fails once", .needsNamespaces, .needs("ip", "unshare", "nft"))
struct FaultTests {
    /// From so many calls on each round repeats an earlier one.
    private static let most = 150

    @Test("mpconnect neither traps nor hangs, and says what failed if it can't go on")
    func everyCall() async throws {
        let result = try await TwoPaths.run(
            #"""
            errors=(\#(ENOMEM) \#(EMFILE) \#(ENOBUFS) \#(EPERM))
            within() { for _ in $(seq $1); do if grep -q "$2" "$3"; then return 0; fi; sleep 0.02; done; }
            for number in $(seq $((1 + ${FAULT_OFFSET:-0})) ${FAULT_STRIDE:-5} \#(Self.most)); do
                : > got; : > said
                # It ends its direction when it has all.
                server "$bin/mpconnect" --listen 203.0.113.1:$((7000 + number)) \
                    < <(within 500 two got) > got 2> listener &
                listener=$!
                wait_for "the listener" grep listening listener
                status=0
                # Plain TCP, where MPTCP's attempt failed, waits for Wi-Fi.
                {
                    echo one; within 100 one got; within 15 'wwan0 joined' said
                    silence w0; echo two; within 50 two got
                    server nft delete table inet silence
                } |
                    MULTIPATH_INTERFACES='wlan0=wifi wwan0=cellular,not-expensive' \
                    MULTIPATH_FAULT=$number:${errors[$(((number + ${FAULT_OFFSET:-0}) % 4))]} \
                    timeout -s KILL 20 "$bin/mpconnect" -v 203.0.113.1:$((7000 + number)) > /dev/null 2> said || status=$?
                kill $listener 2> /dev/null || true
                wait $listener 2> /dev/null || true
                ip tcp_metrics flush all > /dev/null 2>&1 || true
                echo "$number	$status	$(tr '\n' '|' < said)"
                grep -q '^fault: ' said || break
            done
            cat /proc/sys/net/mptcp/path_manager
            """#, within: .seconds(600))
        #expect(result.status == 0, "\(result.errors)")
        let lines = result.outputText.split(separator: "\n").map(String.init)
        var operations: Set<Substring> = []
        var moves = 0
        for line in lines.dropLast() {
            let parts = line.split(separator: "\t", omittingEmptySubsequences: false)
            try #require(parts.count == 3, "\(line)")
            // 137 is a hang; 132 to 134 and 139 are traps.
            #expect(["0", "1", "3"].contains(parts[1]), "\(line)")
            let said = parts[2].split(separator: "|")
            #expect(parts[1] == "0" || said.count > 1, "a failure has words: \(line)")
            moves += parts[2].contains("moved from wlan0 to wwan0") ? 1 : 0
            operations.formUnion(said.filter { $0.hasPrefix("fault: ") })
        }
        #expect(lines.last == "kernel", "the setting is what it was")
        #expect(lines.count > 10)
        print(
            "measured: \(lines.count - 1) runs, \(operations.count) kinds of calls failed, \(moves) moved all the same"
        )
    }
}
