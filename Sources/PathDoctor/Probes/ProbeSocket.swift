import Glibc
import LinuxNet
import Multipath

/// A connected socket of a probe, bound to the interface that it probes.
final class ProbeSocket: Sendable {
    let socket: StreamSocket
    /// How long the handshake took.
    let duration: Duration

    private init(_ socket: consuming StreamSocket, _ duration: Duration) {
        self.socket = socket
        self.duration = duration
    }

    /// Why there is none.
    enum Failure: Error, Sendable, Hashable {
        case refused
        case silent
        /// The error's words: a router's, or this machine's own.
        case failed(String)
    }

    /// What is special about a probe.
    struct Options: Sendable {
        var transport = TransportProtocol.tcp
        /// The largest segment that either end may send, in bytes (TCP_MAXSEG); nil for the path's.
        var largestSegment: CInt?
        /// The handshake is reset when the peer's kernel answers: its program sees nothing of it.
        var staysHalfOpen = false
    }

    /// Connects over one interface.
    ///
    /// - Parameter limit: after so long it is silent.
    static func connect(
        to endpoint: IPEndpoint, over interface: InterfaceIndex, _ options: Options = Options(),
        within limit: Duration
    ) async -> Result<ProbeSocket, Failure> {
        let begun = ContinuousClock.now
        do throws(SystemError) {
            let socket = try StreamSocket(endpoint.address.family, options.transport)
            try socket.bind(toInterface: interface)
            if let largest = options.largestSegment {
                try SocketOption.set(
                    socket.descriptor.number, CInt(IPPROTO_TCP), TCP_MAXSEG, largest, "TCP_MAXSEG")
            }
            if options.staysHalfOpen { try socket.staysHalfOpen() }
            if try !socket.connect(to: endpoint) {
                guard await isReady(socket.descriptor.number, .writable, within: limit) else {
                    return .failure(.silent)
                }
                if let error = socket.consumeError() { return .failure(failure(error)) }
            }
            return .success(ProbeSocket(socket, ContinuousClock.now - begun))
        } catch {
            return .failure(failure(error))
        }
    }

    private static func failure(_ error: SystemError) -> Failure {
        switch error.errno {
        case ECONNREFUSED: .refused
        case ETIMEDOUT: .silent
        default: .failed(error.words)
        }
    }

    /// Waits until a descriptor is ready, or has an error.
    ///
    /// - Returns: whether it is within the time.
    static func isReady(
        _ descriptor: CInt, _ readiness: EventThread.Readiness, within limit: Duration
    ) async -> Bool {
        await withTaskGroup(of: Bool.self) { group in
            group.addTask { await EventThread.shared.ready(descriptor, for: readiness) != nil }
            group.addTask {
                try? await Task.sleep(for: limit)
                return false
            }
            let first = await group.next() ?? false
            group.cancelAll()
            return first
        }
    }

    var number: CInt { socket.descriptor.number }

    /// After so long without an answer the kernel sends a SYN again (RFC 6298 section 2).
    static let repetition = Duration.seconds(1)

    /// How long the first SYN's answer took, and whether it came in time; nil where that SYN was lost and a later one answered.
    ///
    /// A queue that holds a second answers the first SYN after the second was sent. The kernel tells the two apart by the time
    /// stamps (RFC 7323 section 4.1): its round trip is that of the SYN that was answered. But an answer that was lost, and sent again,
    /// has the first SYN's as well (tcp_check_req, net/ipv4/tcp_minisocks.c): `QualityFinding` says what it was.
    var firstAnswer: (time: Duration, isInTime: Bool)? {
        guard let sample = TransportSample.read(number)?.subflows.first, sample.retransmissions > 0 else {
            return (duration, true)
        }
        return sample.smoothedRTT > duration - Self.repetition / 2 ? (duration, false) : nil
    }

