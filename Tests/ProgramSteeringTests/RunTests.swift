// mprun itself, in labs: what it makes of a program's connections, and that it is not to be seen otherwise.

import Foundation
import TestSupport
import Testing

@Suite("mprun", .lab, .serialized)
struct RunTests {
    @Test("has curl live through a Wi-Fi that falls silent, whole and without an error")
    func silence() throws {
        let outcome = try RunLab.run(
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
        let outcome = try RunLab.run(
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

    @Test("steers a connection that the program has moved to another number")
    func moved() throws {
        let outcome = try RunLab.run("$run --list -- $probe moved $echo 2>&1")
        #expect(outcome.lines.first == "mptcp 1 conversations 20", "\(outcome)")
        #expect(outcome.output.contains("over wlan0: mptcp, steers each connection's subflows"), "\(outcome)")
    }

    @Test("steers a connection whose thread has ended when it comes about")
    func endedThread() throws {
        let outcome = try RunLab.run("$run --list -- $probe thread-ends $echo 2>&1")
        #expect(outcome.lines.first == "mptcp 1 conversations 20", "\(outcome)")
        #expect(outcome.output.contains("over wlan0: mptcp, steers each connection's subflows"), "\(outcome)")
    }

    @Test("is steered while others hold the locks of their own sockets for as long as they like", .needsRoot)
    func lockHolder() throws {
        let outcome = try RunLab.run(
            #"""
            # A page that is missing, and that this process never brings: what sends from there has the socket's lock until it is killed.
            cat > hold.py << 'END'
            import ctypes, mmap, os, socket, struct, threading, time
            from fcntl import ioctl
            libc = ctypes.CDLL(None, use_errno=True)
            faults = libc.syscall({"x86_64": 323, "aarch64": 282}[os.uname().machine], os.O_CLOEXEC)
            if faults < 0: raise SystemExit("userfaultfd: " + os.strerror(ctypes.get_errno()))
            ioctl(faults, 0xC018AA3F, bytearray(struct.pack("QQQ", 0xAA, 0, 0)))
            page = mmap.mmap(-1, mmap.PAGESIZE, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
            start = ctypes.addressof(ctypes.c_char.from_buffer(page))
            ioctl(faults, 0xC020AA00, bytearray(struct.pack("QQQQ", start, mmap.PAGESIZE, 1, 0)))
            held = socket.create_connection(("203.0.113.10", 7))
            send = lambda: libc.send(held.fileno(), ctypes.c_void_p(start), 4, 0)
            threading.Thread(target=send, daemon=True).start()
            os.read(faults, 32)
            print("held", flush=True)
            time.sleep(60)
            END
            python3 hold.py > held & holder=$!
            wait_for "the lock" sh -c "grep -q held held || ! kill -0 $holder"
            grep held held || exit 98
            timeout -k 1 20 $run --list -- $probe moved $echo 2>&1; echo "status $?"
            kill -KILL $holder
            """#)
        #expect(outcome.lines.prefix(2) == ["held", "mptcp 1 conversations 20"], "\(outcome)")
        #expect(outcome.output.contains("over wlan0: mptcp, steers each connection's subflows"), "\(outcome)")
        #expect(outcome.lines.last == "status 0", "\(outcome)")
    }

    @Test(
        "leaves a call that the kernel would refuse to the kernel, also one for which the program has no number left"
    )
    func refusedSockets() throws {
        let outcome = try RunLab.run(
            #"""
            $run -q -- python3 -c '
            import errno, resource, socket
            def make(kind):
                try: return socket.socket(socket.AF_INET, kind)
                except OSError as error: return errno.errorcode[error.errno]
            print(make(socket.SOCK_STREAM | 0x100))
            resource.setrlimit(resource.RLIMIT_NOFILE, (16, 16))
            kept = []
            while not isinstance(last := make(socket.SOCK_STREAM), str): kept.append(last)
            print(last, {make(socket.SOCK_STREAM) for _ in range(100)})
            kept = []
            print(make(socket.SOCK_STREAM).getsockopt(socket.SOL_SOCKET, socket.SO_PROTOCOL))
            '
            """#)
        #expect(outcome.lines == ["EINVAL", "EMFILE {'EMFILE'}", "262"], "\(outcome)")
    }

    @Test("chooses anew where a socket connects once more")
    func again() throws {
        let outcome = try RunLab.run("$run -q -- $probe twice \"$lab set wlan0 down\" $echo")
        #expect(outcome.output == "refused 1 command 0 conversation 1\n", "\(outcome)")
    }

    @Test("leaves programs TCP that are named, and says what has no effect")
    func exceptions() throws {
        let outcome = try RunLab.run(
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

    @Test("says what is wrong with its own arguments, and shows help with examples")
    func arguments() throws {
        let outcome = try RunLab.run(
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
