import Glibc
import LinuxNet
import Multipath

/// Idle connections to the echo service, one after the other, kept by heartbeats whose times are shortened. It prints what was
/// found about the network, a fact a line.
///
///     modeprobe heartbeat FIRST_MS SETTLED_MS
///
/// `FIRST_MS` is the first interval; the longest is sixteen times that. When the search is over it goes on for `SETTLED_MS`.
enum HeartbeatProbe {
    static func run(_ words: ArraySlice<String>) async throws {
        let numbers = words.compactMap { Int($0) }
        guard numbers.count == 2 else { throw SystemError("read the arguments", errno: EINVAL) }
        let first = Duration.milliseconds(numbers[0])
        var tuning = HeartbeatTuning()
        (tuning.firstInterval, tuning.longestInterval, tuning.shortestInterval) = (
            first, first * 16, first / 4
        )
        (tuning.leastPatience, tuning.mostPatience) = (.milliseconds(400), .seconds(2))
        let hub = HeartbeatHub.onEventThread(tuning: tuning)
        let begun = MonotonicTime.now
        var settled: MonotonicTime?
        var (deaths, deathsAfterSettling, pings) = (0, 0, 0)
        while begun.duration(to: .now) < .seconds(240) {
            let connection = try await IdleConnection(hub)
            while !connection.isDead {
                try await Task.sleep(for: .milliseconds(20))
                let search = await connection.search()
                if settled == nil, search?.isSettled == true { settled = .now }
                guard let since = settled,
                    since.duration(to: .now) >= .milliseconds(numbers[1])
                else { continue }
                pings += connection.heartbeat.report.pings
                print("interval \((search?.interval.wholeNanoseconds ?? 0) / 1_000_000)")
                print("deaths \(deaths)")
                print("deaths_after_settling \(deathsAfterSettling)")
                print("pings \(pings)")
                print("settled_after \(begun.duration(to: since).wholeNanoseconds / 1_000_000)")
                return
            }
            pings += connection.heartbeat.report.pings
            deaths += 1
            // The loss that ends the search is seen as its end first.
            if let settled, settled.duration(to: .now) > .milliseconds(300) { deathsAfterSettling += 1 }
        }
        print("settled_after never")
    }
}

/// A connection whose own descriptor writes pings and reads what comes back.
private final class IdleConnection: Sendable {
    let heartbeat: Heartbeat
    private let follower: ConnectionFollower
    private let hub: HeartbeatHub
    private let descriptor: CInt
    private let hasDied = Locked(false)
    private let reader: Task<Void, Never>

    init(_ hub: HeartbeatHub) async throws {
        self.hub = hub
        // The lab's translator is IPv4's.
        guard let server = try await NameLookup.addresses(of: "server").first(where: { $0.family == .ipv4 })
        else {
            throw ResolutionError("no IPv4 address")
        }
        let connected = try await Connector.shared.connect(to: IPEndpoint(server, port: 7)) {
            $0.protocols = [.tcp]
            $0.requiredInterface = "wlan0"
        }
        let follower = try connected.follow(hasHints: true)
        let descriptor = connected.takeDescriptor()
        let heartbeat = Heartbeat(of: follower, in: hub, pingSize: 4) {
            _ = send(descriptor, "ping", 4, CInt(MSG_NOSIGNAL | MSG_DONTWAIT))
        } told: { [hasDied] event in
            if case .dead = event { hasDied.withLock { $0 = true } }
        }
        (self.follower, self.descriptor, self.heartbeat) = (follower, descriptor, heartbeat)
        reader = Task {
            var bytes = [UInt8](repeating: 0, count: 64)
            while await EventThread.shared.ready(descriptor, for: .readable) != nil, !Task.isCancelled {
                let count = recv(descriptor, &bytes, bytes.count, CInt(MSG_DONTWAIT))
                if count > 0 { heartbeat.answered() } else { return }
            }
        }
    }

    deinit {
        reader.cancel()
        follower.stop()
        close(descriptor)
    }

    var isDead: Bool { hasDied.withLock { $0 } }

    func search() async -> SilenceSearch? {
        guard let network = follower.heartbeatNetwork else { return nil }
        return await hub.search(of: network)
    }
}
