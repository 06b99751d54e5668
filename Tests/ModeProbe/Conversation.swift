import Glibc
import LinuxNet
import Multipath
import NetworkLab

/// One connection under load, every byte of which is checked.
final class Conversation: Sendable {
    private struct State {
        var sentAt: [MonotonicTime] = []
        var sent = 0
        var received = 0
        var isAltered = false
        /// Of each message that came back.
        var latencies: [Duration] = []
        var lastArrival: MonotonicTime?
        var pause = Duration.zero
        var answer = ""
        var hasEnded = false
    }

    private let options: ProbeOptions
    private let socket: StreamSocket
    /// The same socket: a descriptor can be waited for in one way at a time.
    private let writingEnd: Descriptor
    private let follower: ConnectionFollower
    private let begun: MonotonicTime
    private let state = Locked(State())
    private let events = Locked<[String]>([])
    private let following = Locked(Seen())
    private let isStopped = Locked(false)

    /// What its events said.
    struct Seen {
        var carrier: PathID?
        var moves = 0
        var joins: [PathID: Int] = [:]
        /// When a path was left.
        var lefts: [MonotonicTime] = []
        /// Each path that was told of.
        var paths: [String] = []
        var refusals: [(at: MonotonicTime, text: String)] = []
    }

    var seen: Seen { following.withLock { $0 } }
    var isOver: Bool { state.withLock { $0.hasEnded } || begun.duration(to: .now) >= options.duration }

    init(_ options: ProbeOptions) async throws {
        self.options = options
        let opened =
            if options.isForeign { try await Self.openForeign(options) } else if options.isLent {
                try await Self.openLent(options)
            } else { try await Self.open(options) }
        follower = opened.follower
        socket = StreamSocket(owning: Descriptor(owning: opened.descriptor))
        writingEnd = try Descriptor(duplicating: socket.descriptor.number)
        let begun = MonotonicTime.now
        self.begun = begun
        // Of ten thousand moves the last are enough.
        let limit = options.moves == nil ? Int.max : 50
        follower.observe { [events, following] event in
            let time = begun.duration(to: .now).wholeNanoseconds / 1_000_000
            switch event {
            case .pathChanged(let path): following.withLock { $0.paths.append("\(path)") }
            case .pathNotAllowed(let refusal): following.withLock { $0.refusals.append((.now, "\(refusal)")) }
            default: break
            }
            guard case .steering(let event) = event else { return }
            events.withLock {
                if $0.count >= limit { $0.removeFirst() }
                $0.append("event \(time) \(event)")
            }
            following.withLock {
                switch event {
                case .moved(_, let new, _): ($0.carrier, $0.moves) = (new, $0.moves + 1)
                case .joined(let path): $0.joins[path, default: 0] += 1
                case .left: $0.lefts.append(.now)
                default: break
                }
            }
        }
    }

    deinit { follower.stop() }

    private typealias Opened = (descriptor: CInt, follower: ConnectionFollower)

    private static func open(_ options: ProbeOptions) async throws -> Opened {
        let connected = try await Connector.shared.connect(host: options.host, port: Int(options.port)) {
            $0.mode = options.mode
            $0.prohibitedInterfaces = options.prohibited
            $0.allowsConstrainedPaths = options.moves?.cause != .constrained && !options.refusesConstrained
            $0.whenPathIsRefused = options.whenRefused
            if options.isTCP { $0.protocols = [.tcp] }
            $0.budget = options.budget.map {
                .bytes($0, per: .day, on: options.budgeted.map { .interfaces([$0]) } ?? .expensive)
            }
        }
        let follower = try connected.follow(hasHints: true)
        return (connected.takeDescriptor(), follower)
    }

