#if HTTP
    import FoundationEssentials
    import HTTPTypes
    import Multipath
    import MultipathHTTP
    import NIOCore

    /// A piece on its way to the output.
    struct PendingPiece: Sendable {
        /// As they were fetched.
        var bytes: Int64
        var piece: StreamPiece
    }

    /// A session as it runs: performs what its machine decides. One task owns it; what others tell comes as inputs.
    struct StreamSession {
        enum Input: Sendable {
            case news(SegmentFetch.News, attempt: FetchID)
            case paths(PathSnapshot)
            case taken(Duration, bytes: Int64)
            /// All pieces are with the output.
            case written
            case outputFailed(any Error)
            case tick
            case glance
        }

        private var machine: StreamMachine
        private let client: MultipathHTTPClient
        private let credentials: (origin: URL, fields: HTTPFields)?
        private let observe: @Sendable (StreamEvent, StreamStatus) -> Void
        private let begun = SuspendingClock.now
        var inputs: AsyncStream<Input>.Continuation?
        var pieces: AsyncStream<PendingPiece>.Continuation?

        private var tasks: [FetchID: Task<Void, Never>] = [:]
        private var requests: [FetchID: FetchRequest] = [:]
        private var bodies: [FetchID: ByteBuffer] = [:]
        private var keys: [URL: [UInt8]] = [:]
        private var timer: (date: Double, task: Task<Void, Never>)?
        private var outcome: StreamReport.Outcome?
        private(set) var isOver = false

        init(
            machine: StreamMachine, client: MultipathHTTPClient,
            credentials: (origin: URL, fields: HTTPFields)?,
            observe: @escaping @Sendable (StreamEvent, StreamStatus) -> Void
        ) {
            self.machine = machine
            self.client = client
            self.observe = observe
            self.credentials = credentials
        }

        private var now: Double { (SuspendingClock.now - begun).inSeconds }
        var status: StreamStatus { machine.status }
        var report: StreamReport { machine.report(outcome ?? .cancelled) }

        // MARK: Inputs

        mutating func ingest(_ input: Input) {
            switch input {
            case .news(let news, let attempt):
                // What a cancelled request still had to say is not wanted.
                if tasks[attempt] != nil { ingest(news) }
            case .paths(let snapshot):
                let policy = client.configuration.options.policy
                perform(
                    .paths(
                        snapshot.interfaces.filter { policy.refusal(of: $0) == nil }.map {
                            StreamPath(
                                $0.id, isExpensive: $0.isExpensive, isConstrained: $0.isConstrained)
                        }))
            case .taken(let duration, let bytes): perform(.taken(seconds: duration.inSeconds, bytes: bytes))
            case .written: isOver = true
            case .outputFailed(let error):
                let reason = "\((error as? StreamFailure)?.reason ?? "\(error)")"
                outcome =
                    error is StreamOutputClosed ? .outputClosed : .failed(StreamFailure(.output, reason))
                isOver = true
            case .tick:
                timer = nil
                perform(.tick)
            case .glance: break
            }
        }

        private mutating func ingest(_ news: SegmentFetch.News) {
            switch news {
            case .head(let id, let offset, let total, let validator):
                if offset == 0 { bodies[id] = ByteBuffer() }
                perform(.head(id, offset: offset, total: total, validator: validator))
            case .bytes(let id, let bytes):
                if case .playlist? = requests[id]?.purpose {
                } else {
                    bodies[id, default: ByteBuffer()].writeImmutableBuffer(bytes)
                }
                perform(.progressed(id, bytes: bytes.readableBytes))
            case .carried(let id, let path): perform(.carried(id, by: path))
            case .playlist(let id, let playlist, let url):
                forget(id)
                perform(.playlist(id, playlist, from: url))
            case .failed(let id, let failure):
                tasks[id] = nil
                perform(.failed(id, failure))
            case .finished(let id): finished(id)
            }
        }

        private mutating func finished(_ id: FetchID) {
            tasks[id] = nil
            do throws(FetchFailure) {
                try check(id)
                perform(.finished(id))
            } catch {
                perform(.failed(id, error))
            }
        }

        /// Whether what arrived is what it should be; undoes its encryption.
        private mutating func check(_ id: FetchID) throws(FetchFailure) {
            guard let request = requests[id], var body = bodies[id] else { return }
            if request.purpose == .key {
                guard body.readableBytes == SegmentCipher.keyLength else {
                    throw FetchFailure(
                        kind: .unusable, reason: "a key has \(body.readableBytes) bytes instead of 16")
                }
                keys[request.resource.url] = Array(body.readableBytesView)
                forget(id)
                return
            }
            if let encryption = request.resource.encryption {
                guard let key = keys[encryption.keyURL] else {
                    throw FetchFailure(kind: .unusable, reason: "the segment's key is missing")
                }
                body = try SegmentCipher.decrypt(body, key: key, vector: encryption.initializationVector)
            }
            guard MediaFormat(prefix: body.readableBytesView.prefix(MediaFormat.prefixLength)) != nil else {
                throw FetchFailure(
                    kind: .unusable,
                    reason:
                        "\(request.resource.url) is no media but \(MediaFormat.words(body.readableBytesView))"
                )
            }
            bodies[id] = body
        }

        private mutating func forget(_ id: FetchID) {
            (tasks[id], requests[id], bodies[id]) = (nil, nil, nil)
        }

        // MARK: Actions

        mutating func perform(_ input: StreamMachine.Input) {
            for action in machine.handle(input, at: now) { perform(action) }
            arm()
        }

        private mutating func perform(_ action: StreamMachine.Action) {
            switch action {
            case .fetch(let request): fetch(request)
            case .cancel(let id):
                tasks.removeValue(forKey: id)?.cancel()
            case .discard(let id): forget(id)
            case .deliver(let delivery): deliver(delivery)
            case .report(let event): observe(event, machine.status)
            case .finish(let outcome):
                self.outcome = outcome
                pieces?.finish()
                // What is fetched is written to the end; what failed is not waited for.
                if outcome != .ended { isOver = true }
            }
        }

        private mutating func fetch(_ request: FetchRequest) {
            if let before = request.continues {
                bodies[request.id] = bodies.removeValue(forKey: before)
                requests[before] = nil
            }
            requests[request.id] = request
            let inputs = inputs
            let fetch = SegmentFetch(request: request, client: client, credentials: credentials) {
                inputs?.yield(.news($0, attempt: request.id))
            }
            tasks[request.id] = Task { await fetch.run() }
        }

        private mutating func deliver(_ delivery: StreamMachine.Delivery) {
            guard let media = bodies[delivery.segment] else { return }
            let initialization = delivery.initialization.flatMap { bodies[$0] }
            forget(delivery.segment)
            pieces?.yield(
                PendingPiece(
                    bytes: delivery.bytes,
                    piece: StreamPiece(
                        initialization: initialization, media: media, index: delivery.index,
                        duration: .seconds(delivery.duration), isDiscontinuous: delivery.isDiscontinuous,
                        variant: delivery.variant)))
        }

        /// Sees to it that a tick comes by the machine's deadline. One that comes early costs nothing.
        private mutating func arm() {
            guard let deadline = machine.nextDeadline else { return }
            if let timer, timer.date <= deadline + 0.001 { return }
            timer?.task.cancel()
            let (inputs, pause) = (inputs, deadline - now)
            timer = (
                deadline,
                Task {
                    guard (try? await Task.sleep(for: .seconds(max(pause, 0)))) != nil else { return }
                    inputs?.yield(.tick)
                }
            )
        }

        /// Nothing goes on after it.
        mutating func end() {
            for task in tasks.values { task.cancel() }
            timer?.task.cancel()
            pieces?.finish()
            inputs?.finish()
        }
    }
#endif
