import Foundation
import LinuxNet
import Multipath

/// What all connections of a soak have seen.
struct Seen {
    var answers = 0
    var wrong = 0
    var lost = 0
    /// How often a connection could not be made.
    var unconnected = 0
    var moves = 0
    var reopened = 0
    /// Connections that came about as plain TCP, or became that.
    var plain = 0
    /// Connections that a fault has cut off, and that were opened again: of plain TCP, and of MPTCP.
    var cutOff = (plain: 0, young: 0)
    var slowest = Duration.zero
    /// The slowest answer over MPTCP, and how many took longer than `SoakConnection.patience`.
    var slowestSteered = Duration.zero
    var late = 0
    var renumberings = Renumberings()
}

/// One connection that sends a message now and then, and compares the answer.
final class SoakConnection: Sendable, CustomStringConvertible {
    private static let size = 100
    /// How long an answer may take.
    static let patience = Duration.seconds(30)

    let number: Int
    private let socket: StreamSocket
    private let follower: ConnectionFollower
    private let mode: MultipathMode
    private let established: MonotonicTime
    /// Whether it has been counted as one of plain TCP.
    private let isPlain = Locked(false)
    /// Whether the library has said that nothing carries it, and not that something does again.
    private let isStranded = Locked(false)
    private let last = Locked<[(time: MonotonicTime, event: ConnectionEvent)]>([])
    private let seen: Locked<Seen>
    private let isClosed = Locked(false)
    private let waitsSince = Locked<MonotonicTime?>(nil)

    init(_ options: Options, _ number: Int, _ seen: Locked<Seen>) async throws {
        let modes = MultipathMode.allCases
        mode = modes[number % modes.count]
        let mode = mode
        self.number = number
        let connected = try await Connector.shared.connect(host: options.host, port: 7) {
            $0.mode = mode
            $0.connectTimeout = .seconds(30)
        }
        established = .now
        follower = try connected.follow(hasHints: true)
        socket = StreamSocket(owning: Descriptor(owning: connected.takeDescriptor()))
        self.seen = seen
        follower.observe { [seen, last, isStranded] event in
            last.withLock { last in
                if last.count == 12 { last.removeFirst() }
                last.append((.now, event))
            }
            switch event {
            case .viabilityChanged(let isViable, _): isStranded.withLock { $0 = !isViable }
            case .steering(.stranded): isStranded.withLock { $0 = true }
            case .steering(.joined): isStranded.withLock { $0 = false }
            case .steering(.moved): seen.withLock { $0.moves += 1 }
            default: break
            }
        }
        _ = isPlainTCP
    }

    /// Whether MPTCP does not carry it: a fault can swallow the first SYNs, after which the kernel leaves MPTCP out.
    var isPlainTCP: Bool {
        guard !follower.transport.isMPTCP else { return false }
        let isNew = isPlain.withLock { isPlain in
            defer { isPlain = true }
            return !isPlain
        }
        if isNew { seen.withLock { $0.plain += 1 } }
        return true
    }

    /// Whether the peer has acknowledged nothing: until then the kernel makes no further subflow (mptcp_is_fully_established,
    /// `__mptcp_subflow_connect`, net/mptcp/subflow.c), and the first is all there is.
    private var isYoung: Bool {
        TransportSample.read(socket.descriptor.number)?.connection?.acknowledged == 0
    }

    /// Whether its address went since it came about, and neither this library nor any other can keep it. One over MPTCP that
    /// the peer has acknowledged a byte of is never cut off.
    private var isCutOff: Bool {
        guard isPlainTCP || isYoung, let link = follower.establishment?.path.name else { return false }
        return seen.withLock { $0.renumberings.happened(to: link, since: established) }
    }

    /// Whether there is nothing more to be had of it, and the library has said so: then a program opens it again. One that the
    /// library says nothing of goes on waiting, and fails the soak.
    var isOver: Bool { isStranded.withLock { $0 } && isCutOff }

    /// What is known of it, with its last events.
    var description: String {
        let now = MonotonicTime.now
        let events = last.withLock { $0 }.map { "  \($0.time.duration(to: now)) ago: \($0.event)" }
        return (["\(mode), waits for \(waits)"] + events + ["\(follower.transferReport())"]).joined(
            separator: "\n")
    }

    /// For how long it has waited for an answer.
    var waits: Duration { waitsSince.withLock { $0 }.map { $0.duration(to: .now) } ?? .zero }

    /// Returns at the connection's end, or once it is closed.
    func run(_ interval: Duration, after delay: Duration) async {
        try? await Task.sleep(for: delay)
        var number: UInt8 = 0
        while !isClosed.withLock({ $0 }) {
            number &+= 1
            let message = [UInt8](repeating: number, count: Self.size)
            let begun = MonotonicTime.now
            waitsSince.withLock { $0 = begun }
            guard let answer = await exchange(message) else { break }
            waitsSince.withLock { $0 = nil }
            let took = begun.duration(to: .now)
            let isSteered = took <= .seconds(1) || !isPlainTCP
            seen.withLock {
                $0.answers += 1
                $0.wrong += answer == message ? 0 : 1
                $0.slowest = max($0.slowest, took)
                if isSteered {
                    $0.slowestSteered = max($0.slowestSteered, took)
                    $0.late += took > Self.patience ? 1 : 0
                }
            }
            try? await Task.sleep(for: max(.milliseconds(1), interval - took))
        }
        waitsSince.withLock { $0 = nil }
        if !isClosed.withLock({ $0 }) { seen.withLock { $0.lost += 1 } }
        follower.stop()
    }

    /// Ends it after its answer.
    func close() { isClosed.withLock { $0 = true } }

    /// Ends it at once.
    func abort() {
        close()
        follower.abort()
    }

    /// - Returns: nil where the connection is gone.
    private func exchange(_ message: [UInt8]) async -> [UInt8]? {
        var rest = message[...]
        while !rest.isEmpty {
            switch rest.withUnsafeBytes({ socket.write($0) }) {
            case .moved(let count):
                rest = rest.dropFirst(count)
                follower.didSend(count)
            case .wouldBlock: _ = await EventThread.shared.ready(socket.descriptor.number, for: .writable)
            case .broken: return nil
            }
        }
        var answer: [UInt8] = []
        while answer.count < message.count {
            let transfer = withUnsafeTemporaryAllocation(byteCount: Self.size, alignment: 1) { buffer in
                let transfer = socket.read(
                    into: UnsafeMutableRawBufferPointer(rebasing: buffer[..<(Self.size - answer.count)]))
                if case .moved(let count) = transfer { answer += buffer[..<count] }
                return transfer
            }
            switch transfer {
            case .moved(let count) where count > 0: follower.didReceive(count)
            case .wouldBlock: _ = await EventThread.shared.ready(socket.descriptor.number, for: .readable)
            case .moved, .broken: return nil
            }
        }
        return answer
    }
}