    /// As another library would, which knows nothing of path managers.
    private static func openForeign(_ options: ProbeOptions) async throws -> Opened {
        let monitor = Connector.shared.monitor
        _ = try await monitor.currentPath()
        guard let address = try await NameLookup.addresses(of: options.host).first else {
            throw ResolutionError("no address")
        }
        let socket = try StreamSocket(address.family, .mptcp)
        let number = socket.descriptor.number
        if try !socket.connect(to: IPEndpoint(address, port: options.port)) {
            _ = await EventThread.shared.ready(number, for: .writable)
            if let error = socket.consumeError() { throw error }
        }
        let follower = try ConnectionFollower(
            adopting: number, SteeringConfiguration(mode: options.mode), maySteerAll: true, monitor: monitor)
        follower.begin(nil)
        return (socket.release(), follower)
    }

    /// As another program's connection: followed by its names in the kernel.
    private static func openLent(_ options: ProbeOptions) async throws -> Opened {
        let connected = try await Connector.shared.connect(host: options.host, port: Int(options.port)) {
            $0.mode = options.mode
        }
        let level = try connected.follow().control
        let number = connected.takeDescriptor()
        var configuration = ConnectionConfiguration()
        configuration.mode = options.mode
        guard
            let follower = ConnectionFollower(
                lent: number, madeWith: level, configuration, monitor: Connector.shared.monitor)
        else { throw SystemError("follow a lent socket", errno: ENOTCONN) }
        follower.begin(nil)
        return (number, follower)
    }

    /// Ends the steering, and waits until it has ended.
    func end() throws {
        follower.stop()
        try EventThread.shared.perform {}
    }

    /// Sends no more, however long the options say.
    func stop() { isStopped.withLock { $0 = true } }

    /// Sends for as long as the options say, then waits for what is still to come back.
    func run() async {
        await withTaskGroup(of: Void.self) { group in
            group.addTask { await self.receive() }
            switch options.load {
            case .echo: await sendMessages()
            case .upload:
                group.addTask { await self.watchAcknowledgements() }
                await sendStream()
            case .download:
                _ = await write(Array("\n".utf8)[...])
                while goesOn { try? await Task.sleep(for: .milliseconds(5)) }
            }
            // What is stuck for longer than this is stuck for good.
            let patience = MonotonicTime.now.advanced(by: .seconds(8))
            while options.load != .download, MonotonicTime.now < patience, !isComplete {
                try? await Task.sleep(for: .milliseconds(10))
            }
            group.cancelAll()
        }
    }

    private var goesOn: Bool { !isStopped.withLock { $0 } && begun.duration(to: .now) < options.duration }

    private var isComplete: Bool {
        state.withLock { $0.hasEnded || (options.load == .echo && $0.received == $0.sent) }
    }

    private func sendMessages() async {
        var number = 0
        while goesOn {
            let message = source(options.size, from: number * options.size)
            state.withLock {
                $0.sentAt.append(.now)
                $0.sent += message.count
            }
            guard await write(message[...]) else { return }
            number += 1
            let due = begun.advanced(by: options.interval * number)
            try? await Task.sleep(for: max(MonotonicTime.now.duration(to: due), .zero))
        }
    }

    private func sendStream() async {
        while goesOn {
            let chunk = source(32 * 1024, from: state.withLock { $0.sent })
            guard await write(chunk[...]) else { return }
            state.withLock { $0.sent += chunk.count }
        }
        _ = shutdown(socket.descriptor.number, CInt(SHUT_WR))
    }

    /// Notes the longest time in which the peer has acknowledged nothing.
    private func watchAcknowledgements() async {
        var (last, since) = (UInt64(0), MonotonicTime.now)
        while goesOn {
            let known = TransportSample.connection(writingEnd.number)?.firstUnacknowledged ?? last
            let now = MonotonicTime.now
            if last > 0 { state.withLock { $0.pause = max($0.pause, since.duration(to: now)) } }
            if known != last { (last, since) = (known, now) }
            try? await Task.sleep(for: .milliseconds(1))
        }
    }