    /// Sends a request that fits the socket's buffer, and gathers the answer until it has so many bytes, the peer ends it, or
    /// the time is over.
    func ask(_ request: [UInt8], upTo most: Int, within limit: Duration) async -> [UInt8] {
        var written = 0
        let deadline = ContinuousClock.now + limit
        while written < request.count {
            switch request.withUnsafeBytes({ socket.write(UnsafeRawBufferPointer(rebasing: $0[written...])) })
            {
            case .moved(let count): written += count
            case .wouldBlock:
                guard await Self.isReady(number, .writable, within: deadline - .now) else { return [] }
            case .broken: return []
            }
        }
        var answer: [UInt8] = []
        while answer.count < most {
            var part = [UInt8](repeating: 0, count: most - answer.count)
            switch part.withUnsafeMutableBytes({ socket.read(into: $0) }) {
            case .moved(0), .broken: return answer
            case .moved(let count): answer += part.prefix(count)
            case .wouldBlock:
                guard await Self.isReady(number, .readable, within: deadline - .now) else { return answer }
            }
        }
        return answer
    }

    /// The largest packet that the kernel sends to the peer now, in bytes (IP_MTU, ip(7)).
    func pathMTU(_ family: IPAddress.Family) -> Int? {
        let (level, name): (Int32, Int32) =
            family == .ipv4 ? (CInt(IPPROTO_IP), IP_MTU) : (CInt(IPPROTO_IPV6), IPV6_MTU)
        return SocketOption.get(number, level, name).map(Int.init)
    }

    /// A second descriptor of the connection, whose owner the caller becomes.
    func duplicate() throws(SystemError) -> CInt { try Descriptor(duplicating: number).release() }
}

extension ProbeSocket {
    /// Has the kernel ask the peer after a time without a byte (TCP's keepalive, RFC 9293 section 3.8.4): three times, a second
    /// apart.
    ///
    /// - Returns: what waits for the outcome. Nil where the kernel does not do that.
    func keepAlive(after idle: Duration) -> (@Sendable () async -> IdleFinding?)? {
        let seconds = CInt(clamping: Int64(max(idle.inSeconds.rounded(), 1)))
        do throws(SystemError) {
            let tcp = CInt(IPPROTO_TCP)
            try SocketOption.set(number, tcp, TCP_KEEPIDLE, seconds, "TCP_KEEPIDLE")
            try SocketOption.set(number, tcp, TCP_KEEPINTVL, 1, "TCP_KEEPINTVL")
            try SocketOption.set(number, tcp, TCP_KEEPCNT, 3, "TCP_KEEPCNT")
            try SocketOption.set(number, SOL_SOCKET, SO_KEEPALIVE, 1, "SO_KEEPALIVE")
        } catch {
            return nil
        }
        let time = Duration.seconds(Int64(seconds))
        return { [self] in await outcome(ofKeepAliveAfter: time) }
    }

    /// A server that goes on talking is not waited for longer.
    private static let mostGreetings = 8

    private func outcome(ofKeepAliveAfter idle: Duration) async -> IdleFinding? {
        for _ in 0..<Self.mostGreetings {
            let begun = ContinuousClock.now
            guard await Self.isReady(number, .readable, within: idle + .seconds(5)) else {
                return .remembered(after: idle)
            }
            let passed = ContinuousClock.now - begun
            // What comes before the keepalive was sent answers nothing: it is the server's end.
            let isEarly = passed < idle
            if socket.consumeError() != nil {
                return isEarly ? .ended(after: passed) : .forgotten(after: idle)
            }
            var greeting = [UInt8](repeating: 0, count: 4096)
            switch greeting.withUnsafeMutableBytes({ socket.read(into: $0) }) {
            case .moved(0): return isEarly ? .ended(after: passed) : .remembered(after: idle)
            case .broken: return isEarly ? .ended(after: passed) : .forgotten(after: idle)
            // The kernel counts anew from there.
            case .moved, .wouldBlock: continue
            }
        }
        return nil
    }
}
