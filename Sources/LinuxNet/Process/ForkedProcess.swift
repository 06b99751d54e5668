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
    /// - Throws: EAGAIN where there is no thread for it.
    package static func goOn(_ body: @escaping () -> Never) throws(SystemError) -> Never {
        // Handed over: the calling thread touches nothing of it again.
        nonisolated(unsafe) let body = body
        let failure = BlockingCalls.makeThread { body() }
        if failure != 0 { throw SystemError("make a thread", errno: failure) }
        ThreadPause.forever()
    }
}