    private func source(_ count: Int, from offset: Int) -> [UInt8] {
        var bytes = [UInt8](repeating: 0, count: count)
        bytes.withUnsafeMutableBytes {
            SourceData.fill($0, from: UInt64(offset), seed: SourceData.defaultSeed)
        }
        return bytes
    }

    /// - Returns: false where the connection is gone.
    private func write(_ bytes: ArraySlice<UInt8>) async -> Bool {
        var rest = bytes
        while !rest.isEmpty {
            switch rest.withUnsafeBytes({ socket.write($0) }) {
            case .moved(let count):
                rest = rest.dropFirst(count)
                if !options.isLent { follower.didSend(count) }
            case .wouldBlock:
                guard await EventThread.shared.ready(writingEnd.number, for: .writable) != nil else {
                    return false
                }
            case .broken:
                state.withLock { $0.hasEnded = true }
                return false
            }
        }
        return true
    }

    private func receive() async {
        var buffer = [UInt8](repeating: 0, count: 64 * 1024)
        while await EventThread.shared.ready(socket.descriptor.number, for: .readable) != nil {
            reading: while true {
                switch buffer.withUnsafeMutableBytes({ socket.read(into: $0) }) {
                case .wouldBlock: break reading
                case .moved(let count) where count > 0:
                    if !options.isLent { follower.didReceive(count) }
                    ingest(buffer[..<count])
                case .moved, .broken:
                    state.withLock { $0.hasEnded = true }
                    return
                }
            }
        }
    }

    private func ingest(_ bytes: ArraySlice<UInt8>) {
        let now = MonotonicTime.now
        state.withLock { state in
            if options.load == .upload {
                state.answer += String(decoding: bytes, as: UTF8.self)
                return
            }
            if !bytes.elementsEqual(source(bytes.count, from: state.received)) { state.isAltered = true }
            state.received += bytes.count
            if let last = state.lastArrival { state.pause = max(state.pause, last.duration(to: now)) }
            state.lastArrival = now
            while options.load == .echo, (state.latencies.count + 1) * options.size <= state.received {
                state.latencies.append(state.sentAt[state.latencies.count].duration(to: now))
            }
        }
    }

    /// What there is to tell, a fact a line.
    func report() -> [String] {
        let report = follower.transferReport()
        let state = state.withLock { $0 }
        func milliseconds(_ duration: Duration) -> Int64 { duration.wholeNanoseconds / 1_000_000 }
        var lines = ["connection"] + events.withLock { $0 }
        lines += report.paths.map { "path \($0.path) \($0.bytesSent) \($0.bytesReceived)" }
        lines.append("transport \(report.transport.isMPTCP ? "mptcp" : "tcp")")
        lines.append("control \(report.control.name)")
        lines.append("bytes \(state.received)")
        lines.append("moves \(seen.moves)")
        lines.append("ended \(state.hasEnded)")
        lines += seen.paths.map { "now \($0)" } + seen.refusals.map { "refused \($0.text)" }
        lines.append("current \(follower.currentPath.map { "\($0)" } ?? "none")")
        switch options.load {
        case .echo:
            let count = Int(Duration.seconds(1) / options.interval)
            let latest = state.latencies.suffix(count).sorted()
            lines.append("intact \(!state.isAltered && state.received == state.sent)")
            lines.append("stall \(milliseconds(state.latencies.max() ?? .seconds(3600)))")
            lines.append("latest \(milliseconds(latest.isEmpty ? .seconds(3600) : latest[latest.count / 2]))")
        case .download:
            // A stream that stopped for good has its longest pause at its end.
            let end = (state.lastArrival ?? begun).duration(to: begun.advanced(by: options.duration))
            lines.append("intact \(!state.isAltered && state.received > 0)")
            lines.append("stall \(milliseconds(max(state.pause, end)))")
        case .upload:
            let expected = "\(state.sent) \(SourceData.digest(count: state.sent))\n"
            lines.append("intact \(state.answer == expected)")
            lines.append("stall \(milliseconds(state.pause))")
        }
        return lines
    }
}
