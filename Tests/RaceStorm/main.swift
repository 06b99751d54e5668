// Many connections at once, for a test that looks at what is left of them. It runs in a process of its own, in
// a network namespace that the test made: descriptors, sockets and memory are then this program's alone.
//
// usage: racestorm COUNT HOST:PORT=OUTCOME…    OUTCOME: connected or failed
// It connects COUNT times to each in turn, all at once, closes what it got, and prints a line:
// `connected N failed N unexpected N descriptors N kilobytes N→N opening N`.

import Foundation
import MultipathNIO
import NIOCore

struct Target: Sendable {
    let host: String
    let port: Int
    let isExpectedToConnect: Bool

    init?(_ text: String) {
        let parts = text.split(separator: "=")
        guard parts.count == 2, let colon = parts[0].lastIndex(of: ":"),
            let port = Int(parts[0][parts[0].index(after: colon)...])
        else { return nil }
        host = String(parts[0][..<colon])
        self.port = port
        isExpectedToConnect = parts[1] == "connected"
    }
}

func descriptorCount() -> Int {
    (try? FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd").count) ?? -1
}

func memory() -> Int {
    let status = (try? String(contentsOfFile: "/proc/self/status", encoding: .utf8)) ?? ""
    return status.firstMatch(of: #/VmRSS:\s+(\d+)/#).flatMap { Int($0.1) } ?? -1
}

/// Sockets of this namespace that have sent a SYN and got no answer (state 02).
func openingCount() -> Int {
    ["/proc/net/tcp", "/proc/net/tcp6"].reduce(0) { count, path in
        let lines = ((try? String(contentsOfFile: path, encoding: .utf8)) ?? "").split(separator: "\n")
        return count
            + lines.dropFirst().count { $0.split(separator: " ", omittingEmptySubsequences: true)[3] == "02" }
    }
}

/// All at once; what is connected is closed.
func storm(_ count: Int, _ targets: [Target]) async -> (connected: Int, failed: Int, unexpected: Int) {
    await withTaskGroup(of: (isConnected: Bool, isExpected: Bool).self) { group in
        for number in 0..<count {
            let target = targets[number % targets.count]
            // Half of them hold their losers, as with TLS.
            let bootstrap = MultipathBootstrap(group: .singletonMultiThreadedEventLoopGroup)
                // Long where it must not matter, on a machine with other work too.
                .connectTimeout(.seconds(target.isExpectedToConnect ? 25 : 3))
            let confirmed =
                number / targets.count % 2 == 0
                ? bootstrap
                : bootstrap.raceUntil(
                    RaceMilestone { $0.eventLoop.makeSucceededVoidFuture() })
            group.addTask {
                do {
                    let channel = try await confirmed.connect(host: target.host, port: target.port).get()
                    try? await channel.close()
                    return (true, target.isExpectedToConnect)
                } catch {
                    if target.isExpectedToConnect { print("\(target.host): \(error)") }
                    return (false, !target.isExpectedToConnect)
                }
            }
        }
        var sum = (connected: 0, failed: 0, unexpected: 0)
        for await result in group {
            if result.isConnected { sum.connected += 1 } else { sum.failed += 1 }
            if !result.isExpected { sum.unexpected += 1 }
        }
        return sum
    }
}

let arguments = CommandLine.arguments.dropFirst()
let targets = arguments.dropFirst().compactMap(Target.init)
guard let count = arguments.first.flatMap({ Int($0) }), !targets.isEmpty else {
    print("usage: racestorm COUNT HOST:PORT=connected|failed…")
    exit(2)
}
// What the first storm takes, and the allocator keeps, is no leak.
_ = await storm(count, targets)
let (descriptors, before) = (descriptorCount(), memory())
let sum = await storm(count, targets)
// Losers are closed in the step in which the winner won; the channels' last ends take a moment.
let deadline = ContinuousClock.now + .seconds(10)
while ContinuousClock.now < deadline, openingCount() > 0 || descriptorCount() > descriptors {
    try? await Task.sleep(for: .milliseconds(10))
}
print(
    "connected \(sum.connected) failed \(sum.failed) unexpected \(sum.unexpected) "
        + "descriptors \(descriptorCount() - descriptors) kilobytes \(before)→\(memory()) "
        + "opening \(openingCount())")
