import LabNet
import LinuxNet
import Multipath

/// Notes when bytes of TCP streams come in over an interface, or go out as well. Only one task drains it.
final class DataCapture: @unchecked Sendable {
    private let port: PacketSocket
    private var arrivals: [MonotonicTime] = []
    /// How many bytes of streams there were.
    private(set) var bytes = 0

    init(_ interface: String, takesOutgoing: Bool) throws {
        port = try PacketSocket(interface, takesOutgoing: takesOutgoing)
    }

    func drain() {
        port.receive(limit: .max) { frame, time in
            let payload = Self.payload(of: frame)
            guard payload > 0 else { return }
            bytes += payload
            arrivals.append(time)
        }
    }

    /// How many packets with data came after a fault, when the last one did, and how many were later than 100 ms.
    func lines(since fault: MonotonicTime) -> [String] {
        let after = arrivals.filter { $0 > fault }
        let last = after.last.map { fault.duration(to: $0).wholeNanoseconds / 1_000_000 } ?? 0
        let late = after.count { fault.duration(to: $0) > .milliseconds(100) }
        return ["data_before \(arrivals.count - after.count)", "last_data \(last)", "late_data \(late)"]
    }

    /// How many bytes of a stream a frame carries. Behind Ethernet's header; options of IP are not there in a lab.
    private static func payload(of frame: UnsafeRawBufferPointer) -> Int {
        func number(_ place: Int) -> Int { Int(frame[place]) << 8 | Int(frame[place + 1]) }
        let (transport, end): (Int, Int)
        switch (frame[12], frame[13]) {
        case (0x08, 0x00) where frame[14 + 9] == 6: (transport, end) = (14 + 20, 14 + number(14 + 2))
        case (0x86, 0xDD) where frame[14 + 6] == 6: (transport, end) = (14 + 40, 14 + 40 + number(14 + 4))
        default: return 0
        }
        guard frame.count > transport + 12 else { return 0 }
        return end - transport - Int(frame[transport + 12] >> 4) * 4
    }
}
