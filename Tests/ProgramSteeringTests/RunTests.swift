// mprun itself, in labs: what it makes of a program's connections, and that it is not to be seen otherwise.

import Foundation
import TestSupport
import Testing

@Suite("mprun", .lab, .serialized)
struct RunTests {
    private func lab(_ script: String) throws -> Outcome { try RunLab.run(script) }

    @Test("has curl live through a Wi-Fi that falls silent, whole and without an error")
    func silence() throws {
        let outcome = try lab(
            """
            { wait_for "the first half" test -s got; sleep 0.3; $lab set wlan0 blackhole=both; } &
            $run --report -v -- curl -sS --limit-rate 2M -o got http://server/8000000 2> told
            echo "status $?"
            sha256sum < got | cut -d' ' -f1
            $lab set wlan0 blackhole=none
            curl -sS --max-time 20 http://server/sha256/8000000
            echo
            cat told
            """)
        #expect(outcome.status == 0, "\(outcome)")
        #expect(outcome.lines.first == "status 0", "\(outcome)")
        #expect(outcome.lines.count > 3 && outcome.lines[1] == outcome.lines[2], "\(outcome)")
        #expect(outcome.output.contains("moved from wlan0 to wwan0"), "\(outcome)")
        #expect(outcome.output.contains("path        wwan0: "), "\(outcome)")
    }

