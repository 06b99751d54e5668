#if DEBUG
    import CLinux
    import Glibc
    import PathCore
    import Synchronization

    /// Says what holds an event thread for more than 5 ms, with that thread's stack: in debug builds, where the environment
    /// has `MULTIPATH_WATCHDOG`. `llvm-symbolizer` turns addresses without a name into lines.
    final class EventThreadWatchdog: Sendable {
        private static let limit = Duration.milliseconds(5)

        private let name: String
        private let thread = Atomic<pthread_t>(0)
        /// When the thread began what it does now, in nanoseconds; 0 while it waits.
        private let begun = Atomic<Int64>(0)

        /// - Returns: nil unless the environment asks for it.
        init?(_ name: String) {
            guard mp_trusted_environment("MULTIPATH_WATCHDOG") != nil, mp_print_stacks() == 0 else {
                return nil
            }
            self.name = name
        }

        /// The calling thread is the one to be watched.
        func start() {
            thread.store(pthread_self(), ordering: .relaxed)
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

        func begins() { begun.store(MonotonicTime.now.nanoseconds, ordering: .relaxed) }
        func ends() { begun.store(0, ordering: .relaxed) }

        private func watch() {
            var told: Int64 = 0
            while true {
                usleep(1_000)
                let begun = begun.load(ordering: .relaxed)
                guard begun != 0, begun != told else { continue }
                let held = MonotonicTime(nanoseconds: begun).duration(to: .now)
                guard held > Self.limit else { continue }
                told = begun
                let line = "watchdog: the thread \(name) has been held for \(held) by\n"
                _ = line.withCString { write(2, $0, strlen($0)) }
                pthread_kill(thread.load(ordering: .relaxed), SIGURG)
            }
        }
    }
#endif
