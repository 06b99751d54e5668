import BenchSupport
import NIOCore
import NIOPosix

/// Many connections at once: what they cost while they say nothing, and while each says a little.
struct Crowd {
    let options: Options

    struct Result: Encodable {
        var connections = 0
        var residentBeforeKiB = 0.0
        var residentKiB = 0.0
        /// Of one CPU, from 0 to 1.
        var idleCPU = 0.0
        var busyCPU = 0.0
        var answers = 0
    }

    func run() async throws -> Result {
        let group = MultiThreadedEventLoopGroup(numberOfThreads: 1)
        var result = Result()
        // The first also makes what a process has one of.
        var connections = [try await open(on: group)]
        result.residentBeforeKiB = ProcessUsage.residentKiB
        while connections.count < options.count {
            let next = min(20, options.count - connections.count)
            connections += try await withThrowingTaskGroup(of: (Dialer.Opened, Requests).self) { tasks in
                for _ in 0..<next { tasks.addTask { try await open(on: group) } }
                return try await tasks.reduce(into: []) { $0.append($1) }
            }
        }
        // By then all work that connecting left behind is done.
        try await Task.sleep(for: .seconds(3))
        result.connections = connections.count
        result.residentKiB = ProcessUsage.residentKiB
        result.idleCPU = try await cpu()
        let clock = Clock()
        let end = options.seconds + 1
        for (index, (opened, requests)) in connections.enumerated() {
            // Not all at the same moment.
            let delay = options.interval * Double(index) / Double(connections.count)
            let channel = opened.channel
            channel.eventLoop.scheduleTask(deadline: clock.deadline(delay)) {
                requests.start(channel, Clock(), every: options.interval, until: end)
            }
        }
        try await Task.sleep(for: .milliseconds(500))
        result.busyCPU = try await cpu()
        try await Task.sleep(for: .seconds(1))
        result.answers = connections.reduce(0) { $0 + $1.1.results.filter { $0[1] >= 0 }.count }
        return result
    }

    private func open(on group: any EventLoopGroup) async throws -> (Dialer.Opened, Requests) {
        let requests = Requests()
        let opened = try await options.dialer(on: group).open { channel in
            channel.pipeline.addHandler(requests)
        }
        return (opened, requests)
    }

    private func cpu() async throws -> Double {
        let (begun, before) = (ContinuousClock.now, ProcessUsage.cpu)
        try await Task.sleep(for: .seconds(options.seconds))
        let (seconds, attoseconds) = (ContinuousClock.now - begun).components
        return (ProcessUsage.cpu - before) / (Double(seconds) + Double(attoseconds) / 1e18)
    }
}