    @Test("bears with threads, epoll before connect, filters, closed descriptors, forks and daemons")
    func programs() throws {
        let outcome = try lab(
            """
            $run -q -- $probe threads 32 3200
            $run -q -- $probe epoll-first $echo
            $run -q -- $probe own-filter $echo
            $run -q -- $probe close-all $echo
            $run -q -- $probe forks 100
            $run -q -- $probe storm 1
            $run -q -- $probe traced $echo
            $run -q -- $probe compat
            $run -q -- $probe clones $echo
            $run -q -- $run -q -- $probe epoll-first $echo
            $run -q -- $probe daemon $PWD/daemon $echo
            echo "back $?"
            wait_for "the daemon" test -s daemon
            cat daemon
            wait_for "the end of all" bash -c '! pgrep -x trap-probe'
            for _ in $(seq 250); do pgrep -x 'mprun.*' > /dev/null || break; sleep 0.02; done
            echo "left behind: $(pgrep -x 'mprun.*' | wc -l)"
            """)
        #expect(
            outcome.output == """
                made 3200 mptcp 3200 failed 0 left open 0
                mptcp 1 told 1 error 0 by the first 1 by the copy 1
                own filter 1 mptcp 1 conversation 1
                first number 3 mptcp 1 conversation 1
                processes 100 mptcp 100 failed 0
                signals many sockets many mptcp all failed 0
                stops many outcome 11
                mptcp 0 made
                memory: 11
                memory and files: 11
                files: 11
                no signal: 11
                parent's parent: 11
                process numbers: 11
                network: 0
                a thread with files of its own: 11
                mptcp 1 told 1 error 0 by the first 1 by the copy 1
                back 0
                mptcp 1 conversation 1
                left behind: 0

                """, "\(outcome)")
    }

    @Test("ends as the program does, passes signals on, and stops and goes on with it")
    func endings() throws {
        let outcome = try lab(
            #"""
            $run -q -- sh -c 'exit 7'; echo "status $?"
            $run -q -- sh -c 'kill -KILL $$' 2> /dev/null; echo "status $?"
            $run -q -- no-such-program 2>&1; echo "status $?"
            $run -q -- /dev/null 2>&1; echo "status $?"
            $run -q -- bash -c 'trap "echo asked to end; exit 5" TERM; echo ready > ready; while :; do sleep 0.02; done' &
            wait_for "the program" test -s ready
            kill -TERM $!; wait $!; echo "status $?"
            $run -q -- bash -c 'echo $$ > pid; while :; do sleep 0.02; done' & both=$!
            wait_for "the program" test -s pid
            kill -STOP $(cat pid)
            wait_for "mprun to stop" grep -q '^State:.T' /proc/$both/status
            kill -CONT $both
            wait_for "the program to go on" grep -q '^State:.[SR]' /proc/$(cat pid)/status
            kill -STOP $(cat pid)
            wait_for "mprun to stop" grep -q '^State:.T' /proc/$both/status
            kill -CONT $(cat pid)
            wait_for "mprun to go on" grep -q '^State:.[SR]' /proc/$both/status
            kill -TERM $both; wait $both; echo "status $?"
            echo text | $run -q -- cat
            # The end of a pipe ends its writer: no signal is ignored that was not.
            $run -q -- bash -c 'yes | head -1; echo "${PIPESTATUS[0]}"'
            # A service manager's sockets are for the process that it has started.
            bash -c 'LISTEN_FDS=1 LISTEN_PID=$$ exec '"$run"' -q -- bash -c "test \$LISTEN_PID = \$\$ && echo listens"'
            $run -q -- $run -- true 2>&1
            """#)
        #expect(
            outcome.output == """
                status 7
                status 137
                mprun: no-such-program: No such file or directory
                status 127
                mprun: /dev/null: Permission denied
                status 126
                asked to end
                status 5
                status 143
                text
                y
                141
                listens
                mprun: connections are what the program makes them: another process answers its calls already (mprun, or a \
                container's supervisor)

                """, "\(outcome)")
    }

    @Test("passes a signal on that is for it alone, and not one that the program has got as well")
    func groupSignals() throws {
        let outcome = try lab(
            #"""
            cat > counting << 'END'
            trap 'count=$((count + 1)); echo "$count" > count' USR1
            trap 'exit 0' TERM
            echo $$ > ready
            while :; do sleep 0.02; done
            END
            setsid $run -q -- bash counting &
            group=$!
            wait_for "the program" test -s ready
            wait_for "the witness" pgrep -x path-witness
            witness=$(pgrep -n -x path-witness)
            kill -USR1 -- -$group
            wait_for "the first" grep -qx 1 count
            # One that comes before mprun has looked at the first is one with it: it has, when it has another witness.
            wait_for "mprun" bash -c "test \"\$(pgrep -n -x path-witness)\" != '$witness'"
            kill -USR1 $group
            wait_for "the second" grep -qx 2 count
            kill -USR1 -- -$group
            wait_for "the third" grep -qx 3 count
            # What would come twice comes within milliseconds.
            sleep 0.2
            kill -TERM -- -$group
            wait $group; echo "status $? signals $(cat count)"
            for _ in $(seq 250); do pgrep -x 'path-.*' > /dev/null || break; sleep 0.02; done
            """#)
        #expect(outcome.output == "status 0 signals 3\n", "\(outcome)")
    }

    @Test("steers a connection that the program has moved to another number")
    func moved() throws {
        let outcome = try lab("$run --list -- $probe moved $echo 2>&1")
        #expect(outcome.lines.first == "mptcp 1 conversations 20", "\(outcome)")
        #expect(outcome.output.contains("over wlan0: mptcp, steers each connection's subflows"), "\(outcome)")
    }

    @Test("steers a connection whose thread has ended when it comes about")
    func endedThread() throws {
        let outcome = try lab("$run --list -- $probe thread-ends $echo 2>&1")
        #expect(outcome.lines.first == "mptcp 1 conversations 20", "\(outcome)")
        #expect(outcome.output.contains("over wlan0: mptcp, steers each connection's subflows"), "\(outcome)")
    }

    @Test("chooses anew where a socket connects once more")
    func again() throws {
        let outcome = try lab("$run -q -- $probe twice \"$lab set wlan0 down\" $echo")
        #expect(outcome.output == "refused 1 command 0 conversation 1\n", "\(outcome)")
    }

    @Test("has no call fail while its own processes are killed, and serves again after that")
    func killed() throws {
        let outcome = try lab(
            """
            cat > both << 'END'
            $1 calls 4 $2 $3 > calls; status=$?
            # When no process is killed any more sockets are MPTCP again.
            while [ ! -e over ]; do sleep 0.02; done
            for _ in $(seq 50); do $1 calls 0.2 $2 $3 > later; grep -q "last mptcp 1" later && break; done
            exit $status
            END
            $run -q -- bash both $probe $echo &
            waiter=$!
            for round in $(seq 10); do
                sleep 0.$((RANDOM % 5 + 1))
                name=path-trap; [ $((RANDOM % 2)) = 1 ] && name=path-policy
                # The newest: those before may not have been reaped yet.
                kill -KILL $(pgrep -n -x $name) 2> /dev/null
            done
            touch over
            wait $waiter; echo "status $?"
            cat calls later
            """)
        #expect(outcome.lines.first == "status 0", "\(outcome)")
        #expect(outcome.lines.count == 3 && outcome.lines[1].contains(" failed 0 "), "\(outcome)")
        #expect(outcome.lines.last?.contains(" last mptcp 1 failed 0 ") == true, "\(outcome)")
    }

    @Test("killed itself it takes the program with it, and serves the program's descendants still")
    func waiterKilled() throws {
        let outcome = try lab(
            """
            cat > child << 'END'
            while [ ! -e go ]; do sleep 0.02; done
            $1 epoll-first $2 $3 > result
            END
            $run -q -- bash -c 'bash child '"$probe $echo"' & echo $$ > here; wait' 2> /dev/null &
            wait_for "the program" test -s here
            kill -KILL $!
            wait_for "a guard" pgrep -x path-guard
            wait_for "the program's end" bash -c '! kill -0 $(cat here) 2> /dev/null'
            kill -KILL $(pgrep -n -x path-trap)
            touch go
            wait_for "the result" test -s result
            cat result
            """)
        // A call in the hands of a trap that is killed becomes TCP.
        #expect(outcome.output.hasSuffix(" told 1 error 0 by the first 1 by the copy 1\n"), "\(outcome)")
    }

    @Test("leaves no process behind where all but the one that decides are killed at once")
    func killedTogether() throws {
        let outcome = try lab(
            """
            $run -q -- bash -c 'echo $$ > here; exec sleep 60' & waiter=$!
            wait_for "the program" test -s here
            wait_for "the trap" pgrep -x path-trap
            trap=$(pgrep -n -x path-trap)
            # It is not to see the other's end.
            kill -STOP $trap
            kill -KILL $waiter $trap
            for _ in $(seq 250); do pgrep -x 'path-.*' > /dev/null || break; sleep 0.02; done
            echo "left behind: $(pgrep -x 'path-.*' | wc -l)"
            kill -KILL $(cat here)
            """)
        #expect(outcome.lines.last == "left behind: 0", "\(outcome)")
    }

    @Test("leaves a program in another network namespace as it is, and refuses it where paths are prohibited")
    func otherNetwork() throws {
        let outcome = try lab(
            """
            cat > there << 'END'
            ip link set lo up; ip address add 203.0.113.10/32 dev lo
            python3 -c '
            import socket
            listener = socket.create_server(("203.0.113.10", 7))
            try:
                connection = socket.create_connection(("203.0.113.10", 7))
                connection.sendall(b"text")
                print(listener.accept()[0].recv(4).decode())
            except OSError as error: print(error.strerror)
            '
            END
            $run --list -- unshare --net sh there 2>&1
            $run -q --prohibit cellular -- unshare --net sh there
            """)
        #expect(
            outcome.lines == [
                "text",
                "mprun: 2 made as TCP: the program is in another network namespace, or not to be looked at",
                "mprun: 2 sockets, 0 of them MPTCP; 0 connects; 1 connect of processes that can't be looked at, or of other "
                    + "network namespaces",
                "Network is unreachable",
            ], "\(outcome)")
    }

    @Test("refuses what is prohibited before a packet leaves, and uses what is not")
    func prohibited() throws {
        let outcome = try lab(
            """
            nft 'add table inet count; add chain inet count sent { type filter hook output priority 0; };
                add counter inet count carried; add rule inet count sent oifname "wwan0" tcp dport 80 counter name carried'
            $run -q --prohibit cellular -- curl -sS -o got http://server/300000; echo "status $? $(stat -c %s got)"
            nft list counter inet count carried | grep -o 'packets [0-9]*'
            $run -q --prohibit wlan0,wwan0 -- curl -s -o got http://server/300000; echo "status $?"
            $run --list --require wwan0 -- curl -sS -o got http://server/300000 2>&1
            $run --prohibit celular -- true; echo "status $?"
            """)
        #expect(
            outcome.lines.prefix(3) == ["status 0 300000", "packets 0", "status 7"],
            "\(outcome)")
        #expect(outcome.output.contains("over wwan0: mptcp, steers each connection's subflows"), "\(outcome)")
        #expect(outcome.lines.last == "status 2", "\(outcome)")
        #expect(outcome.errors.contains("did you mean 'cellular'?"), "\(outcome)")
    }

    @Test("has what connects next avoid a Wi-Fi that another connection has found silent")
    func suspect() throws {
        let outcome = try lab(
            """
            { wait_for "the first half" test -s got; sleep 0.3; $lab set wlan0 blackhole=both; } &
            $run --list -- sh -c 'curl -sS --limit-rate 2M -o got http://server/4000000; curl -sS -o next http://server/3000' 2>&1
            """)
        #expect(outcome.lines.count == 3, "\(outcome)")
        #expect(outcome.lines.first?.contains("over wlan0: mptcp, steers") == true, "\(outcome)")
        #expect(outcome.lines.dropFirst().first?.contains("over wwan0: mptcp, steers") == true, "\(outcome)")
    }

    @Test(
        "finds out that Wi-Fi was silent before the program began, so that its next connection goes by cellular"
    )
    func silentBefore() throws {
        let outcome = try lab(
            """
            $lab set wlan0 blackhole=both
            $run --list -- sh -c 'for _ in 1 2 3 4; do curl -sS -m 1 -o next http://203.0.113.10/3000; done' 2>&1
            stat -c %s next
            """)
        #expect(outcome.output.contains(" over wwan0: mptcp, steers"), "\(outcome)")
        #expect(outcome.lines.last == "3000", "\(outcome)")
    }

    @Test("uses the interface that is to be first, and in aggregate mode both")
    func preferences() throws {
        let outcome = try lab(
            """
            $run --list --prefer wwan0 -- curl -sS -o got http://server/300000 2>&1
            $run --prefer wwna0 -- true 2>&1
            $run --json --mode aggregate -- curl -sS -o got http://server/20000000 2>&1 | tail -1 |
                python3 -c 'import json, sys
            paths = json.load(sys.stdin)["sockets"][0]["paths"]
            print(sorted(path["interface"] for path in paths if path["bytes_received"] > 2_000_000))'
            """)
        #expect(outcome.lines.first?.contains(" over wwan0: mptcp, steers") == true, "\(outcome)")
        #expect(
            outcome.lines.suffix(2) == [
                "mprun: warning: --prefer: no interface is named 'wwna0' (did you mean 'wwan0'?)",
                "['wlan0', 'wwan0']",
            ], "\(outcome)")
    }

    @Test("leaves programs TCP that are named, and says what has no effect")
    func exceptions() throws {
        let outcome = try lab(
            """
            $run --list --tcp-for 'cur?' -- curl -sS -o got http://server/3000 2>&1 | tail -2
            $run -v -- python3 -c '
            import socket
            s = socket.create_connection(("203.0.113.10", 7))
            s.setsockopt(socket.IPPROTO_TCP, 18, 5000)
            try: s.setsockopt(socket.SOL_SOCKET, 60, 1)
            except OSError as error: print(error.strerror)
            ' 2>&1 | grep -v ' to ' | LC_ALL=C sort
            """)
        #expect(
            outcome.output == """
                mprun: 1 made as TCP: --tcp-for names the program
                mprun: 1 socket, 0 of them MPTCP; 1 connect
                Operation not supported
                mprun: python3 sets SO_ZEROCOPY, which MPTCP has not: it is refused (--tcp-for 'python3' leaves the program TCP)
                mprun: python3 sets TCP_USER_TIMEOUT, which MPTCP has not: it has no effect (--tcp-for 'python3' leaves the \
                program TCP)

                """, "\(outcome)")
    }

    @Test("serves on what outlives the program, though its report finds no reader")
    func unreadReport() throws {
        let outcome = try lab(
            """
            mkfifo pipe; exec 7<>pipe
            dd if=/dev/zero of=pipe bs=4096 count=16 oflag=nonblock 2> /dev/null
            cat > both << 'END'
            (while [ ! -e go ]; do sleep 0.1; done; $1 bench 20 $2 $3 20000 > late) &
            $1 epoll-first $2 $3
            END
            $run --report -- sh both $probe $echo 2>&7
            touch go
            wait_for "what is left" grep -q connect late
            head -1 late
            sed -n 's/^socket p50 \\([0-9]*\\).*/\\1/p' late
            for _ in $(seq 500); do pgrep -x 'path-.*' > /dev/null || break; sleep 0.02; done
            echo "left behind: $(pgrep -x 'path-.*' | wc -l)"
            """)
        #expect(outcome.lines.count == 4 && outcome.lines[1] == "mptcp 20 of 20", "\(outcome)")
        // Each waited for its full 60 ms while the policy was held up.
        #expect(Int(outcome.lines.dropFirst(2).first ?? "").map { $0 < 40_000 } == true, "\(outcome)")
        #expect(outcome.lines.last == "left behind: 0", "\(outcome)")
    }

    @Test("says what is wrong with its own arguments, and shows help with examples")
    func arguments() throws {
        let outcome = try lab(
            """
            $run; echo "status $?"
            $run --frobnicate -- true; echo "status $?"
            $run -q --report -- true; echo "status $?"
            $run --help | grep -c 'mprun curl'
            $run --version
            # What the package's manual and completions are made of.
            $run --experimental-dump-help | grep -c '"commandName" *: *"mprun"'
            $run --generate-completion-script bash | grep -c '^complete .* mprun$'
            $run --generate-completion-script fish | grep -c "^complete -c 'mprun' .* -l 'mode' "
            $run -q sh -c 'echo "$@"' sh --help; $run -q --mode handover sh -c 'echo "$@"' sh --version
            $run -q -- sh -c 'echo "$@"' sh --generate-completion-script bash --experimental-dump-help
            """)
        #expect(outcome.lines.prefix(3) == ["status 2", "status 2", "status 2"], "\(outcome)")
        #expect(outcome.errors.contains("there is no program to run (see mprun --help)"), "\(outcome)")
        #expect(outcome.errors.contains("there is no option '--frobnicate'"), "\(outcome)")
        #expect(
            outcome.lines.count == 11 && outcome.lines[3] == "1"
                && outcome.lines[5...] == [
                    "1", "1", "1", "--help", "--version",
                    "--generate-completion-script bash --experimental-dump-help",
                ], "\(outcome)")
    }
}
