import BenchSupport
import Multipath
import MultipathNIO
import NIOConcurrencyHelpers
import NIOCore
import NIOPosix
import NetworkLab

/// Many connections of one process lose their path at once. Each sends a request now and then, at moments spread evenly.
struct Exodus {
    let options: Options

    struct Result: Encodable {
        var begun = 0.0
        var connections = 0
        var faults: [Double] = []
        /// When each connection moved, in seconds; none where it is not steered.
        var moved: [Double] = []
        /// Send time and latency of each request of all; -1 where no answer came.
        var requests: [[Double]] = []
        /// What happened, and when in seconds, to connections that did not move or that a request waits on for longer than two
        /// seconds: of at most `mostStories`.
        var stories: [[String]] = []
        /// The process's own time on a CPU from the fault to the end.
        var cpu = 0.0
        var residentKiB = 0.0
        /// Segments that this host sent again from the fault to the end.
        var sentAgain: UInt64 = 0
        var end = 0.0
    }

    private static let mostStories = 8

    func run() async throws -> Result {
        let limit = ProcessUsage.raiseDescriptorLimit()
        guard limit > 2 * options.count + 200 else { throw Shortage(limit: limit) }
        let group = MultiThreadedEventLoopGroup(numberOfThreads: 1)
        var connections: [(Dialer.Opened, Requests)] = []
        let histories = (0..<options.count).map { _ in
            NIOLockedValueBox<[(time: Double, event: SteeringEvent)]>([])
        }
        while connections.count < options.count {
            let next = min(50, options.count - connections.count)
            connections += try await withThrowingTaskGroup(of: (Dialer.Opened, Requests).self) { tasks in
                for _ in 0..<next { tasks.addTask { try await open(on: group) } }
                return try await tasks.reduce(into: []) { $0.append($1) }
            }
        }
        var result = Result()
        result.connections = connections.count
        let clock = Clock()
        result.begun = Double(clock.begun.uptimeNanoseconds) / 1e9
        for (index, (opened, requests)) in connections.enumerated() {
            let delay = options.interval * Double(index) / Double(connections.count)
            let channel = opened.channel
            channel.eventLoop.scheduleTask(deadline: clock.deadline(delay)) {
                requests.start(channel, clock, from: delay, every: options.interval, until: options.seconds)
            }
            guard let connection = opened.connection else { continue }
            Task {
                for await case .steering(let event) in connection.events {
                    histories[index].withLockedValue { $0.append((clock.now, event)) }
                }
            }
        }
        for fault in options.faults.sorted(by: { $0.at < $1.at }) {
            try await Task.sleep(for: .seconds(max(fault.at - clock.now, 0)))
            try LabControl.set(fault.link, fault.action)
            result.faults.append(clock.now)
            result.cpu = ProcessUsage.cpu
            result.sentAgain = Kernel.retransmittedSegments()
        }
        try await Task.sleep(for: .seconds(max(options.seconds - clock.now, 0)))
        result.end = clock.now
        result.cpu = ProcessUsage.cpu - result.cpu
        result.sentAgain = Kernel.retransmittedSegments() - result.sentAgain
        result.residentKiB = ProcessUsage.residentKiB
        result.requests = connections.flatMap { $0.1.results }
        for (history, (opened, requests)) in zip(histories.map({ $0.withLockedValue { $0 } }), connections) {
            let moved = history.compactMap { if case .moved = $0.event { $0.time } else { nil } }
            result.moved += moved
            let waits = requests.results.contains { $0[1] < 0 && $0[0] < result.end - 2 }
            guard let connection = opened.connection, waits || moved.isEmpty,
                result.stories.count < Self.mostStories
            else { continue }
            let first = connection.establishment.map { "\($0.transport)" } ?? "unknown"
            let report = connection.transferReport()
            result.stories.append(
                ["\(first) at first, \(report.transport) in the end, \(report.control)"]
                    + history.map { "\($0.time) \($0.event)" }
                    + requests.results.map { "\($0[0]) asked, \($0[1])" })
        }
        return result
    }

    private struct Shortage: Error, CustomStringConvertible {
        var limit: Int
        var description: String { "one process may have \(limit) descriptors here" }
    }

    private func open(on group: any EventLoopGroup) async throws -> (Dialer.Opened, Requests) {
        let requests = Requests()
        let opened = try await options.dialer(on: group).open { channel in
            channel.pipeline.addHandler(requests)
        }
        return (opened, requests)
    }
}
