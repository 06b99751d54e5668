import Foundation
import MultipathNIO
import NIOCore
import NIOPosix

/// Many connections at once: what they cost while they say nothing, and while each says a little.
struct Crowd {
    let options: Options

    struct Result: Encodable {
        var connections = 0
        var residentBeforeKiB = 0
        var residentKiB = 0
        /// Of one CPU, from 0 to 1.
        var idleCPU = 0.0
        var busyCPU = 0.0
        var answers = 0
    }

    func run() async throws -> Result {
        let group = MultiThreadedEventLoopGroup(numberOfThreads: 1)
        var result = Result()
        // The first brings everything there is only one of.
        var connections = [try await open(on: group)]
        result.residentBeforeKiB = Kernel.residentKiB
        while connections.count < options.count {
            let next = min(20, options.count - connections.count)
            connections += try await withThrowingTaskGroup(of: (Connection, Requests).self) { tasks in
                for _ in 0..<next { tasks.addTask { try await open(on: group) } }
                return try await tasks.reduce(into: []) { $0.append($1) }
            }
        }
        // What connecting left to do is not idleness.
        try await Task.sleep(for: .seconds(3))
        result.connections = connections.count
        result.residentKiB = Kernel.residentKiB
        result.idleCPU = try await cpu()
        let clock = Clock()
        let end = options.seconds + 1
        for (index, (connection, requests)) in connections.enumerated() {
            // Not all at the same moment.
            let delay = options.interval * Double(index) / Double(connections.count)
            let loop = connection.channel.eventLoop
            loop.scheduleTask(deadline: clock.deadline(delay)) {
                requests.start(connection.channel, Clock(), every: options.interval, until: end)
            }
        }
        try await Task.sleep(for: .milliseconds(500))
        result.busyCPU = try await cpu()
        try await Task.sleep(for: .seconds(1))
        result.answers = connections.reduce(0) { $0 + $1.1.results.filter { $0[1] >= 0 }.count }
        return result
    }

    private func open(on group: any EventLoopGroup) async throws -> (Connection, Requests) {
        let requests = Requests()
        let connection = try await Connection.open(options, on: group) { channel in
            channel.pipeline.addHandler(requests)
        }
        return (connection, requests)
    }

    private func cpu() async throws -> Double {
        let (begun, before) = (ContinuousClock.now, Kernel.cpu)
        try await Task.sleep(for: .seconds(options.seconds))
        let (seconds, attoseconds) = (ContinuousClock.now - begun).components
        return (Kernel.cpu - before) / (Double(seconds) + Double(attoseconds) / 1e18)
    }
}
