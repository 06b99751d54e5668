#if HTTP && Outbox
    import Crypto
    import MultipathHTTP
    import NIOCore
    import Synchronization

    /// A file that is read and hashed while it is sent, in one request or in several: always one batch ahead of the connection, also
    /// from one request to the next.
    final class OutgoingFile: Sendable {
        /// What was read of the file in one go.
        private struct Batch: Sendable {
            var parts: [ByteBuffer] = []
            /// Of the file up to its end.
            var hash: SHA256
        }

        /// A batch that is being read.
        private struct Reading: Sendable {
            let start: Int64
            let end: Int64
            let batch: Task<Batch, any Error>
        }

        private struct State {
            /// Of what has arrived. A part that is sent again begins there.
            var arrived = SHA256()
            /// Of what was sent.
            var sent = SHA256()
            /// What follows that.
            var ahead: Reading?
        }

        /// What one change of thread reads and hashes …
        private static let readAtOnce: Int64 = 1 << 20
        /// … and what the connection gets of it at a time: small enough to be seen to go on over a slow path.
        private static let writtenAtOnce: Int64 = 512 << 10

        private let file: OpenFile
        private let size: Int64
        private let state = Mutex(State())
        private let buffers = BufferPool()

        init(_ file: OpenFile, size: Int64) {
            self.file = file
            self.size = size
        }

        /// Of what was sent.
        var content: ContentHash { ContentHash(state.withLock { $0.sent }.finalize()) }

        /// What was sent has arrived.
        func arrived() { state.withLock { $0.arrived = $0.sent } }

        /// What stands before a place has arrived earlier. It is read, and blocks.
        func skip(to end: Int64) throws {
            let hash = try file.hash(upTo: end)
            state.withLock { $0 = State(arrived: hash, sent: hash) }
        }

        /// What stands between two places, as a request's body.
        ///
        /// - Parameter sent: hears how many bytes the connection has taken, as it takes them.
        func body(
            from start: Int64, to end: Int64, sent: @escaping @Sendable (Int64) -> Void = { _ in }
        ) -> HTTPRequestBody {
            .restartable(length: end - start) { [self] writer in
                let (hash, ahead) = state.withLock { ($0.arrived, $0.ahead.take()) }
                guard start < end else { return state.withLock { $0.sent = hash } }
                var reading: Reading
                if let ahead, ahead.start == start, ahead.end <= end {
                    reading = ahead
                } else {
                    reading = read(start, end, hash)
                }
                while true {
                    let current = try await reading.batch.value
                    let (place, isLast) = (reading.end, reading.end == end)
                    // The next batch is read and hashed while this one is sent, and nothing here waits for that at the request's
                    // end: its answer may be there already. Two batches are in memory at most.
                    let next = place < size ? read(place, isLast ? size : end, current.hash) : nil
                    if isLast { state.withLock { ($0.sent, $0.ahead) = (current.hash, next) } }
                    for part in current.parts {
                        try await writer.write(part)
                        sent(Int64(part.readableBytes))
                    }
                    buffers.give(current.parts)
                    guard !isLast, let next else { return }
                    reading = next
                }
            }
        }

        private func read(_ start: Int64, _ end: Int64, _ hash: SHA256) -> Reading {
            let end = min(end, start + Self.readAtOnce)
            return Reading(start: start, end: end, batch: Task { try await batch(start, end, hash) })
        }

        /// Reads and hashes what begins at a place.
        private func batch(_ start: Int64, _ end: Int64, _ hash: SHA256) async throws -> Batch {
            try await onFileThread { [self] in
                var (batch, offset) = (Batch(hash: hash), start)
                while offset < end {
                    var bytes = buffers.take()
                    offset += try file.read(
                        min(end - offset, Self.writtenAtOnce), at: offset, into: &bytes, &batch.hash)
                    batch.parts.append(bytes)
                }
                return batch
            }
        }
    }

    /// Buffers that are filled again once the connection has let go of them: new memory costs more than what is read into it.
    private final class BufferPool: Sendable {
        private let free = Mutex<[ByteBuffer]>([])

        /// The one that was given back first: what came last may still be on its way out, and would be copied to new memory.
        func take() -> ByteBuffer {
            free.withLock { $0.isEmpty ? ByteBuffer() : $0.removeFirst() }
        }

        func give(_ buffers: [ByteBuffer]) { free.withLock { $0 += buffers } }
    }

    /// A file has another length than before.
    struct FileChanged: Error {}

    extension OpenFile {
        /// Reads into a buffer what stands at a place, instead of what the buffer held.
        fileprivate func read(_ count: Int, at offset: Int64, into bytes: inout ByteBuffer) throws {
            bytes.clear(minimumCapacity: count)
            _ = try bytes.writeWithUnsafeMutableBytes(minimumWritableBytes: count) { pointer in
                try read(into: UnsafeMutableRawBufferPointer(rebasing: pointer[..<count]), at: offset)
            }
        }

        /// All of it, where it is small.
        func whole(_ size: Int) throws -> (ByteBuffer, ContentHash) {
            var (bytes, hash) = (ByteBuffer(), SHA256())
            try read(size, at: 0, into: &bytes)
            bytes.withUnsafeReadableBytes { hash.update(bufferPointer: $0) }
            return (bytes, ContentHash(hash.finalize()))
        }

        fileprivate func hash(upTo end: Int64) throws -> SHA256 {
            var (hash, offset, bytes) = (SHA256(), Int64(0), ByteBuffer())
            while offset < end {
                offset += try read(min(end - offset, 1 << 20), at: offset, into: &bytes, &hash)
            }
            return hash
        }

        /// Reads into a buffer what stands at a place, and hashes it.
        ///
        /// - Returns: how many bytes: at least one.
        fileprivate func read(
            _ count: Int64, at offset: Int64, into bytes: inout ByteBuffer, _ hash: inout SHA256
        ) throws -> Int64 {
            try read(Int(count), at: offset, into: &bytes)
            guard bytes.readableBytes > 0 else { throw FileChanged() }
            bytes.withUnsafeReadableBytes { hash.update(bufferPointer: $0) }
            return Int64(bytes.readableBytes)
        }
    }
#endif
