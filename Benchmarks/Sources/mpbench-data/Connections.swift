import BenchSupport
import NIOCore
import NIOPosix

/// Connections that are closed as soon as they are open, `atOnce` of them being made at the same time.
struct Churn {
    let options: Options

    struct Result: Encodable {
        var connections: Int
        var seconds: Double
        var cpu: Double
    }

    func run() async throws -> Result {
        let dialer = options.dialer(on: MultiThreadedEventLoopGroup(numberOfThreads: 1))
        try await dialer.warmUp()
        let (number, atOnce) = (options.number, options.atOnce)
        let watch = Stopwatch()
        try await withThrowingTaskGroup(of: Void.self) { tasks in
            for lane in 0..<atOnce {
                tasks.addTask {
                    for _ in stride(from: lane, to: number, by: atOnce) {
                        try await dialer.open { $0.eventLoop.makeSucceededVoidFuture() }.close()
                    }
                }
            }
            try await tasks.waitForAll()
        }
        return Result(connections: number, seconds: watch.seconds, cpu: watch.cpu)
    }
}

/// Connections that say nothing: what each takes of memory and descriptors.
struct Crowd {
    let options: Options

    struct Result: Encodable {
        /// How many there were: fewer than asked for where descriptors ran out.
        var connections = 0
        /// Resident memory of each, in KiB, beyond what the process had with one connection.
        var memory = 0.0
        var descriptors = 0.0
    }

    func run() async throws -> Result {
        let limit = ProcessUsage.raiseDescriptorLimit()
        let dialer = options.dialer(on: MultiThreadedEventLoopGroup(numberOfThreads: 1))
        try await dialer.warmUp()
        var channels = try await open(1, dialer)
        let (memory, descriptors) = (ProcessUsage.residentKiB, ProcessUsage.descriptors)
        while channels.count < options.number {
            // The next connections take as many descriptors each as those before.
            let each = max(Double(ProcessUsage.descriptors - descriptors) / Double(channels.count), 1)
            let left = Int(Double(limit - ProcessUsage.descriptors - 64) / each)
            let next = min(options.atOnce, options.number - channels.count, left)
            guard next > 0 else { break }
            channels += try await open(next, dialer)
        }
        // By then all work that connecting left behind is done.
        try await Task.sleep(for: .seconds(2))
        let number = Double(channels.count - 1)
        return Result(
            connections: channels.count, memory: (ProcessUsage.residentKiB - memory) / number,
            descriptors: Double(ProcessUsage.descriptors - descriptors) / number)
    }

    private func open(_ count: Int, _ dialer: CheckedDialer) async throws -> [any Channel] {
        try await withThrowingTaskGroup(of: (any Channel).self) { tasks in
            for _ in 0..<count {
                tasks.addTask { try await dialer.open { $0.eventLoop.makeSucceededVoidFuture() } }
            }
            return try await tasks.reduce(into: []) { $0.append($1) }
        }
    }
}
