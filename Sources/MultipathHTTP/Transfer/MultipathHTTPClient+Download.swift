#if HTTP
    import Crypto
    import FoundationEssentials
    public import HTTPTypes
    import LinuxNet
    import Multipath
    import NIOCore

    /// How far a download or an upload is.
    public struct TransferProgress: Sendable, Hashable {
        /// Bytes that are there, those of earlier runs included.
        public var completed: Int64
        /// Of how many; nil where the server does not say.
        public var total: Int64?
        /// How many were there before this call: what it went on with.
        public var resumed: Int64
        /// Bytes that went over the network in this call.
        public var transferred: Int64
    }

    extension MultipathHTTPClient {
        /// Downloads a resource into a file.
        ///
        /// What arrives is written to `target` with `.part` behind its name, and moved to `target` when it is whole. A connection
        /// that breaks is replaced, over whatever path there is then, and the download goes on where it was (RFC 9110 section 14),
        /// also in another process after this one was killed. Where the server names the resource by no strong validator, it
        /// begins anew instead. The length and the server's SHA-256 (`Repr-Digest`, RFC 9530) are checked. While no path is
        /// allowed it waits.
        ///
        /// - Parameters:
        ///   - url: with http or https.
        ///   - target: the file's path. A file that is there is replaced.
        ///   - headerFields: what each request carries.
        ///   - options: what the requests may do; the client's own unless given. `requestTimeout` holds for each.
        ///   - progress: called as parts arrive.
        /// - Returns: the head of the last answer.
        /// - Throws: `MultipathHTTPError`, with the code `.unexpectedStatus` for an answer that is no success, `.digestMismatch`,
        ///   `.file`; `CancellationError`. What has arrived stays for the next call, except after `.digestMismatch`.
        @discardableResult
        public func download(
            _ url: String, to target: String, headerFields: HTTPFields = [:],
            options: HTTPRequestOptions? = nil,
            progress: @escaping @Sendable (TransferProgress) -> Void = { _ in }
        ) async throws -> MultipathHTTPResponse {
            var options = options ?? configuration.options
            options.decompression = .disabled
            options.waitsForConnectivity = true
            // Breaks are gone on from here.
            options.maximumRetries = 0
            let base = try Self.request(.get, url, headerFields)
            let (part, note) = (
                target + ".part", TransferNote<DownloadMachine.Note>(path: target + ".part.json")
            )
            let file = try await onFileThread { try RandomAccessFile(updating: part) }
            guard file.lock() else {
                throw MultipathHTTPError(.file, "\(part): another process downloads into this file")
            }
            let (known, size) = try await onFileThread { (note.read(), try file.size()) }
            var download = Download(
                machine: DownloadMachine(url: url, note: known, received: size), file: file, note: note,
                progress: progress)
            var backoff = BackoffMachine()
            while true {
                do {
                    if let response = try await download.run(self, base, options) {
                        try await download.finish(as: target)
                        return response
                    }
                } catch let error as MultipathHTTPError {
                    guard download.machine.goesOn(after: error) else { throw error }
                    if download.machine.fruitlessTries == 0 { backoff.succeeded() }
                    try await Task.sleep(for: backoff.failed(random: .random(in: 0..<1)))
                }
            }
        }
    }

    /// A download as it runs: performs what its machine decides.
    private struct Download {
        var machine: DownloadMachine
        let file: RandomAccessFile
        let note: TransferNote<DownloadMachine.Note>
        let progress: @Sendable (TransferProgress) -> Void
        let resumed: Int64
        var transferred: Int64 = 0
        /// What is being written while more arrives, and how many bytes that is.
        private var writing: (Task<Void, any Error>, Int)?

        init(
            machine: DownloadMachine, file: RandomAccessFile, note: TransferNote<DownloadMachine.Note>,
            progress: @escaping @Sendable (TransferProgress) -> Void
        ) {
            self.machine = machine
            self.file = file
            self.note = note
            self.progress = progress
            resumed = machine.received
        }

        /// One request. - Returns: its answer where the file is whole now; nil to ask again.
        mutating func run(
            _ client: MultipathHTTPClient, _ base: HTTPRequest, _ options: HTTPRequestOptions
        ) async throws -> MultipathHTTPResponse? {
            // A closure that the client calls can't change this value.
            var run = self
            defer { self = run }
            return try await client.perform(request: run.machine.request(base), options: options) {
                response, body in
                try await run.receive(response, body) ? response : nil
            }
        }

        private mutating func receive(
            _ response: MultipathHTTPResponse, _ body: HTTPResponseBody
        ) async throws -> Bool {
            let (file, note) = (file, note)
            switch try machine.ingest(response.head) {
            case .append: break
            case .startOver(let known):
                try await onFileThread {
                    note.remove()
                    try file.resize(to: 0)
                    if let known { try note.write(known) }
                }
            case .complete: return true
            case .again: return false
            }
            var waiting = WaitingParts()
            do {
                for try await part in body {
                    waiting.append(part)
                    guard waiting.areDue else { continue }
                    // On a slow path each part is told of when it is there.
                    if waiting.areMany { try await write(&waiting) } else { try await writeOut(&waiting) }
                }
            } catch {
                // What has arrived is gone on from.
                try await writeOut(&waiting)
                throw error
            }
            try await writeOut(&waiting)
            try machine.checkLength()
            return true
        }

        /// Has what has arrived written, once that is done with what came before: two batches are in memory at most.
        private mutating func write(_ waiting: inout WaitingParts) async throws {
            // First: where what comes before it can't be written, it has no place.
            let (parts, count) = waiting.drain()
            try await settle()
            guard count > 0 else { return }
            let (file, offset) = (file, machine.received)
            let batch = Task {
                try await onFileThread {
                    var place = offset
                    for part in parts {
                        try file.write(part, at: place)
                        place += Int64(part.readableBytes)
                    }
                }
            }
            writing = (batch, count)
        }

        /// Has what has arrived written, and returns when it is.
        private mutating func writeOut(_ waiting: inout WaitingParts) async throws {
            try await write(&waiting)
            try await settle()
        }

        /// Waits until nothing is being written any more, and tells of it.
        private mutating func settle() async throws {
            guard let (batch, count) = writing.take() else { return }
            try await batch.value
            machine.ingest(bytes: count)
            transferred += Int64(count)
            progress(
                TransferProgress(
                    completed: machine.received, total: machine.total, resumed: resumed,
                    transferred: transferred))
        }

        /// Checks the whole, and gives it its name.
        func finish(as target: String) async throws {
            let (file, note, digest, length) = (file, note, machine.digest, machine.received)
            try await onFileThread {
                try file.resize(to: length)
                if let digest, try file.sha256() != digest {
                    try file.resize(to: 0)
                    note.remove()
                    throw MultipathHTTPError(
                        .digestMismatch, "\(file.path) is not what the server's digest says")
                }
                try file.synchronize()
                try RandomAccessFile.rename(file.path, to: target)
                note.remove()
            }
        }
    }

    /// What has arrived and is not in the file yet: each write is a change of thread, which costs more than what one part is worth.
    private struct WaitingParts {
        /// In bytes.
        private static let most = 1 << 20
        /// Each keeps the whole buffer that it was read into.
        private static let mostParts = 64
        /// On a slow path each part is written as it comes: a kill loses no more than came in so long.
        private static let longest = Duration.milliseconds(100)

        private var parts: [ByteBuffer] = []
        private var count = 0
        private var lastDrain: ContinuousClock.Instant?

        mutating func append(_ part: ByteBuffer) {
            parts.append(part)
            count += part.readableBytes
        }

        /// Whether there is as much as one write is to have at most: the path is fast.
        var areMany: Bool { count >= Self.most || parts.count >= Self.mostParts }

        /// The first part is, too: who watches sees that it has begun.
        var areDue: Bool {
            guard !areMany, let lastDrain else { return true }
            return ContinuousClock.now - lastDrain >= Self.longest
        }

        mutating func drain() -> (parts: [ByteBuffer], count: Int) {
            defer { (parts, count, lastDrain) = ([], 0, .now) }
            return (parts, count)
        }
    }

    extension RandomAccessFile {
        /// Of all of it, in Base64.
        fileprivate func sha256() throws -> String {
            var (hash, offset) = (SHA256(), Int64(0))
            while true {
                let bytes = try read(upTo: 1 << 20, at: offset)
                guard bytes.readableBytes > 0 else { break }
                bytes.withUnsafeReadableBytes { hash.update(bufferPointer: $0) }
                offset += Int64(bytes.readableBytes)
            }
            return Data(hash.finalize()).base64EncodedString()
        }
    }
#endif
