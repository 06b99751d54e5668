import CLinux
import Glibc

/// Threads for what may wait for as long as another process likes.
package enum OwnThread {
    /// Runs a closure on a thread of its own, which ends with it.
    ///
    /// - Parameter name: for debuggers; 15 bytes at most.
    /// - Throws: EAGAIN where there is no thread for it.
    package static func start(
        _ name: StaticString, _ body: @escaping @Sendable () -> Void
    ) throws(SystemError) {
        let failure = BlockingCalls.makeThread {
            mp_name_this_thread(name.utf8Start)
            body()
        }
        if failure != 0 { throw SystemError("make a thread", errno: failure) }
    }
}

/// The calling thread, and no other.
package enum ThreadPause {
    package static func sleep(_ duration: Duration) {
        usleep(UInt32(clamping: max(0, duration.wholeNanoseconds) / 1_000))
    }
}

extension ThreadPause {
    /// For a thread that has nothing more to do while the process's others work.
    package static func forever() -> Never {
        while true { pause() }
    }
}
