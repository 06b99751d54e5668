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

    /// Writes a stream to a file, which it begins anew.
    actor FileOutput: StreamOutput {
        private static let calls = BlockingCalls(limit: 1)

        private let file: RandomAccessFile
        private var length: Int64 = 0

        init(_ path: String) throws(StreamFailure) {
            do throws(SystemError) {
                file = try RandomAccessFile(updating: path)
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
    }
#endif
