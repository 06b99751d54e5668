import MultipathNIO
import NIOConcurrencyHelpers
import NIOCore
import NIOPosix
import NetworkLab

/// One connection under load, while things happen to its paths.
struct Run {
    let options: Options

    struct Result: Encodable {
        /// When the load began, in seconds of the monotonic clock.
        var begun = 0.0
        var transport = "mptcp"
        var control = ""
        var connectSeconds = 0.0
        /// When each fault had happened.
        var faults: [Double] = []
        /// Send time and latency of each request.
        var requests: [[Double]]?
        /// Bytes in each `bucket` seconds, and the pauses longer than a few milliseconds.
        var buckets: [UInt64]?
        var bucket = Flow.bucket
        var gaps: [[Double]]?
        var end = 0.0
        var events: [Event] = []
        var paths: [PathBytes] = []
        var moves = 0
        /// Before the connection, when the load began, and at the end.
        var interfaces: [[String: InterfaceCounters]] = []
    }

    struct Event: Encodable {
        var time: Double
        var text: String
    }

    struct PathBytes: Encodable {
        var name: String
        var sent: UInt64
        var received: UInt64
    }

    func run() async throws -> Result {
        var result = Result()
        result.interfaces = [Kernel.interfaces()]
        let group = MultiThreadedEventLoopGroup(numberOfThreads: 1)
        let (requests, download, upload, segments) = (Requests(), Download(), Upload(), Segments())
        let load = options.load
        let start = ContinuousClock.now
        let opened = try await options.dialer(on: group).open { channel in
            let handler: any ChannelHandler & Sendable =
                switch load {
                case .rr, .crowd, .exodus: requests
                case .down, .paced: download
                case .up: upload
                case .segmentsDown, .segmentsUp: segments
                }
            return channel.pipeline.addHandler(handler)
        }
        let (seconds, attoseconds) = (ContinuousClock.now - start).components
        result.connectSeconds = Double(seconds) + Double(attoseconds) / 1e18
        result.interfaces.append(Kernel.interfaces())

        try await opened.channel.setCongestionControl(options.congestion)

        let clock = Clock()
        result.begun = Double(clock.begun.uptimeNanoseconds) / 1e9
        let poll: RepeatedTask?
        let flow = NIOLockedValueBox(Flow())
        let pollGroup = MultiThreadedEventLoopGroup(numberOfThreads: 1)
        let log = EventLog(opened.connection, clock)
        switch options.load {
        case .rr, .crowd, .exodus:
            poll = nil
            requests.start(opened.channel, clock, every: options.interval, until: options.seconds)
        case .down, .paced:
            poll = nil
            download.start(opened.channel, clock, asking: load == .down ? "\n" : "5000 10\n")
        case .up:
            upload.start(opened.channel)
            poll = Self.watch(try await opened.channel.descriptor, clock, flow, on: pollGroup.next())
        case .segmentsDown, .segmentsUp:
            poll = nil
            result.faults = try await run(segments, opened.channel, clock)
        }
        for fault in options.faults.sorted(by: { $0.at < $1.at }) {
            try await Task.sleep(for: .seconds(max(fault.at - clock.now, 0)))
            try LabControl.set(fault.link, fault.action)
            result.faults.append(clock.now)
        }
        try await sleep(clock, since: result.faults.last) { fault, settle in
            switch load {
            case .rr, .crowd, .exodus: requests.areSmooth(since: fault, count: Int(settle / options.interval))
            case .down, .paced: download.flow.isSmooth(since: fault, for: settle, now: clock.now)
            case .up: flow.withLockedValue { $0.isSmooth(since: fault, for: settle, now: clock.now) }
            case .segmentsDown, .segmentsUp: true
            }
        }
        result.end = clock.now
        switch options.load {
        case .rr, .crowd, .exodus: result.requests = requests.results
        case .segmentsDown, .segmentsUp: result.requests = segments.requests
        case .down, .paced: note(download.finish(at: result.end), in: &result)
        case .up:
            upload.stop()
            let promise = pollGroup.next().makePromise(of: Void.self)
            poll?.cancel(promise: promise)
            try await promise.futureResult.get()
            note(
                flow.withLockedValue { flow in
                    flow.finish(at: clock.now)
                    return flow
                }, in: &result)
        }
        result.interfaces.append(Kernel.interfaces())
        if let multipath = opened.connection {
            let report = multipath.transferReport()
            result.transport = report.transport.isMPTCP ? "mptcp" : "tcp"
            result.control = "\(report.control)"
            result.moves = report.moveCount
            result.paths = report.paths.map {
                PathBytes(name: $0.path.name, sent: $0.bytesSent, received: $0.bytesReceived)
            }
        }
        result.events = log.events
        return result
    }

