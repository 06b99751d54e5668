import Foundation
import TestSupport
import Testing

/// What other programs and administrators do to the machine while a connection is steered.
@Suite("On a machine that changes meanwhile", .needsNamespaces, .needs("ip", "unshare", "nft"))
struct ChangedMachineTests {
    @Test(
        "a steered connection moves when Wi-Fi dies, and the setting stays as another program left it",
        arguments: [
            ("enabled 0", "kernel"), ("path_manager userspace", "userspace"), ("pm_type 1", "userspace"),
            ("path_manager kernel", "kernel"), ("blackhole_timeout 0", "kernel"),
        ])
    func sysctls(_ change: String, _ left: String) async throws {
        let words = change.split(separator: " ")
        let result = try await TwoPaths.run(
            """
            server "$bin/mpconnect" --listen 203.0.113.1:7000 < <(wait_for "the end" grep -q two got) > got 2> listener &
            listener=$!
            server "$bin/mpconnect" --listen 203.0.113.1:7001 < /dev/null > other 2> other-listener &
            wait_for "the listeners" grep listening listener
            wait_for "the listeners" grep listening other-listener
            export MULTIPATH_INTERFACES='wlan0=wifi wwan0=cellular,not-expensive'
            {
                echo one; wait_for "the first half" grep -q one got
                wait_for "a second path" grep -q 'wwan0 joined' events
                echo \(words[1]) > /proc/sys/net/mptcp/\(words[0])
                # Another connection of the library's, which takes things as they are now.
                echo hello | "$bin/mpconnect" --json 203.0.113.1:7001 2> report
                silence w0
                echo two; wait_for "the second half" grep -q two got
            } | "$bin/mpconnect" -v 203.0.113.1:7000 2> events
            wait $listener
            cat got other /proc/sys/net/mptcp/path_manager
            cat events >&2
            echo REPORT >&2
            cat report >&2
            """)
        #expect(result.status == 0, "\(result.errors)")
        #expect(result.outputText == "one\ntwo\nhello\n\(left)\n", "\(result.errors)")
        let parts = result.errors.components(separatedBy: "REPORT\n")
        #expect(parts.first?.contains("moved from wlan0 to wwan0") == true, "\(result.errors)")
        let report = try #require(try Commands.objects(parts.last ?? "").last)
        let hasMPTCP = change != "enabled 0"
        #expect(report["transport"] as? String == (hasMPTCP ? "mptcp" : "tcp"), "\(report)")
        #expect(report["control"] as? String == (hasMPTCP ? "per_connection" : "observe_only"), "\(report)")
    }

    /// Has every reading of the time of day be years off, another way every tenth of a second. Real clocks are the whole
    /// machine's: no namespace has its own CLOCK_REALTIME.
    private static let jumpingClock = #"""
        #define _GNU_SOURCE
        #include <dlfcn.h>
        #include <stdio.h>
        #include <stdlib.h>
        #include <sys/time.h>
        #include <time.h>
        static int readings;
        static int (*real)(clockid_t, struct timespec *);
        static time_t jump(void) {
            struct timespec now;
            if (!real) real = (int (*)(clockid_t, struct timespec *))dlsym(RTLD_NEXT, "clock_gettime");
            real(CLOCK_MONOTONIC, &now);
            __atomic_add_fetch(&readings, 1, __ATOMIC_RELAXED);
            return (now.tv_sec * 10 + now.tv_nsec / 100000000) % 2 ? 300000000 : -300000000;
        }
        int clock_gettime(clockid_t clock, struct timespec *time) {
            time_t offset = clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE ? jump() : 0;
            if (!real) real = (int (*)(clockid_t, struct timespec *))dlsym(RTLD_NEXT, "clock_gettime");
            int result = real(clock, time);
            time->tv_sec += offset;
            return result;
        }
        int gettimeofday(struct timeval *restrict time, void *restrict zone) {
            struct timespec now;
            clock_gettime(CLOCK_REALTIME, &now);
            time->tv_sec = now.tv_sec;
            time->tv_usec = now.tv_nsec / 1000;
            return 0;
        }
        time_t time(time_t *result) {
            struct timespec now;
            clock_gettime(CLOCK_REALTIME, &now);
            if (result) *result = now.tv_sec;
            return now.tv_sec;
        }
        __attribute__((destructor)) static void tell(void) {
            fprintf(stderr, "the time of day was read %d times\n", readings);
        }
        """#

    @Test("a clock that jumps by years changes nothing: not what is told, and not when", .needs("clang"))
    func clock() async throws {
        let folder = try TemporaryFolder()
        try folder.write(Self.jumpingClock, to: "clock.c")
        let compiled = try await Program.run([
            "clang", "-shared", "-fPIC", "-o", folder.file("clock.so"), folder.file("clock.c"), "-ldl",
        ])
        #expect(compiled.status == 0, "\(compiled.errors)")
        let result = try await TwoPaths.run(
            """
            \(TwoPaths.conversation(#"env LD_PRELOAD="$clock" "$bin/mpconnect" -v"#))
            cat got
            cat events >&2
            """, with: ["clock": folder.file("clock.so")])
        #expect(result.status == 0, "\(result.errors)")
        #expect(result.outputText == "one\ntwo\n")
        #expect(result.errors.contains("the time of day was read "), "\(result.errors)")
        #expect(
            result.errors.split(separator: "\n").count { $0.contains("moved from") } == 1, "\(result.errors)")
        #expect(!result.errors.contains("no path is left"), "\(result.errors)")
        if let line = result.errors.split(separator: "\n").first(where: {
            $0.contains("the time of day was read")
        }) {
            print("measured: \(line)")
        }
    }
}
