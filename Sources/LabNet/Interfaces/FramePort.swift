import PathCore

/// Where an emulated link's frames come from and go to.
///
/// One thread uses it at a time; another may make it.
package protocol FramePort: AnyObject, Sendable {
    /// For an event loop; readable when frames wait.
    var descriptor: CInt { get }

    /// Takes frames that wait, up to a limit, each with the time of its arrival. Bytes are valid in `body`.
    func receive(limit: Int, _ body: (UnsafeRawBufferPointer, MonotonicTime) -> Void)

    /// Sends frames, in order. One that can't be sent is lost.
    func send(_ frames: [UnsafeRawBufferPointer])
}