    /// All segments, or those that there is time for.
    /// - Returns: when the fault had happened.
    private func run(_ segments: Segments, _ channel: any Channel, _ clock: Clock) async throws -> [Double] {
        let faults = NIOLockedValueBox<[Double]>([])
        let isDone = NIOLockedValueBox(false)
        let options = options
        let all = Task {
            defer { isDone.withLockedValue { $0 = true } }
            try await segments.run(
                channel, clock, count: options.count, size: options.size,
                isUpload: options.load == .segmentsUp
            ) { number in
                guard let fault = options.faultAfter, number == fault.count else { return }
                try LabControl.set(fault.link, fault.action)
                faults.withLockedValue { $0.append(clock.now) }
            }
        }
        while clock.now < options.seconds, !isDone.withLockedValue({ $0 }) {
            try await Task.sleep(for: .milliseconds(10))
        }
        all.cancel()
        return faults.withLockedValue { $0 }
    }

    /// Until the run's end, or until the load is smooth again.
    private func sleep(
        _ clock: Clock, since fault: Double?, isSmooth: (_ fault: Double, _ settle: Double) -> Bool
    ) async throws {
        let isOver = options.load == .segmentsDown || options.load == .segmentsUp
        guard !isOver else { return }
        guard let fault, let settle = options.settle else {
            return try await Task.sleep(for: .seconds(max(options.seconds - clock.now, 0)))
        }
        while clock.now < options.seconds, !isSmooth(fault, settle) {
            try await Task.sleep(for: .milliseconds(10))
        }
    }

    private func note(_ flow: Flow, in result: inout Result) {
        (result.buckets, result.gaps) = (flow.buckets, flow.gaps)
    }

    /// Looks each millisecond how much of an upload the peer has acknowledged.
    private static func watch(
        _ descriptor: CInt, _ clock: Clock, _ flow: NIOLockedValueBox<Flow>, on loop: any EventLoop
    ) -> RepeatedTask {
        let last = NIOLockedValueBox<UInt64>(Kernel.acknowledged(descriptor) ?? 0)
        return loop.scheduleRepeatedTask(initialDelay: .zero, delay: .milliseconds(1)) { _ in
            guard let count = Kernel.acknowledged(descriptor) else { return }
            let new = last.withLockedValue { last in
                defer { last = count }
                return count &- last
            }
            if new > 0 { flow.withLockedValue { $0.note(new, at: clock.now) } }
        }
    }
}

/// The connection's events, with times.
final class EventLog: Sendable {
    private let entries = NIOLockedValueBox<[Run.Event]>([])

    init(_ connection: MultipathConnection?, _ clock: Clock) {
        guard let connection else { return }
        // It ends with the process.
        Task { [entries] in
            for await event in connection.events {
                switch event {
                // A move says more than its path.
                case .established, .pathChanged: continue
                default: entries.withLockedValue { $0.append(Run.Event(time: clock.now, text: "\(event)")) }
                }
            }
        }
    }

    var events: [Run.Event] { entries.withLockedValue { $0 } }
}
