import Foundation
import TestSupport
import Testing

/// The daemon itself, as an administrator's service with CAP_NET_ADMIN alone, and clients of another user without any right.
@Suite(
    "mpathd", .needsNamespaces, .needsRoot, .needs("ip", "unshare", "nft", "setpriv", "ping", "python3"),
    .serialized)
struct DaemonTests {
    /// Starts the daemon; `$user` runs a command as a user without rights.
    private static let daemon = """
        export MPATHD_SOCKET=$PWD/mpathd.sock
        # First in line on a busy machine: a client waits for an answer for 20 ms, then it connects without the daemon.
        service='nice -n -15 setpriv --reuid 65533 --regid 65533 --clear-groups --inh-caps=-all,+net_admin --ambient-caps=-all,+net_admin --bounding-set=-all,+net_admin'
        user='nice -n -15 setpriv --reuid 65534 --regid 65534 --clear-groups --inh-caps=-all --ambient-caps=-all --bounding-set=-all'
        chmod 777 .
        mkdir -p journal
        chmod 700 journal
        chown 65533 journal
        start_daemon() {
            RUNTIME_DIRECTORY=$PWD/journal $service "$bin/mpathd" --listen $MPATHD_SOCKET > /dev/null 2>> daemon &
            daemon=$!
            wait_for "mpathd" "$bin/mpathd" --status
        }
        start_daemon
        # Of a daemon that was killed: what runs in a pipeline can't wait for a process that its shell started.
        is_gone() { ! "$bin/mpathd" --status; }

        """

    private func run(_ script: String, within limit: Duration = .seconds(60)) async throws -> Program.Result {
        try await TwoPaths.run(Self.daemon + script, as: .root, within: limit)
    }

