// mprun without a privilege, beside mpathd in labs: slow, full, stopped, killed and started again.

import Foundation
import TestSupport
import Testing

@Suite("mprun with mpathd", .lab, .serialized)
struct RunWithBrokerTests {
    /// `$daemon` is mpathd, whose number `$server` is from `begin` on; `$plain` runs a command without privileges.
    private static let stoppedDaemon = """
        export MPATHD_SOCKET=$PWD/mpathd.sock
        plain='setpriv --inh-caps=-all --ambient-caps=-all --bounding-set=-all --no-new-privs'
        daemon='\(LabCommand.program("mpathd"))'
        mkdir -m 700 journal
        begin() {
            RUNTIME_DIRECTORY=$PWD/journal "$daemon" --listen $MPATHD_SOCKET > /dev/null 2>&1 & server=$!
            wait_for "mpathd" "$daemon" --status
        }

        """
    private static let daemon = stoppedDaemon + "begin\n"
    private static let steered = "mptcp, steers each connection's subflows through mpathd"

    @Test("has a connection leave by the interface that is known, also where nothing answers")
    func knownInterface() throws {
        let outcome = try RunLab.run(
            Self.daemon + #"""
                # What is in reserve is to be prepared when it is connected.
                kill -STOP $server
                # After a second the policy serves without an mpathd.
                # What is known is forgotten where the paths change just then.
                for _ in $(seq 5); do
                    $plain $run -q -- $probe between 'sleep 1.5; kill -STOP $(pgrep -n -x path-policy)' \
                        'kill -CONT $(pgrep -n -x path-policy)' $echo > bound
                    cat bound
                    grep -q "bound $(cat /sys/class/net/wlan0/ifindex)$" bound && echo "by wlan0" && break
                done
                """#)
        #expect(outcome.lines.first?.hasPrefix("commands 0 conversations 2 bound ") == true, "\(outcome)")
        #expect(outcome.lines.last == "by wlan0", "\(outcome)")
    }

    @Test(
        "has a program find the error of a connect that it has not fetched, though mpathd could prepare the socket by then"
    )
    func unfetchedError() throws {
        let outcome = try RunLab.run(
            Self.daemon + """
                kill -STOP $server
                cat > continue << END
                kill -CONT $server
                # After a second the policy serves without an mpathd.
                sleep 1.5
                # mprun, and who asks.
                for _ in \\$(seq 250); do "$daemon" --status | grep -q '^clients  *2$' && exit 0; sleep 0.02; done
                END
                $plain $run -q -- $probe unfetched 'sh ./continue' $echo
                """)
        #expect(outcome.output == "begun 1 command 0 then Connection refused conversation 1\n", "\(outcome)")
    }

    @Test("gives a program no socket whose further paths the kernel chooses, where paths are prohibited")
    func strictReserve() throws {
        let outcome = try RunLab.run(
            Self.daemon + """
                $plain $run --prohibit wwan0 --list -- $probe kinds "kill -STOP $server" $echo > told 2>&1
                grep "^command" told
                # Each is TCP, or mpathd has prepared it; else its connect is refused.
                grep " to " told | grep -e mptcp -e refused | grep -v "mptcp, steers" || echo "none"
                cat told >&2
                """)
        #expect(outcome.output == "command 0\nnone\n", "\(outcome)")
    }

    @Test("steers through mpathd where it has no privilege, and says how to get there where there is none")
    func unprivileged() throws {
        let outcome = try RunLab.run(
            Self.stoppedDaemon + """
                $plain $run -- curl -sS -o got http://server/3000 2>&1
                begin
                fetch() {
                    { wait_for "the first half" test -s half; sleep 0.3; $lab set wlan0 blackhole=both; } &
                    $plain $run --json -- curl -sS -m 12 --limit-rate 2M -o half http://server/6000000 2> told
                    status=$?; wait $!
                }
                fetch || fetch || fetch
                echo "status $status $(stat -c %s half)"
                cat told
                cat /proc/sys/net/mptcp/path_manager
                """)
        #expect(outcome.output.hasPrefix("mprun: connections are MPTCP, but not steered: "), "\(outcome)")
        #expect(outcome.output.contains("systemctl start mpathd.socket"), "\(outcome)")
        #expect(outcome.output.contains("status 0 6000000"), "\(outcome)")
        #expect(outcome.output.contains(#""control":"per_connection_by_broker""#), "\(outcome)")
        #expect(outcome.output.contains(#""event":"moved""#), "\(outcome)")
        #expect(outcome.lines.last == "kernel", "the setting is what it was: \(outcome)")
    }

    @Test(
        "has sockets prepared that were made while mpathd did not answer: in reserve, and when they are connected"
    )
    func slowDaemon() throws {
        let outcome = try RunLab.run(
            Self.daemon + """
                kill -STOP $server
                # A program whose socket is made meanwhile, and connected twice: the second time mpathd answers.
                $plain $run --list -- $probe twice "kill -CONT $server; sleep 3" $echo > told 2>&1
                grep -v "^mprun: 1 socket" told
                kill -STOP $server
                # What is in reserve was made meanwhile.
                cat > later << 'END'
                sleep 1.5
                kill -CONT $1
                sleep 4
                exec $2 moved $3 $4
                END
                $plain $run --list -- sh later $server $probe $echo 2>&1
                """)
        #expect(outcome.lines.first == "refused 1 command 0 conversation 1", "\(outcome)")
        #expect(outcome.lines.count(where: { $0.contains(Self.steered) }) == 2, "\(outcome)")
    }

    @Test("has the sockets work whose mpathd is full, and says why they are not steered")
    func fullDaemon() throws {
        let outcome = try RunLab.run(
            Self.daemon + #"""
                # As many clients as a user may have.
                python3 -c '
                import json, os, socket, time
                clients = []
                for number in range(16):
                    client = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
                    client.connect(os.environ["MPATHD_SOCKET"])
                    client.send(json.dumps({"v": 1, "id": 1, "op": "hello"}).encode())
                    clients.append((client, client.recv(4096)))
                open("full", "w").write("yes")
                time.sleep(60)
                ' & clients=$!
                wait_for "the clients" test -s full
                $plain $run -- curl -sS -o got http://server/300000; echo "status $? $(stat -c %s got)"
                $plain $run -q -- $probe threads 4 80
                kill $clients
                """#)
        #expect(outcome.lines == ["status 0 300000", "made 80 mptcp 80 failed 0 left open 0"], "\(outcome)")
        #expect(outcome.errors.contains("mpathd refused to steer"), "\(outcome)")
    }

    @Test("is steered by an mpathd that was killed and started again")
    func daemons() throws {
        let outcome = try RunLab.run(
            Self.daemon + """
                fetch() {
                    $plain $run --json -- curl -sS -m 15 --limit-rate 1M -o half http://server/8000000 2> told & curl=$!
                    wait_for "the first half" test -s half
                    wait_for "the connection's outcome" grep -q connected told
                    if ! grep -q per_connection_by_broker told; then kill $curl; wait $curl; return 1; fi
                    kill -KILL $server; wait $server 2> /dev/null
                    begin
                    wait_for "the connection" bash -c "'$daemon' --status | grep -q '^connections  1'"
                    $lab set wlan0 blackhole=both
                    wait $curl; status=$?
                }
                fetch
                echo "status $status $(stat -c %s half)"
                cat told
                """)
        #expect(
            outcome.lines.first == "status 0 8000000", "\(outcome)"
        )
        #expect(outcome.output.contains(#""event":"moved""#), "\(outcome)")
    }
}
