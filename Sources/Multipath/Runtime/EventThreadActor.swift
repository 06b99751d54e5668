import LinuxNet

/// An actor that lives on an event thread.
protocol EventThreadActor: Actor {
    nonisolated var thread: EventThread { get }
}

extension EventThreadActor {
    /// Runs a closure at once; the caller is on the event thread. `assumeIsolated` does the same, but asks Swift's
    /// runtime, which takes some thousand instructions for what the thread knows.
    @inline(__always)
    nonisolated func onEventThread<Result, Failure: Error>(
        _ body: (isolated Self) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        thread.checkIsolated()
        return try withoutActuallyEscaping(body) { body throws(Failure) in
            try unsafeBitCast(body, to: ((Self) throws(Failure) -> Result).self)(self)
        }
    }

    /// Runs a closure on the event thread soon.
    nonisolated func submit(_ body: @escaping @Sendable (isolated Self) -> Void) {
        thread.submit { self.onEventThread(body) }
    }
}
