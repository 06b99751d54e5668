import Foundation

/// A request of a run: milliseconds since the run began, and how long it took.
struct Sample: Codable, Sendable {
    var at: Double
    var took: Double
    var path: String?
    var failure: String?
}

struct Run: Codable, Sendable {
    /// When it began, in seconds of the machine's monotonic clock.
    var begun: Double
    var samples: [Sample]
}

struct Figures: Codable, Sendable {
    var seconds: Double
    var processor: Double
    var bytes: Int
    var failed: Int
    var http2: Bool
    /// The most memory that the process had, in kB.
    var memory: Int
    var error: String?
}

/// Gathers from many tasks.
final class Gathered<Value: Sendable>: @unchecked Sendable {
    private let lock = NSLock()
    private var value: Value

    init(_ value: Value) { self.value = value }

    func change(_ body: (inout Value) -> Void) { lock.withLock { body(&value) } }

    var now: Value { lock.withLock { value } }
}

struct Load: Sendable {
    let client: any Client

    private static func clock() -> Double {
        var time = timespec()
        clock_gettime(CLOCK_MONOTONIC, &time)
        return Double(time.tv_sec) + Double(time.tv_nsec) / 1e9
    }

    func requests(_ url: String, _ seconds: Double, _ rate: Double) async throws -> Run {
        let begun = Self.clock()
        let samples = Gathered([Int: Sample]())
        let count = Int(seconds * rate)
        for number in 0..<count {
            let due = begun + Double(number) / rate - Self.clock()
            if due > 0 { try await Task.sleep(for: .seconds(due)) }
            let start = Self.clock()
            samples.change { $0[number] = Sample(at: (start - begun) * 1000, took: 0, failure: "unanswered") }
            Task { [client] in
                var sample = Sample(at: (start - begun) * 1000, took: 0)
                do {
                    let answer = try await client.get(url, pause: nil, describes: true)
                    sample.path = answer.path
                    if answer.status != 200 { sample.failure = "status \(answer.status)" }
                } catch {
                    sample.failure = "\(error)"
                }
                sample.took = (Self.clock() - start) * 1000
                let done = sample
                samples.change { $0[number] = done }
            }
        }
        try await Task.sleep(for: .milliseconds(500))
        let end = Self.clock()
        return Run(
            begun: begun,
            samples: samples.now.sorted { $0.key < $1.key }.map { _, sample in
                guard sample.failure == "unanswered" else { return sample }
                var late = sample
                late.took = (end - begun) * 1000 - sample.at
                return late
            })
    }

    func series(_ url: String, _ count: Int, _ pause: Int) async throws -> Run {
        let begun = Self.clock()
        var samples: [Sample] = []
        for _ in 0..<count {
            let start = Self.clock()
            var sample = Sample(at: (start - begun) * 1000, took: 0)
            do { sample.path = try await client.get(url, pause: nil, describes: true).path } catch {
                sample.failure = "\(error)"
            }
            sample.took = (Self.clock() - start) * 1000
            samples.append(sample)
            try await Task.sleep(for: .milliseconds(pause))
        }
        return Run(begun: begun, samples: samples)
    }

    func flood(_ url: String, _ count: Int, _ parallel: Int) async throws -> Figures {
        // Connections, and what a process does once, are no part of it.
        var isHTTP2 = false
        for _ in 0..<5 { isHTTP2 = try await client.get(url, pause: nil, describes: true).isHTTP2 }
        let (start, processor) = (Self.clock(), Self.processor())
        let sum = Gathered((bytes: 0, failed: 0, error: String?.none))
        await withTaskGroup(of: Void.self) { group in
            for worker in 0..<parallel {
                group.addTask { [client] in
                    for _ in stride(from: worker, to: count, by: parallel) {
                        do {
                            let answer = try await client.get(url, pause: nil, describes: false)
                            sum.change { $0.bytes += answer.bytes }
                        } catch {
                            sum.change {
                                $0.failed += 1
                                $0.error = $0.error ?? "\(error)"
                            }
                        }
                    }
                }
            }
        }
        let total = sum.now
        return Figures(
            seconds: Self.clock() - start, processor: Self.processor() - processor, bytes: total.bytes,
            failed: total.failed, http2: isHTTP2, memory: Self.memory(), error: total.error)
    }

    func body(_ url: String, pause: Duration?) async throws -> Figures {
        let (start, processor) = (Self.clock(), Self.processor())
        let answer = try await client.get(url, pause: pause, describes: true)
        return Figures(
            seconds: Self.clock() - start, processor: Self.processor() - processor, bytes: answer.bytes,
            failed: answer.status == 200 ? 0 : 1, http2: answer.isHTTP2, memory: Self.memory())
    }

    private static func processor() -> Double {
        var usage = rusage()
        getrusage(__rusage_who_t(RUSAGE_SELF.rawValue), &usage)
        return Double(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec)
            + Double(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) / 1e6
    }

    private static func memory() -> Int {
        var usage = rusage()
        getrusage(__rusage_who_t(RUSAGE_SELF.rawValue), &usage)
        return usage.ru_maxrss
    }
}
