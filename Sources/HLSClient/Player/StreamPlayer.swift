#if HTTP
    import FoundationEssentials
    public import HTTPTypes
    public import Multipath
    public import MultipathHTTP
    import NIOCore

    /// Fetches an HLS stream (RFC 8216) over the best of this machine's paths, and hands its media to an output.
    ///
    /// ```swift
    /// let player = StreamPlayer(url, client: client)
    /// let report = await player.play(to: output) { event, status in print(event, status.buffer) }
    /// ```
    ///
    /// It fetches as a player would that begins with the first segment: as much as `StreamOptions.bufferTarget` ahead, in the
    /// variant that the throughput, the buffer and the path's tags allow. MPTCP connections follow the better path by themselves;
    /// what broke all the same goes on by a range of bytes.
    public struct StreamPlayer: Sendable {
        private let url: URL
        private let options: StreamOptions
        private let client: MultipathHTTPClient
        private let monitor: PathMonitor
        private let credentials: HTTPFields

        /// - Parameters:
        ///   - url: a playlist's, with http or https.
        ///   - options: how to play it.
        ///   - client: sends the requests. Its own options hold for all of them, except for their mode.
        ///   - credentials: fields such as `Authorization` and `Cookie`, which go to the URL's own origin alone.
        ///   - monitor: tells of paths and their tags; the process's own unless given.
        /// - Throws: `StreamFailure` where the URL can't be one of a stream.
        public init(
            _ url: String, options: StreamOptions = StreamOptions(), client: MultipathHTTPClient,
            credentials: HTTPFields = [:], monitor: PathMonitor = Connector.shared.monitor
        ) throws(StreamFailure) {
            guard let parsed = URL(string: url), parsed.scheme != nil else {
                throw StreamFailure(
                    .playlist, "'\(url.prefix(200))' is no URL; write one with http:// or https://")
            }
            do throws(PlaylistError) {
                self.url = try MediaURL.resolve(url, in: parsed)
            } catch {
                throw StreamFailure(.playlist, error.reason)
            }
            self.options = options
            self.client = client
            self.monitor = monitor
            self.credentials = credentials
        }

        /// Plays until the stream's end, until the task is cancelled or until it fails.
        ///
        /// - Parameters:
        ///   - output: takes the media.
        ///   - observe: hears of each event, with the state behind it, one call at a time.
        /// - Returns: what became of it, the reason for its end among it.
        public func play(
            to output: some StreamOutput,
            observe: @escaping @Sendable (StreamEvent, StreamStatus) -> Void = { _, _ in }
        ) async -> StreamReport {
            await play(to: output, observe: observe, every: nil)
        }

        /// The same, with the state once more in each interval: for a status line.
        ///
        /// - Parameters:
        ///   - output: takes the media.
        ///   - observe: hears of each event; with nil for one, of the state alone.
        ///   - interval: how often.
        public func play(
            to output: some StreamOutput, every interval: Duration,
            observe: @escaping @Sendable (StreamEvent?, StreamStatus) -> Void
        ) async -> StreamReport {
            await play(to: output, observe: { observe($0, $1) }, every: (interval, { observe(nil, $0) }))
        }

        private func play(
            to output: some StreamOutput, observe: @escaping @Sendable (StreamEvent, StreamStatus) -> Void,
            every: (Duration, @Sendable (StreamStatus) -> Void)?
        ) async -> StreamReport {
            var session = StreamSession(
                machine: StreamMachine(url: url, options: options), client: client,
                credentials: credentials.isEmpty ? nil : (url, credentials), observe: observe)
            let (inputs, inputsEnd) = AsyncStream.makeStream(of: StreamSession.Input.self)
            let (pieces, piecesEnd) = AsyncStream.makeStream(of: PendingPiece.self)
            session.inputs = inputsEnd
            session.pieces = piecesEnd
            let monitor = monitor
            return await withTaskGroup(of: Void.self) { group in
                let writer = Task {
                    do {
                        for await piece in pieces {
                            try await output.write(piece.piece)
                            inputsEnd.yield(.taken(piece.piece.duration, bytes: piece.bytes))
                        }
                        inputsEnd.yield(.written)
                    } catch {
                        inputsEnd.yield(.outputFailed(error))
                    }
                }
                group.addTask {
                    for await snapshot in monitor.updates { inputsEnd.yield(.paths(snapshot)) }
                }
                if let every {
                    group.addTask {
                        while (try? await Task.sleep(for: every.0)) != nil { inputsEnd.yield(.glance) }
                    }
                }
                session.perform(.start)
                for await input in inputs {
                    if case .glance = input { every?.1(session.status) } else { session.ingest(input) }
                    if session.isOver { break }
                }
                session.end()
                writer.cancel()
                group.cancelAll()
                await group.waitForAll()
                return session.report
            }
        }
    }
#endif
