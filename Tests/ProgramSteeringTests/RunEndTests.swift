// How a program under mprun ends, in labs: with its status, by signals, and where mprun's own processes are killed.

import Foundation
import TestSupport
import Testing

@Suite("mprun's end", .lab, .serialized)
struct RunEndTests {
    @Test("ends as the program does, passes signals on, and stops and goes on with it")
    func endings() throws {
        let outcome = try RunLab.run(
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
        let outcome = try RunLab.run(
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

    @Test("has no call fail while its own processes are killed, and serves again after that")
    func killed() throws {
        let outcome = try RunLab.run(
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
        let outcome = try RunLab.run(
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
        let outcome = try RunLab.run(
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

    @Test("serves on what outlives the program, though its report finds no reader")
    func unreadReport() throws {
        let outcome = try RunLab.run(
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
}
