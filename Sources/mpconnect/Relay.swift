import LinuxNet
import NIOCore

/// Moves bytes between the standard streams and a channel. A slow end slows the other one down: no
/// more than a few buffers are ever held.
struct Relay: Sendable {
    let stream: Session.Stream

    /// How it ended.
    enum End: Sendable {
        case done
        /// The connection failed.
        case broke(String)
        /// Standard input or output failed.
        case streamFailed(String)
        /// The reader of standard output has gone.
        case outputClosed
        case signal(Int32)
    }

    /// Large enough that a read's way through its thread does not count.
    static let bufferSize = 256 * 1024

    private static let input = BlockingCalls(limit: 1)
    private static let output = BlockingCalls(limit: 1)
    /// What the last read came in, for the next one: fresh memory has to be cleared by the kernel, page by page.
    private static let spare = Locked(ByteBuffer())

    private enum Direction: Sendable {
        case up(End?)
        case down(End?)
    }

    func run() async -> End {
        StandardStream.input.enlargePipe()
        StandardStream.output.enlargePipe()
        do {
            return try await stream.executeThenClose { inbound, _ in
                await withTaskGroup(of: Direction.self) { group in
                    group.addTask { .up(await uploadUnlessClosed()) }
                    group.addTask { .down(await download(from: inbound)) }
                    defer { group.cancelAll() }
                    var broken: End?
                    for await direction in group {
                        switch direction {
                        case .up(nil): break
                        // What the peer said before it stopped listening (an early answer) still comes out.
                        case .up(.broke(let reason)): broken = .broke(reason)
                        case .up(let failure?): return failure
                        case .down(nil): if let broken { return broken }
                        case .down(let failure?): return broken ?? failure
                        }
                    }
                    return broken ?? .done
                }
            }
        } catch {
            return .broke(Self.words(error))
        }
    }

    /// The upload, which ends as well when the channel closes under it: standard input may say nothing for
    /// hours, and would not notice.
    private func uploadUnlessClosed() async -> End? {
        let channel = stream.channel
        let (closed, continuation) = AsyncStream.makeStream(of: Void.self)
        channel.closeFuture.whenComplete { _ in continuation.finish() }
        let isFinishing = Locked(false)
        return await withTaskGroup(of: End?.self) { group in
            group.addTask { await upload(to: channel) { isFinishing.withLock { $0 = true } } }
            group.addTask {
                for await _ in closed {}
                // Closed by the upload itself, which says how it went; or given up, where the caller has left.
                if Task.isCancelled || isFinishing.withLock({ $0 }) { return nil }
                return .broke("closed by the peer")
            }
            defer { group.cancelAll() }
            if let failure = await group.next() ?? nil { return failure }
            return isFinishing.withLock { $0 } ? await group.next() ?? nil : nil
        }
    }

    /// Standard input to the channel, to the end of both.
    ///
    /// Each write is awaited until the kernel has it. The asynchronous channel's own writer does not tell
    /// when that is, and closing the channel drops what it still holds.
    /// - Returns: nil where nothing failed.
    private func upload(to channel: any Channel, finishing: @Sendable () -> Void) async -> End? {
        while true {
            let read: Result<ByteBuffer, SystemError>?
            do throws(SystemError) {
                read = try await Self.input.run { Self.readInput() }
            } catch {
                read = .failure(error)
            }
            switch read {
            case nil: return nil
            case .failure(let error): return .streamFailed("\(error)")
            case .success(let buffer):
                do {
                    guard buffer.readableBytes > 0 else {
                        finishing()
                        // Half-close: the peer sees the end of our bytes, and its own go on.
                        do {
                            try await finish(channel) { $0.close(mode: .output) }
                        } catch let error as IOError where SystemError.isNotConnected(error.errnoCode) {
                            // The peer has left, with all our bytes; how, its own direction tells.
                        }
                        return nil
                    }
                    try await finish(channel) { $0.writeAndFlush(buffer) }
                    Self.spare.withLock { $0 = buffer }
                } catch {
                    return Task.isCancelled ? nil : .broke(Self.words(error))
                }
            }
        }
    }

    /// Awaits an operation of the channel. A future can't be cancelled, but closing the channel ends it.
    private func finish(
        _ channel: any Channel, _ operation: @Sendable (any Channel) -> EventLoopFuture<Void>
    ) async throws {
        try await withTaskCancellationHandler {
            try await operation(channel).get()
        } onCancel: {
            channel.close(promise: nil)
        }
    }

    private static func readInput() -> Result<ByteBuffer, SystemError> {
        var buffer = spare.withLock { spare in
            defer { spare = ByteBuffer() }
            return spare
        }
        buffer.clear()
        do throws(SystemError) {
            var failure: SystemError?
            buffer.writeWithUnsafeMutableBytes(minimumWritableBytes: bufferSize) { bytes in
                do throws(SystemError) {
                    return try StandardStream.input.read(into: bytes)
                } catch {
                    failure = error
                    return 0
                }
            }
            if let failure { throw failure }
            return .success(buffer)
        } catch {
            return .failure(error)
        }
    }

    /// The channel to standard output, to the end of both.
    /// - Returns: nil where nothing failed.
    private func download(from inbound: NIOAsyncChannelInboundStream<ByteBuffer>) async -> End? {
        let failure = await withTaskGroup(of: End?.self) { group in
            group.addTask { await copyToOutput(inbound) }
            // A reader that goes away while nothing arrives would not be noticed by a write.
            group.addTask {
                await StandardStream.output.waitForClosedReader()
                return .outputClosed
            }
            defer { group.cancelAll() }
            return await group.next() ?? nil
        }
        if let failure { return failure }
        StandardStream.output.close()
        // What is typed now has no peer to go to.
        return StandardStream.input.isTerminal ? .done : nil
    }

    private func copyToOutput(_ inbound: NIOAsyncChannelInboundStream<ByteBuffer>) async -> End? {
        do {
            for try await buffer in inbound {
                let failure = try await Self.output.run { Self.writeOutput(buffer) }
                if let failure = failure ?? nil {
                    return failure.isBrokenPipe ? .outputClosed : .streamFailed("\(failure)")
                }
            }
            return nil
        } catch is CancellationError {
            return nil
        } catch {
            return .broke(Self.words(error))
        }
    }

    private static func writeOutput(_ buffer: ByteBuffer) -> SystemError? {
        buffer.withUnsafeReadableBytes { bytes in
            do throws(SystemError) {
                try StandardStream.output.write(bytes)
                return nil
            } catch {
                return error
            }
        }
    }

    private static func words(_ error: any Error) -> String {
        switch error {
        case let error as IOError: SystemError.words(error.errnoCode)
        case ChannelError.ioOnClosedChannel, ChannelError.alreadyClosed, ChannelError.eof,
            ChannelError.outputClosed:
            "closed by the peer"
        default: "\(error)"
        }
    }
}
