import LinuxNet
import NIOCore

/// Moves bytes between the standard streams and a channel. Whoever is slow slows the other down: no more
/// than a few buffers are ever held.
struct Relay: Sendable {
    let stream: Session.Stream

    /// How it ended.
    enum End: Sendable {
        case done
        /// The connection failed.
        case broke(String)
        /// Standard input or output failed.
        case streamFailed(String)
        /// Nobody reads standard output any more.
        case outputClosed
        case signal(Int32)
    }

    /// Large enough that a read's way through its thread does not count.
    private static let bufferSize = 128 * 1024

    func run() async -> End {
        do {
            return try await stream.executeThenClose { inbound, _ in
                await withTaskGroup(of: End?.self) { group in
                    group.addTask { await upload(to: stream.channel) }
                    group.addTask { await download(from: inbound) }
                    for await failure in group {
                        guard let failure else { continue }
                        group.cancelAll()
                        return failure
                    }
                    return .done
                }
            }
        } catch {
            return .broke(Self.words(error))
        }
    }

    /// Standard input to the channel, to the end of both.
    ///
    /// Each write is awaited until the kernel has it. The asynchronous channel's own writer does not tell
    /// when that is, and closing the channel drops what it still holds.
    /// - Returns: nil where nothing failed.
    private func upload(to channel: any Channel) async -> End? {
        while true {
            let read = await BlockingCall.run { Self.readInput() }
            switch read {
            case nil: return nil
            case .failure(let error): return .streamFailed("\(error)")
            case .success(let buffer):
                do {
                    guard buffer.readableBytes > 0 else {
                        // Half-close: the peer sees the end of our bytes, and its own go on.
                        try await finish(channel) { $0.close(mode: .output) }
                        return nil
                    }
                    try await finish(channel) { $0.writeAndFlush(buffer) }
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
        var buffer = ByteBuffer()
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
        // Somebody who types has nothing to say to a peer that has left.
        return StandardStream.input.isTerminal ? .done : nil
    }

    private func copyToOutput(_ inbound: NIOAsyncChannelInboundStream<ByteBuffer>) async -> End? {
        do {
            for try await buffer in inbound {
                let failure = await BlockingCall.run { Self.writeOutput(buffer) }
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
