#if DEBUG
    import CLinux
    import Glibc
    import PathCore
    import Synchronization

    /// Says what holds an event thread for more than 5 ms, with that thread's stack: in debug builds, where the environment
    /// has `MULTIPATH_WATCHDOG`. `llvm-symbolizer` turns addresses without a name into lines.
    ///
    /// What counts is the time in which the thread waits for something. That in which it could run, and other programs had
    /// the processors, does not (the second number of a task's schedstat, Documentation/scheduler/sched-stats.rst). Its own
    /// time on a processor has a limit ten times as high: so much slower are debug builds.
    final class EventThreadWatchdog: Sendable {
        private static let limit = Duration.milliseconds(5)
        private static let runningLimit = Duration.milliseconds(50)

        private let name: String
        private let thread = Atomic<pthread_t>(0)
        /// The thread's schedstat and stat, opened by itself.
        private let schedule = Atomic<CInt>(-1)
        private let status = Atomic<CInt>(-1)
        /// When the thread began what it does now, in nanoseconds; 0 while it waits for events.
        private let begun = Atomic<Int64>(0)
        /// How long it had run, and waited for a processor, until then, in nanoseconds.
        private let ranBefore = Atomic<Int64>(0)
        private let queuedBefore = Atomic<Int64>(0)
        /// How often it had waited for something until then.
        private let waitsBefore = Atomic<Int>(0)
        /// The `begun` of what was told.
        private let told = Atomic<Int64>(0)

        /// - Returns: nil unless the environment asks for it.
        init?(_ name: String) {
            guard mp_trusted_environment("MULTIPATH_WATCHDOG") != nil, mp_print_stacks() == 0 else {
                return nil
            }
            self.name = name
        }

        /// The calling thread is the one to be watched.
        func start() {
            // Dispatch's threads block signals, and so do the threads that they make.
            mp_take_stack_signal()
            thread.store(pthread_self(), ordering: .relaxed)
            schedule.store(open("/proc/thread-self/schedstat", O_RDONLY | O_CLOEXEC), ordering: .relaxed)
            status.store(open("/proc/thread-self/stat", O_RDONLY | O_CLOEXEC), ordering: .relaxed)
            var watcher = pthread_t()
            let this = Unmanaged.passRetained(self)
            let failure = pthread_create(
                &watcher, nil,
                { context in
                    if let context {
                        Unmanaged<EventThreadWatchdog>.fromOpaque(context).takeRetainedValue().watch()
                    }
                    return nil
                }, this.toOpaque())
            if failure == 0 { pthread_detach(watcher) } else { this.release() }
        }

        func begins() {
            ranBefore.store(ran, ordering: .relaxed)
            queuedBefore.store(queued, ordering: .relaxed)
            waitsBefore.store(ownWaits, ordering: .relaxed)
            begun.store(MonotonicTime.now.nanoseconds, ordering: .relaxed)
        }

        func ends() {
            let begun = begun.exchange(0, ordering: .relaxed)
            let held = held(since: begun)
            // A processor that a hypervisor took away looks like a wait that began nowhere.
            let isHeld = held.waiting > Self.limit && ownWaits > waitsBefore.load(ordering: .relaxed)
            if isHeld || held.running > Self.runningLimit, told.load(ordering: .relaxed) != begun {
                tell(held, stack: false)
            }
        }

        private func watch() {
            while true {
                usleep(1_000)
                let begun = begun.load(ordering: .relaxed)
                guard begun != 0, begun != told.load(ordering: .relaxed) else { continue }
                let held = held(since: begun)
                guard held.waiting > Self.limit && !isRunnable || held.running > Self.runningLimit,
                    self.begun.load(ordering: .relaxed) == begun
                else { continue }
                told.store(begun, ordering: .relaxed)
                tell(held, stack: true)
            }
        }

        private func held(since begun: Int64) -> (waiting: Duration, running: Duration) {
            let all = MonotonicTime(nanoseconds: begun).duration(to: .now)
            let running = Duration.nanoseconds(ran - ranBefore.load(ordering: .relaxed))
            let queued = Duration.nanoseconds(queued - queuedBefore.load(ordering: .relaxed))
            return (all - running - queued, running)
        }

        private func tell(_ held: (waiting: Duration, running: Duration), stack: Bool) {
            let line =
                "watchdog: the thread \(name) has been held for \(held.waiting + held.running), \(held.running) of it on "
                + "a processor\(stack ? ", by" : "")\n"
            _ = line.withCString { write(2, $0, strlen($0)) }
            if stack { pthread_kill(thread.load(ordering: .relaxed), SIGURG) }
        }

        /// The thread's time on a processor, in nanoseconds.
        private var ran: Int64 {
            var clock = clockid_t()
            var time = timespec()
            guard pthread_getcpuclockid(thread.load(ordering: .relaxed), &clock) == 0,
                clock_gettime(clock, &time) == 0
            else { return 0 }
            return Int64(time.tv_sec) * 1_000_000_000 + Int64(time.tv_nsec)
        }

        /// How long the thread has waited for a processor, in nanoseconds; 0 where the kernel does not say.
        private var queued: Int64 {
            text(schedule).split(separator: " ").dropFirst().first.flatMap { Int64($0) } ?? 0
        }

        /// How often the calling thread has given its processor up to wait for something.
        private var ownWaits: Int {
            var usage = rusage()
            return mp_usage_of_thread(&usage) == 0 ? usage.ru_nvcsw : 0
        }

        /// Whether the thread runs, or waits for a processor.
        private var isRunnable: Bool {
            // The name before it is in parentheses.
            text(status).split(separator: ")").last?.first { $0 != " " } == "R"
        }

        private func text(_ file: borrowing Atomic<CInt>) -> String {
            withUnsafeTemporaryAllocation(of: UInt8.self, capacity: 256) { buffer in
                let count = pread(file.load(ordering: .relaxed), buffer.baseAddress, buffer.count, 0)
                return count > 0 ? String(decoding: buffer[..<count], as: UTF8.self) : ""
            }
        }
    }
#endif
