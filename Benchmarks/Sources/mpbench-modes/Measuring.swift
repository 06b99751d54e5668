import Glibc
import NIOCore

/// Seconds since the load began.
struct Clock: Sendable {
    let begun = NIODeadline.now()
    var now: Double { seconds(of: .now()) }

    func seconds(of time: NIODeadline) -> Double { Double((time - begun).nanoseconds) / 1e9 }
    func deadline(_ seconds: Double) -> NIODeadline { begun + .nanoseconds(Int64(seconds * 1e9)) }
}

/// The kernel's numbers of a connection and of the interfaces.
enum Kernel {
    private static let solMPTCP: CInt = 284
    private static let mptcpInfo: CInt = 1
    /// Of struct mptcp_info (linux/mptcp.h).
    private static let acknowledgedOffset = 72
    /// Of struct tcp_info (linux/tcp.h).
    private static let tcpAcknowledgedOffset = 120

    /// The bytes that the peer has acknowledged of a whole connection.
    static func acknowledged(_ descriptor: CInt) -> UInt64? {
        withUnsafeTemporaryAllocation(byteCount: 512, alignment: 8) { buffer in
            var length = socklen_t(buffer.count)
            if getsockopt(descriptor, solMPTCP, mptcpInfo, buffer.baseAddress, &length) == 0,
                length >= acknowledgedOffset + 8
            {
                return buffer.load(fromByteOffset: acknowledgedOffset, as: UInt64.self)
            }
            length = socklen_t(buffer.count)
            guard
                getsockopt(descriptor, CInt(IPPROTO_TCP), TCP_INFO, buffer.baseAddress, &length) == 0,
                length >= tcpAcknowledgedOffset + 8
            else { return nil }
            return buffer.load(fromByteOffset: tcpAcknowledgedOffset, as: UInt64.self)
        }
    }

    /// What every interface has received and sent, from /proc/net/dev.
    static func interfaces() -> [String: InterfaceCounters] {
        var found: [String: InterfaceCounters] = [:]
        for line in lines(of: "/proc/net/dev").dropFirst(2) {
            let halves = line.split(separator: ":", maxSplits: 1)
            guard halves.count == 2 else { continue }
            let numbers = halves[1].split(separator: " ").compactMap { UInt64($0) }
            guard numbers.count >= 10 else { continue }
            let name = String(halves[0].drop { $0 == " " })
            found[name] = InterfaceCounters(
                received: numbers[0], packetsReceived: numbers[1], sent: numbers[8],
                packetsSent: numbers[9])
        }
        return found
    }

    /// Segments that TCP has sent again in this network namespace (nstat's TcpRetransSegs).
    static func retransmittedSegments() -> UInt64 {
        let rows = lines(of: "/proc/net/snmp").filter { $0.hasPrefix("Tcp:") }.map {
            $0.split(separator: " ")
        }
        guard rows.count == 2, let place = rows[0].firstIndex(of: "RetransSegs"), place < rows[1].count
        else { return 0 }
        return UInt64(rows[1][place]) ?? 0
    }

    private static func lines(of path: String) -> [Substring] {
        guard let file = fopen(path, "r") else { return [] }
        defer { fclose(file) }
        var bytes: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: 4096)
        while case let count = fread(&buffer, 1, buffer.count, file), count > 0 {
            bytes += buffer.prefix(count)
        }
        return String(decoding: bytes, as: UTF8.self).split(separator: "\n")
    }
}

struct InterfaceCounters: Encodable {
    var received: UInt64
    var packetsReceived: UInt64
    var sent: UInt64
    var packetsSent: UInt64
}

/// Bytes as they arrive: how many in each 20 ms, and the pauses.
struct Flow: Sendable {
    static let bucket = 0.02
    /// Shorter pauses are a path's own rhythm.
    static let shortest = 0.008
    /// Longer ones are a stall.
    private static let longest = 0.05

    private(set) var buckets: [UInt64] = []
    /// Start and length of each, in seconds.
    private(set) var gaps: [[Double]] = []
    private var last = 0.0

    mutating func note(_ bytes: UInt64, at time: Double) {
        let index = Int(max(time, 0) / Self.bucket)
        while buckets.count <= index { buckets.append(0) }
        buckets[index] += bytes
        pause(until: time)
    }

    /// Whether bytes have come without a stall for `seconds`, since `time` or since the last stall after it.
    func isSmooth(since time: Double, for seconds: Double, now: Double) -> Bool {
        guard now - last < Self.longest else { return false }
        let stall = gaps.last { $0[1] >= Self.longest }
        return now - max(time, stall.map { $0[0] + $0[1] } ?? 0) >= seconds
    }

    /// The pause that the run ended in counts too.
    mutating func finish(at time: Double) { pause(until: time) }

    private mutating func pause(until time: Double) {
        if time - last > Self.shortest { gaps.append([last, time - last]) }
        last = time
    }
}
