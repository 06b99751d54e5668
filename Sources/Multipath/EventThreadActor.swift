import LinuxNet

extension Actor {
    /// Does on the event thread, for an actor that lives there, what `assumeIsolated` does: that one asks Swift's
    /// runtime, which takes some thousand instructions for what the thread knows.
    @inline(__always)
    nonisolated func onEventThread<Result, Failure: Error>(
        _ body: (isolated Self) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        EventThread.shared.checkIsolated()
        return try withoutActuallyEscaping(body) { body throws(Failure) in
            try unsafeBitCast(body, to: ((Self) throws(Failure) -> Result).self)(self)
        }
    }
}
