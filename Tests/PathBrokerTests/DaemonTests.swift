import Foundation
import TestSupport
import Testing

/// What the daemon does for a user's program, and what it shares with others.
@Suite(
    "mpathd", .needsNamespaces, .needsRoot, .needs("ip", "unshare", "nft", "setpriv", "ping"),
    .serialized)
struct DaemonTests {
    @Test("has an unprivileged mpconnect survive a silent Wi-Fi, and says so")
    func steers() async throws {
        let result = try await DaemonLab.run(
            """
            \(TwoPaths.conversation(#"$user "$bin/mpconnect" -v --report"#))
            cat got events /proc/sys/net/mptcp/path_manager >&2
            """)
        #expect(result.status == 0, "\(result.errors)")
        #expect(result.errors.hasPrefix("one\ntwo\n"), "\(result.errors)")
        #expect(result.errors.contains("moved from wlan0 to wwan0: no "), "\(result.errors)")
        #expect(
            result.errors.contains("control     steers each connection's subflows through mpathd"),
            "\(result.errors)")
        #expect(result.errors.hasSuffix("kernel\n"), "the setting is what it was: \(result.errors)")
    }

    @Test("steers connections over IPv6")
    func overIPv6() async throws {
        let result = try await DaemonLab.run(
            """
            ip addr add 2001:db8:2::2/64 dev wwan0 nodad
            server ip addr add 2001:db8:2::1/64 dev w1 nodad
            ip route add default via 2001:db8:2::1 dev wwan0 metric 700
            # A link that has just come up finds its neighbours late: Wi-Fi is to be the first.
            for name in wlan0 wwan0; do wait_for "a way by $name" ping -c 1 -W 1 -I $name 2001:db8:ff::1; done

            """
                + DaemonLab.conversation(
                    """
                    wait_for "a second path" grep -q 'wwan0 joined' events
                    silence w0
                    """
                ).replacingOccurrences(of: "203.0.113.1:7000", with: "[2001:db8:ff::1]:7000"))
        #expect(result.status == 0, "\(result.errors)")
        #expect(result.errors.contains("moved from wlan0 to wwan0: no "), "\(result.errors)")
        #expect(result.errors.contains("2001:db8:ff::1"), "\(result.errors)")
        #expect(result.errors.hasSuffix("kernel\n"), "\(result.errors)")
    }

    @Test("a user's routing rules hold for the subflows that it asks for")
    func routingRules() async throws {
        let result = try await DaemonLab.run(
            """
            ip rule add pref 10 uidrange 65534-65534 from 198.51.100.2 prohibit

            """
                + DaemonLab.conversation(
                    """
                    wait_for "the refusal" bash -c '"$bin/mpathd" --status | grep -q "routing rules forbid it"'
                    """))
        #expect(result.status == 0, "\(result.errors)")
        #expect(result.errors.hasPrefix("one\ntwo\n"), "\(result.errors)")
        // The daemon's own user might go there.
        #expect(!result.errors.contains("wwan0 joined"), "\(result.errors)")
    }

    @Test("a user's rules that lead another way than the daemon's hold for the subflows that it asks for")
    func otherWays() async throws {
        let result = try await DaemonLab.run(
            """
            # To the same interface, by another gateway: into a tunnel, say.
            ip route add default via 198.51.100.77 dev wwan0 table 77
            ip rule add pref 10 uidrange 65534-65534 oif wwan0 lookup 77

            """
                + DaemonLab.conversation(
                    """
                    wait_for "the refusal" bash -c '"$bin/mpathd" --status | grep -q "routing rules forbid it"'
                    """))
        #expect(result.status == 0, "\(result.errors)")
        #expect(result.errors.hasPrefix("one\ntwo\n"), "\(result.errors)")
        #expect(!result.errors.contains("wwan0 joined"), "\(result.errors)")
    }

    @Test("two daemons and a program that steers by itself share the setting, and it rests afterwards")
    func neighbours() async throws {
        let result = try await DaemonLab.run(
            """
            mkdir -m 700 other
            chown 65533 other
            RUNTIME_DIRECTORY=$PWD/other $service "$bin/mpathd" --listen $PWD/other.sock > /dev/null 2>> daemon &
            wait_for "the other mpathd" env MPATHD_SOCKET=$PWD/other.sock "$bin/mpathd" --status
            $user "$bin/broker-probe" prepare $MPATHD_SOCKET 400 > first &
            first=$!
            $user "$bin/broker-probe" prepare $PWD/other.sock 400 > second &
            second=$!
            # As an administrator: it steers by itself. It spares 0.3 ms for the lock, which a daemon may hold for longer that has to
            # wait for a processor.
            for port in {7000..7009}; do
                server "$bin/mpconnect" --listen 203.0.113.1:$port < /dev/null > /dev/null 2> listener &
                wait_for "the listener" grep listening listener
                echo hello | "$bin/mpconnect" --json 203.0.113.1:$port 2> events
                grep -q '"control":"per_connection"' events && break
            done
            wait $first $second
            grep -o '"control":"[a-z_]*"' events | tail -n 1
            cut -d, -f1 first second
            cat /proc/sys/net/mptcp/path_manager
            find journal/swift-multipath other/swift-multipath -type f -size +0
            """)
        #expect(result.status == 0, "\(result.errors)")
        #expect(
            result.outputText.split(separator: "\n", omittingEmptySubsequences: true) == [
                #""control":"per_connection""#, "400 prepared", "400 prepared", "kernel",
            ], "\(result.outputText)")
    }

    @Test("a log that takes nothing more stops nothing")
    func fullLog() async throws {
        let result = try await TwoPaths.run(
            """
            export MPATHD_SOCKET=$PWD/mpathd.sock
            mkfifo full
            sleep 1000 < full &
            exec 9> full
            # More than a pipe holds.
            timeout 1 head -c 1000000 /dev/zero >&9 || true
            "$bin/mpathd" --listen $MPATHD_SOCKET > /dev/null 2>&9 &
            wait_for "mpathd" "$bin/mpathd" --status
            # Each is told to the log.
            for _ in 1 2 3; do "$bin/broker-probe" flood $MPATHD_SOCKET 1 > /dev/null 2>&1; done
            # As soon as the user may connect again.
            wait_for "the status" bash -c '"$bin/mpathd" --status | grep -q "clients: malformed"'
            wait_for "a socket" bash -c '"$bin/broker-probe" prepare $MPATHD_SOCKET 1 | grep -q "^1 prepared"'
            """, as: .root)
        #expect(result.status == 0, "\(result.errors)")
    }

    @Test("a service manager's socket will do, and a file's or a stream's won't")
    func socketActivation() async throws {
        let result = try await TwoPaths.run(
            """
            export MPATHD_SOCKET=$PWD/mpathd.sock
            systemd-socket-activate --seqpacket -l $MPATHD_SOCKET "$bin/mpathd" 2> daemon &
            wait_for "the socket" test -S $MPATHD_SOCKET
            "$bin/mpathd" --status --json
            LISTEN_FDS=1 bash -c 'LISTEN_PID=$$ exec "$0" 3< /dev/null' "$bin/mpathd" || echo $?
            "$bin/mpathd" || echo $?
            """, as: .root)
        #expect(result.status == 0, "\(result.errors)")
        #expect(result.outputText.hasPrefix(#"{"client_count":1,"#), "\(result.outputText)")
        #expect(result.outputText.hasSuffix("}\n1\n2\n"), "\(result.outputText)")
        #expect(result.errors.contains("ListenSequentialPacket="), "\(result.errors)")
        #expect(result.errors.contains("use --listen (see mpathd --help)"), "\(result.errors)")
    }

    @Test("without the privilege it says what it lacks")
    func unprivileged() async throws {
        let result = try await TwoPaths.run(
            """
            chmod 777 .
            setpriv --reuid 65534 --regid 65534 --clear-groups --inh-caps=-all --bounding-set=-all \
                "$bin/mpathd" --listen $PWD/mpathd.sock || echo $?
            # It leaves no file behind at which no process listens.
            ls mpathd.sock 2> /dev/null || true
            """, as: .root)
        #expect(result.outputText == "1\n", "\(result.errors)")
        #expect(result.errors.contains("path_manager: Permission denied"), "\(result.errors)")
    }
}
