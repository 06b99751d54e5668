import CLinux

/// A child that was forked and goes on in Swift, without an exec.
///
/// Swift's locks name their holder by a thread number that each thread asks the kernel for at its first lock, and keeps:
/// `Synchronization.Mutex` does (stdlib/public/Synchronization/Mutex/LinuxImpl.swift), and so does the runtime's own lock behind every
/// lazy global and metadata (include/swift/Threading/Impl/Linux/ulock.h). A thread that `fork` has copied keeps its parent's
/// number. That goes well until two threads want a lock at once: then the kernel is told a holder that is none (futex(2),
/// FUTEX_LOCK_PI). A Mutex traps; the runtime's lock is asked for again without end.
package enum ForkedProcess {
    /// Runs what the child does on a thread that no fork has copied. The calling one, which must be the child's only, does nothing any
    /// more; signals are taken as it took them.
    ///
    /// - Returns: only where there can be no thread, why: EAGAIN.
    package static func goOn(_ body: @escaping () -> Never) -> SystemError {
        let body = Unmanaged.passRetained(Body(body))
        let failure = mp_hand_over_to_thread(
            { context in
                guard let context else { return nil }
                Unmanaged<Body>.fromOpaque(context).takeRetainedValue().run()
            }, body.toOpaque())
        body.release()
        return SystemError("make a thread", errno: failure)
    }

    private final class Body {
        let run: () -> Never
        init(_ run: @escaping () -> Never) { self.run = run }
    }
}
