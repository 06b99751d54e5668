#if HTTP
    import HLSClient
    import LinuxNet
    import NIOCore

    /// Writes a stream to standard output, on a thread of its own: a player that is paused reads nothing.
    struct StandardOutput: StreamOutput {
        private static let calls = BlockingCalls(limit: 1)

        init() { StandardStream.output.enlargePipe() }

        func write(_ piece: StreamPiece) async throws {
            let buffers = [piece.initialization, piece.media].compactMap { $0 }
            let result = try await Self.calls.run { () -> Result<Void, SystemError> in
                do throws(SystemError) {
                    for buffer in buffers {
                        try Self.write(buffer)
                    }
                    return .success(())
                } catch {
                    return .failure(error)
                }
            }
            guard case .failure(let error)? = result else { return }
            if error.isBrokenPipe { throw StreamOutputClosed() }
            throw StreamFailure(.output, "\(error)")
        }

        private static func write(_ buffer: ByteBuffer) throws(SystemError) {
            let failure = buffer.withUnsafeReadableBytes { bytes -> SystemError? in
                do throws(SystemError) {
                    try StandardStream.output.write(bytes)
                    return nil
                } catch {
                    return error
                }
            }
            if let failure { throw failure }
        }
    }

    /// Writes a stream to a file with `.part` behind its name, which gets its name at the end: what was recorded before under the
    /// same name stays until then.
    actor FileOutput: StreamOutput {
        private static let calls = BlockingCalls(limit: 1)

        private let file: RandomAccessFile
        private let target: String
        private var length: Int64 = 0

        init(_ path: String) throws(StreamFailure) {
            do throws(SystemError) {
                target = path
                file = try RandomAccessFile(updating: path + ".part")
                guard file.lock() else {
                    throw SystemError("lock \(path).part, which another recording has", errno: 11)
                }
                try file.resize(to: 0)
            } catch {
                throw StreamFailure(.output, "\(path): \(error)")
            }
        }

        func write(_ piece: StreamPiece) async throws {
            for buffer in [piece.initialization, piece.media].compactMap({ $0 }) {
                let (file, offset) = (file, length)
                let result = try await Self.calls.run {
                    buffer.withUnsafeReadableBytes { bytes -> Result<Void, SystemError> in
                        do throws(SystemError) {
                            try file.write(bytes, at: offset)
                            return .success(())
                        } catch {
                            return .failure(error)
                        }
                    }
                }
                if case .failure(let error)? = result {
                    throw StreamFailure(.output, "\(file.path): \(error)")
                }
                length += Int64(buffer.readableBytes)
            }
        }

        /// Gives the file its name. One whose stream failed keeps the other, so that it takes no whole one's place.
        func finish(_ outcome: StreamReport.Outcome) throws(StreamFailure) {
            if case .failed = outcome { return length == 0 ? RandomAccessFile.remove(file.path) : () }
            guard length > 0 else { return RandomAccessFile.remove(file.path) }
            do throws(SystemError) {
                try RandomAccessFile.rename(file.path, to: target)
            } catch {
                throw StreamFailure(.output, "\(target): \(error)")
            }
        }
    }
#endif