    @Test("refuses everything that a user could send and should not, by name, and goes on")
    func abuse() async throws {
        let result = try await run(
            """
            # For the other end: it would refuse the third.
            ip mptcp limits set subflows 8 add_addr_accepted 8
            $user "$bin/broker-probe" abuse $MPATHD_SOCKET
            echo "of another namespace: $($user unshare -Urn "$bin/broker-probe" elsewhere $MPATHD_SOCKET)"
            cat /proc/sys/net/mptcp/path_manager
            find journal/swift-multipath -type f -size +0
            # All have gone: nothing is left of them.
            wait_for "the end of the clients" bash -c '"$bin/mpathd" --status | grep -q "clients      1$"'
            kill -0 $daemon
            """)
        #expect(result.status == 0, "\(result.errors)")
        #expect(
            result.outputText == """
                a request before hello: no_hello
                garbage: malformed
                a text that is no object: malformed
                half an object: malformed
                an object that is nested deeply: malformed
                4,000 bytes: too_long
                an unknown request: unknown_request
                a token that is no number: malformed
                a number beyond 32 bits: malformed
                an order without its members: malformed
                hello again: done
                another version: version
                and after it: end
                the seventeenth packet of garbage: malformed
                and after that: end
                an empty packet: end
                prepare without a socket: no_descriptor
                hello with a descriptor: unwanted_descriptor
                prepare with two: unwanted_descriptor
                prepare with 253: unwanted_descriptor
                a file: no_internet_socket
                a file without rights: no_internet_socket
                a folder: no_internet_socket
                a pipe: no_internet_socket
                the daemon's own socket: no_internet_socket
                a socket of UDP: no_mptcp_socket
                a socket of TCP: no_mptcp_socket
                a socket that listens: socket_in_use
                a socket that is connected: socket_in_use
                attach of the kernel's own: foreign_socket
                a fresh socket: done
                an envelope in an envelope: no_internet_socket
                a socket in an envelope: done
                the same once more: too_late
                attach of a socket that is not connected: foreign_token
                an order before attach: foreign_token
                attach with another's token: foreign_token
                attach with a token of no connection: foreign_token
                attach: done
                the other's attach: done
                an order for the other's: foreign_token
                detach of the other's: foreign_token
                a subflow to an address that was not announced: foreign_remote
                a subflow from an address of another machine: no_route
                announce of such an address: foreign_address
                a subflow: done
                its event: told
                events to the other: none
                the subflow after 8: too_many_subflows
                a subflow that is not there: already_gone
                attach by another holder: done
                an order of the first one then: foreign_token
                what it was told: closed
                clients of one user: 16, then too_many_clients
                a client that never reads: end
                3,000 sockets at once: too_fast
                of another namespace: other_namespace
                kernel

                """)
    }

    @Test("a user who comes again and again and reads nothing has so much of its memory, and no more")
    func unread() async throws {
        let result = try await run(
            """
            $user "$bin/broker-probe" unread $MPATHD_SOCKET 100 > unread &
            probe=$!
            wait_for "a hundred clients" test -s unread
            cat unread
            # Root is served meanwhile, and the user again when it has closed its sockets.
            "$bin/mpathd" --status | grep '^clients '
            $user "$bin/broker-probe" prepare $MPATHD_SOCKET 1
            kill -KILL $probe
            wait $probe 2> /dev/null || true
            wait_for "the end of the clients" bash -c '"$bin/mpathd" --status | grep -q "clients      1$"'
            $user "$bin/broker-probe" prepare $MPATHD_SOCKET 1 | cut -d, -f1
            """)
        #expect(result.status == 0, "\(result.errors)")
        #expect(
            result.outputText.replacing(/, [0-9]+ KiB/, with: "") == """
                16 unread, 4 refusals
                clients      17
                none: ["end": 1]
                1 prepared

                """, "\(result.outputText)")
    }

    @Test("a client that passes its own end and is gone leaves nothing behind")
    func ownEnd() async throws {
        let result = try await run(
            """
            $user "$bin/broker-probe" own-end $MPATHD_SOCKET 4
            wait_for "the end of the clients" bash -c '"$bin/mpathd" --status | grep -q "clients      1$"'
            """)
        #expect(result.status == 0, "\(result.errors)")
        #expect(result.outputText == "4 passed their own end\n", "\(result.outputText)")
    }

    @Test("has an unprivileged mpconnect survive a silent Wi-Fi, and says so")
    func steers() async throws {
        let result = try await run(
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

    /// A conversation in whose middle something happens.
    private func conversation(_ meanwhile: String) -> String {
        """
        server "$bin/mpconnect" --listen 203.0.113.1:7000 < <(wait_for "the end" grep -q two got) > got 2> listener &
        listener=$!
        wait_for "the listener" grep listening listener
        {
            echo one; wait_for "the first half" grep -q one got
            \(meanwhile)
            echo two; wait_for "the second half" grep -q two got
        } | MULTIPATH_INTERFACES='wlan0=wifi wwan0=cellular,not-expensive' $user "$bin/mpconnect" -v --report 203.0.113.1:7000 2> events
        wait $listener
        cat got events /proc/sys/net/mptcp/path_manager >&2

        """
    }

    @Test("killed and started again, it is given its connections back, and steers them")
    func restarted() async throws {
        let result = try await run(
            conversation(
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
        let result = try await run(
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

    @Test("a user's routing rules hold for the subflows that it asks for")
    func routingRules() async throws {
        let result = try await run(
            """
            ip rule add pref 10 uidrange 65534-65534 from 198.51.100.2 prohibit

            """
                + conversation(
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
        let result = try await run(
            """
            # To the same interface, by another gateway: into a tunnel, say.
            ip route add default via 198.51.100.77 dev wwan0 table 77
            ip rule add pref 10 uidrange 65534-65534 oif wwan0 lookup 77

            """
                + conversation(
                    """
                    wait_for "the refusal" bash -c '"$bin/mpathd" --status | grep -q "routing rules forbid it"'
                    """))
        #expect(result.status == 0, "\(result.errors)")
        #expect(result.errors.hasPrefix("one\ntwo\n"), "\(result.errors)")
        #expect(!result.errors.contains("wwan0 joined"), "\(result.errors)")
    }

    @Test("steers connections over IPv6")
    func overIPv6() async throws {
        let result = try await run(
            """
            ip addr add 2001:db8:2::2/64 dev wwan0 nodad
            server ip addr add 2001:db8:2::1/64 dev w1 nodad
            ip route add default via 2001:db8:2::1 dev wwan0 metric 700
            # A link that has just come up finds its neighbours late: Wi-Fi is to be the first.
            for name in wlan0 wwan0; do wait_for "a way by $name" ping -c 1 -W 1 -I $name 2001:db8:ff::1; done

            """
                + conversation(
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

    @Test("two daemons and a program that steers by itself share the setting, and it rests afterwards")
    func neighbours() async throws {
        let result = try await run(
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

    @Test("killed at any moment it leaves no setting changed that its successor does not put back")
    func killedAnywhere() async throws {
        let result = try await run(
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

    @Test("a client that holds its socket's lock is refused, and holds up no other")
    func heldLock() async throws {
        let fixtures = try #require(Bundle.module.url(forResource: "Fixtures", withExtension: nil))
        let result = try await run(
            """
            # As root, for only then may it be late for a fault of the kernel's.
            python3 '\(fixtures.path)/hold-lock.py' $MPATHD_SOCKET 2 > held &
            holder=$!
            $user "$bin/broker-probe" prepare $MPATHD_SOCKET 100 | cut -d, -f1
            wait $holder
            grep -o '2 socket_held' held
            cat /proc/sys/net/mptcp/path_manager
            "$bin/mpathd" --status | grep -c ^held
            """)
        #expect(result.status == 0, "\(result.errors)")
        #expect(
            result.outputText == "100 prepared\n2 socket_held\nkernel\n1\n",
            "\(result.outputText) \(result.errors)")
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
