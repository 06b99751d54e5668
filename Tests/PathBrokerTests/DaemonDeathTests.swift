import TestSupport
import Testing

/// The daemon killed, stopped and started again: the setting rests, and no connection is cut off.
@Suite(
    "mpathd that dies", .needsNamespaces, .needsRoot, .needs("ip", "unshare", "nft", "setpriv", "strace"),
    .serialized)
struct DaemonDeathTests {
    @Test("killed and started again, it is given its connections back, and steers them")
    func restarted() async throws {
        let result = try await DaemonLab.run(
            DaemonLab.conversation(
                """
                wait_for "a second path" grep -q 'wwan0 joined' events
                kill -KILL $daemon
                wait_for "the daemon's end" is_gone
                start_daemon
                wait_for "the connection" bash -c '"$bin/mpathd" --status | grep -q "connections  1$"'
                silence w0
                """))
        #expect(result.status == 0, "\(result.errors)")
        #expect(result.errors.contains("moved from wlan0 to wwan0: no "), "\(result.errors)")
        #expect(result.errors.hasSuffix("kernel\n"), "\(result.errors)")
    }

    @Test("stopped, it keeps no program from connecting, and its connections go on")
    func stopped() async throws {
        let result = try await DaemonLab.run(
            """
            kill -STOP $daemon
            server "$bin/mpconnect" --listen 203.0.113.1:7000 < /dev/null > got 2> listener &
            listener=$!
            wait_for "the listener" grep listening listener
            echo hello | $user "$bin/mpconnect" --json 203.0.113.1:7000 2> events
            wait $listener
            kill -CONT $daemon
            cat got events
            """)
        #expect(result.status == 0, "\(result.errors)")
        #expect(result.outputText.hasPrefix("hello\n"))
        #expect(result.outputText.contains(#""control_limit":"broker_silent""#), "\(result.outputText)")
    }

    @Test("killed at any moment it leaves no setting changed that its successor does not put back")
    func killedAnywhere() async throws {
        let result = try await DaemonLab.run(
            """
            for pause in 0 1 2 3 5 8 13 21; do
                $user "$bin/broker-probe" prepare $MPATHD_SOCKET 100000 > /dev/null 2>&1 &
                client=$!
                wait_for "work" bash -c '"$bin/mpathd" --status | grep -q "prepared .*[1-9]"'
                sleep 0.0$pause
                kill -KILL $daemon
                wait $daemon $client 2> /dev/null || true
                start_daemon
                # The daemon puts back what its predecessor left.
                cat /proc/sys/net/mptcp/path_manager
            done | sort | uniq -c
            $user "$bin/broker-probe" prepare $MPATHD_SOCKET 1 | cut -d, -f1
            find journal/swift-multipath -type f -size +0
            """)
        #expect(result.status == 0, "\(result.errors)")
        #expect(result.outputText == "      8 kernel\n1 prepared\n", "\(result.outputText)")
    }

    @Test(
        "killed before each call of a change it leaves what its successor puts back, and cuts no connection off"
    )
    func killedAtEachStep() async throws {
        let result = try await DaemonLab.run(
            """
            look() { echo "$(< /proc/sys/net/mptcp/path_manager), $(find journal/swift-multipath -type f -size +0 | wc -l)"; }
            # Kills the daemon before a thread's call of that number: 1 is for the first.
            kill_before() {
                wait_for "the connection" bash -c '"$bin/mpathd" --status | grep -q "connections  1$"'
                strace -f -p $daemon -o trace -e trace=$1 -e inject=$1:signal=KILL:when=$2 2> tracer &
                tracer=$!
                wait_for "the tracer" grep -q attached tracer
                $user "$bin/broker-probe" prepare $MPATHD_SOCKET 1 > prepared
                if grep -q '^1 prepared' prepared; then
                    # The next one can't attach before it has let go.
                    kill $tracer
                    wait $tracer 2> /dev/null || true
                    return 1
                fi
                wait_for "the daemon's end" is_gone
                local was=$(look)
                start_daemon
                echo "$1: $was, then $(look)" >> told
            }

            """
                + DaemonLab.conversation(
                    """
                    wait_for "a second path" grep -q 'wwan0 joined' events
                    # What a change consists of: the lock, the setting, the journal and the socket.
                    for call in flock pread64 pwrite64 connect ftruncate; do
                        for number in {1..20}; do kill_before $call $number || break; done
                    done
                    silence w0
                    """) + "cat told")
        #expect(result.status == 0, "\(result.errors)")
        // Of each call at least so many: read, changed, read, put back; the journal's entry is made before and dropped after.
        let steps = result.outputText.split(separator: "\n")
        for (call, count) in [
            ("flock", 2), ("pread64", 2), ("pwrite64", 3), ("connect", 1), ("ftruncate", 1),
        ] {
            #expect(steps.count { $0.hasPrefix("\(call): ") } >= count, "\(result.outputText)")
        }
        // Some were killed in the middle.
        #expect(steps.contains { $0.hasSuffix(": userspace, 1, then kernel, 0") }, "\(result.outputText)")
        #expect(steps.allSatisfy { $0.hasSuffix(", then kernel, 0") }, "\(result.outputText)")
        #expect(result.errors.contains("one\ntwo\n"), "\(result.errors)")
        #expect(result.errors.contains("moved from wlan0 to wwan0: no "), "\(result.errors)")
    }
}
