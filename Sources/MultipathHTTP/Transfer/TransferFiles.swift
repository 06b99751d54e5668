#if HTTP
    import FoundationEssentials
    import LinuxNet
    import NIOCore
    import NIOPosix

    /// Runs what blocks on SwiftNIO's threads for that, and puts its errors into the client's words.
    func onFileThread<Value: Sendable>(_ body: @escaping @Sendable () throws -> Value) async throws -> Value {
        do {
            return try await NIOThreadPool.singleton.runIfActive(body)
        } catch let error as SystemError {
            throw MultipathHTTPError(.file, "\(error)", underlying: error)
        }
    }

    extension RandomAccessFile {
        func write(_ bytes: ByteBuffer, at offset: Int64) throws(SystemError) {
            var failure: SystemError?
            bytes.withUnsafeReadableBytes { pointer in
                do throws(SystemError) { try write(pointer, at: offset) } catch { failure = error }
            }
            if let failure { throw failure }
        }

        func read(upTo count: Int, at offset: Int64) throws(SystemError) -> ByteBuffer {
            var bytes = ByteBufferAllocator().buffer(capacity: count)
            var failure: SystemError?
            _ = bytes.writeWithUnsafeMutableBytes(minimumWritableBytes: count) { pointer in
                do throws(SystemError) {
                    return try read(
                        into: UnsafeMutableRawBufferPointer(rebasing: pointer[..<count]), at: offset)
                } catch {
                    failure = error
                    return 0
                }
            }
            if let failure { throw failure }
            return bytes
        }
    }

    /// What has to be known of a transfer to go on with it after a kill: a small file beside the other one, in JSON.
    struct TransferNote<Content: Codable & Sendable>: Sendable {
        let path: String

        func read() -> Content? {
            guard let file = try? RandomAccessFile(reading: path), let size = try? file.size(),
                size < 1 << 20,
                let bytes = try? file.read(upTo: Int(size), at: 0)
            else { return nil }
            return try? JSONDecoder().decode(Content.self, from: Data(bytes.readableBytesView))
        }

        /// The old one or the new one is there, whatever happens.
        func write(_ content: Content) throws {
            let temporary = path + ".new"
            let file = try RandomAccessFile(updating: temporary)
            try file.resize(to: 0)
            try file.write(ByteBuffer(bytes: JSONEncoder().encode(content)), at: 0)
            try file.synchronize()
            try RandomAccessFile.rename(temporary, to: path)
        }

        func remove() { RandomAccessFile.remove(path) }
    }
#endif
