import Foundation
import TestSupport
import Testing

/// What a local user can send, leave unread or hold, and what the others notice of it.
@Suite(
    "mpathd and hostile clients", .needsNamespaces, .needsRoot,
    .needs("ip", "unshare", "nft", "setpriv", "python3"),
    .serialized)
struct HostileClientTests {
    @Test("refuses everything that a user could send and should not, by name, and goes on")
    func abuse() async throws {
        let result = try await DaemonLab.run(
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
                sockets without a pause: too_fast
                of another namespace: other_namespace
                kernel

                """)
    }

    @Test("a user who comes again and again and reads nothing has so much of its memory, and no more")
    func unread() async throws {
        let result = try await DaemonLab.run(
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
        let result = try await DaemonLab.run(
            """
            $user "$bin/broker-probe" own-end $MPATHD_SOCKET 4
            wait_for "the end of the clients" bash -c '"$bin/mpathd" --status | grep -q "clients      1$"'
            """)
        #expect(result.status == 0, "\(result.errors)")
        #expect(result.outputText == "4 passed their own end\n", "\(result.outputText)")
    }

    @Test("a client that holds its socket's lock is refused, and holds up no other")
    func heldLock() async throws {
        let fixtures = try #require(Bundle.module.url(forResource: "Fixtures", withExtension: nil))
        let result = try await DaemonLab.run(
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

    @Test("clients that flood it, stop or die in the middle keep no other from being served")
    func misbehaved() async throws {
        let result = try await DaemonLab.run(
            """
            # Other users than the one that is served.
            as() { echo "${user//65534/$1}"; }
            for number in 65529 65530; do
                $(as $number) "$bin/broker-probe" flood $MPATHD_SOCKET 600 > /dev/null &
                gone+=($!)
            done
            for number in {1..8}; do
                $(as 65531) "$bin/broker-probe" stop $MPATHD_SOCKET > stopped.$number &
                stopped+=($!)
                wait_for "a client that stops" test -s stopped.$number
            done
            $(as 65532) "$bin/broker-probe" prepare $MPATHD_SOCKET 100000 > /dev/null &
            dying=$!
            wait_for "work" bash -c '"$bin/mpathd" --status | grep -q "prepared .*[1-9]"'
            kill -KILL $dying
            $user "$bin/broker-probe" prepare $MPATHD_SOCKET 400 | cut -d, -f1
            kill -KILL ${gone[@]}
            wait_for "the others' end" bash -c '"$bin/mpathd" --status | grep -q "clients      9$"'
            kill -KILL ${stopped[@]}
            wait_for "the end of the clients" bash -c '"$bin/mpathd" --status | grep -q "clients      1$"'
            cat /proc/sys/net/mptcp/path_manager
            """)
        #expect(result.status == 0, "\(result.errors)")
        #expect(result.outputText == "400 prepared\nkernel\n", "\(result.outputText)")
    }
}
