#if HTTP
    import FoundationEssentials
    public import HTTPTypes
    import LinuxNet
    import Multipath
    public import NIOCore

    extension MultipathHTTPClient {
        /// Uploads a file.
        ///
        /// Towards a server that knows resumable uploads (draft-ietf-httpbis-resumable-upload, interoperability version 6) an
        /// upload whose connection breaks goes on where it was, over whatever path there is then, also in another process after
        /// this one was killed: what that has to know is in a file beside this one, with `.upload` behind its name. Towards
        /// another server a broken upload is sent again only where its method is idempotent, such as PUT. While no path is
        /// allowed it waits.
        ///
        /// - Parameters:
        ///   - file: the file's path. It must not change meanwhile.
        ///   - url: with http or https.
        ///   - method: POST unless given.
        ///   - headerFields: what the first request carries: the content's type, say.
        ///   - limit: how long the answer's body may be, in bytes.
        ///   - options: what the requests may do; the client's own unless given. `requestTimeout` holds for each.
        ///   - progress: called as parts are sent.
        /// - Returns: the server's answer, with a status of success. Of an upload that an earlier run had finished it is the
        ///   answer to the question how much is there.
        /// - Throws: `MultipathHTTPError`, with the code `.unexpectedStatus` for an answer that is no success, `.file`;
        ///   `CancellationError`.
        @discardableResult
        public func upload(
            _ file: String, to url: String, method: HTTPRequest.Method = .post,
            headerFields: HTTPFields = [:],
            collectUpTo limit: Int = 1 << 20, options: HTTPRequestOptions? = nil,
            progress: @escaping @Sendable (TransferProgress) -> Void = { _ in }
        ) async throws -> (response: MultipathHTTPResponse, body: ByteBuffer) {
            var options = options ?? configuration.options
            options.waitsForConnectivity = true
            // Breaks are gone on from here; a redirect is the server's answer.
            (options.maximumRetries, options.maximumRedirects) = (0, 0)
            let base = try Self.request(method, url, headerFields)
            let note = TransferNote<UploadMachine.Note>(path: file + ".upload")
            let source = try await onFileThread { try RandomAccessFile(reading: file) }
            let (length, modified, known) = try await onFileThread {
                (try source.size(), try source.modified(), note.read())
            }
            let resource = known.flatMap { known -> String? in
                guard known.url == url, known.length == length, known.modified == modified else { return nil }
                return HTTPOrigin.place(known.resource, of: base)
            }
            let upload = Upload(
                UploadMachine(length: length, resource: resource, isIdempotent: method.isIdempotent), url,
                source, note, modified, progress)
            var backoff = BackoffMachine()
            while true {
                do {
                    guard let answer = try await upload.run(self, base, limit, options) else { continue }
                    await upload.removeNote()
                    return answer
                } catch let error as MultipathHTTPError {
                    let (goesOn, tries) = upload.goesOn(after: error)
                    guard goesOn else {
                        if UploadMachine.isRefusal(error) {
                            await upload.removeNote()
                        } else {
                            await upload.finishNote()
                        }
                        throw error
                    }
                    if tries <= 1 { backoff.succeeded() }
                    try await Task.sleep(for: backoff.failed(random: .random(in: 0..<1)))
                }
            }
        }
    }

    /// An upload as it runs: performs what its machine decides.
    private final class Upload: Sendable {
        private struct State {
            var machine: UploadMachine
            var isSent = false
            var transferred: Int64 = 0
            var resumed: Int64?
            /// The last write of the note, which may be under way.
            var noting: Task<Void, Never>?
        }

        private let state: Locked<State>
        private let url: String
        private let source: RandomAccessFile
        private let note: TransferNote<UploadMachine.Note>
        private let modified: Int64
        private let progress: @Sendable (TransferProgress) -> Void

        init(
            _ machine: UploadMachine, _ url: String, _ source: RandomAccessFile,
            _ note: TransferNote<UploadMachine.Note>, _ modified: Int64,
            _ progress: @escaping @Sendable (TransferProgress) -> Void
        ) {
            state = Locked(State(machine: machine))
            self.url = url
            self.source = source
            self.note = note
            self.modified = modified
            self.progress = progress
        }

        func goesOn(after error: MultipathHTTPError) -> (Bool, tries: Int) {
            state.withLock { state in
                (state.machine.goesOn(after: error, isSent: state.isSent), state.machine.fruitlessTries)
            }
        }

        /// One request. - Returns: its answer where the upload is done; nil for the next.
        func run(
            _ client: MultipathHTTPClient, _ base: HTTPRequest, _ limit: Int, _ options: HTTPRequestOptions
        ) async throws -> (response: MultipathHTTPResponse, body: ByteBuffer)? {
            let (next, fields, length) = state.withLock { state in
                state.isSent = false
                return (state.machine.next, state.machine.fields, state.machine.length)
            }
            var (request, body) = (base, HTTPRequestBody?.none)
            switch next {
            case .create: body = part(from: 0, length)
            case .askOffset(let place):
                request = try MultipathHTTPClient.request(.head, place)
            case .append(let place, let offset):
                request = try MultipathHTTPClient.request(.patch, place)
                body = part(from: offset, length)
            }
            for field in fields { request.headerFields[field.name] = field.value }
            return try await client.perform(
                request: request, body: body, options: options,
                informational: { [self] response, request in heard(response, request) }
            ) { response, body in
                let step = try state.withLock { try $0.machine.ingest(response.head) }
                guard step == .done else { return nil }
                return (response, try await body.collect(upTo: limit))
            }
        }

        /// 104 says where the server keeps the upload. The place is noted while the body is on its way.
        private func heard(_ response: HTTPResponse, _ request: HTTPRequest) {
            guard response.status.code == 104, let location = response.headerFields[.location],
                let place = HTTPOrigin.place(location, of: request)
            else { return }
            state.withLock { $0.machine.named(place) }
            let known = UploadMachine.Note(
                url: url, resource: place, length: state.withLock { $0.machine.length }, modified: modified)
            let note = note
            // It must not hold up the event loop, and the body does not wait for it. A server may say it more than once.
            state.withLock { state in
                let before = state.noting
                state.noting = Task {
                    await before?.value
                    try? await onFileThread { try note.write(known) }
                }
            }
        }

        /// Returns when the note is written as far as it ever will be: what is removed then stays away.
        func finishNote() async { await state.withLock { $0.noting }?.value }

        /// The note is of no more use. That of an upload of the same file to another place stays.
        func removeNote() async {
            await finishNote()
            try? await onFileThread { [note, url] in
                if note.read().map({ $0.url == url }) ?? true { note.remove() }
            }
        }

        private func part(from offset: Int64, _ length: Int64) -> HTTPRequestBody {
            .once(length: length - offset) { [self] writer in
                let resumed = state.withLock { state in
                    state.isSent = true
                    let resumed = state.resumed ?? offset
                    state.resumed = resumed
                    return resumed
                }
                var position = offset
                while position < length {
                    let (place, count) = (position, Int(min(length - position, 64 * 1024)))
                    let source = source
                    let bytes = try await onFileThread { try source.read(upTo: count, at: place) }
                    guard bytes.readableBytes > 0 else {
                        throw MultipathHTTPError(.file, "\(source.path) has become shorter")
                    }
                    try await writer.write(bytes)
                    position += Int64(bytes.readableBytes)
                    let isAll = position == length
                    let transferred = state.withLock { state in
                        if isAll { state.machine.wroteAll() }
                        state.transferred += Int64(bytes.readableBytes)
                        return state.transferred
                    }
                    progress(
                        TransferProgress(
                            completed: position, total: length, resumed: resumed, transferred: transferred))
                }
            }
        }
    }
#endif
