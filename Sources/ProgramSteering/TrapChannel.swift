import CTrap
import LinuxNet
import Multipath

/// The policy's end of the channel to the trap. It lives on the event thread.
final class TrapChannel {
    private let number: CInt
    private let thread: EventThread
    private var registration: EventThread.Token?
    /// What the trap has not taken yet: it is behind, or was killed and another has not begun. In order.
    private var backlog: [(message: trap_message, socket: SuppliedSocket?)] = []
    private var timer: EventThread.Token?

    /// Sockets among them: the trap has room for no more.
    private static let mostInBacklog = 256
    private static let pause = Duration.milliseconds(2)

    /// - Parameter number: the channel's descriptor, which is this object's from now on.
    init(_ number: CInt, on thread: EventThread) {
        (self.number, self.thread) = (number, thread)
    }

    /// Calls a closure with each message, and with the descriptor that came with it; the closure's caller closes that.
    ///
    /// - Parameter whenOver: called where every process that held the other end has ended.
    func begin(
        _ body: @escaping (trap_message, CInt?) -> Void, whenOver: @escaping () -> Void
    ) throws(SystemError) {
        registration = try thread.add(number, for: .readable) { [unowned self] _ in receive(body, whenOver) }
    }

    private func receive(_ body: (trap_message, CInt?) -> Void, _ whenOver: () -> Void) {
        for _ in 0..<64 {
            var message = trap_message()
            var passed: CInt = -1
            switch trap_receive(number, &message, &passed) {
            case 1:
                guard passed >= 0 else {
                    body(message, nil)
                    continue
                }
                let descriptor = Descriptor(owning: passed)
                body(message, descriptor.number)
            case 0:
                registration.take().map(thread.remove)
                backlog = []
                return whenOver()
            case -2: continue
            default: return
            }
        }
    }

    /// Whether the trap is so far behind that what can be asked later is to be asked later.
    var isCrowded: Bool { backlog.count >= Self.mostInBacklog }

    /// Sends a message, now or as soon as the trap has room for it.
    ///
    /// - Parameter socket: one for the trap to have, too.
    func send(_ message: trap_message, passing socket: SuppliedSocket? = nil) {
        guard registration != nil else { return }
        guard backlog.isEmpty else { return keep(message, socket) }
        if !transmit(message, socket) { keep(message, socket) }
    }

    private func keep(_ message: trap_message, _ socket: SuppliedSocket?) {
        backlog.append((message, socket))
        guard timer == nil else { return }
        timer = thread.schedule(at: .now.advanced(by: Self.pause)) { [unowned self] in
            timer = nil
            sendBacklog()
        }
    }

    private func sendBacklog() {
        let waiting = backlog
        backlog = []
        for (message, socket) in waiting { send(message, passing: socket) }
    }

    private func transmit(_ message: trap_message, _ socket: SuppliedSocket?) -> Bool {
        var message = message
        defer { extendLifetime(socket) }
        return trap_send(number, &message, socket?.number ?? -1) == 0
    }
}

extension trap_message {
    /// The address that the program has bound the socket to; nil for none.
    var ownAddress: IPAddress? {
        let length = UInt32(family) == TRAP_IPV4.rawValue ? 4 : 16
        let address = withUnsafeBytes(of: own) { IPAddress(networkBytes: $0.prefix(length)) }
        return address?.isUnspecified == true ? nil : address?.unmapped
    }

    init(_ kind: trap_kind, sequence: UInt32 = 0) {
        self.init()
        self.kind = kind.rawValue
        self.sequence = sequence
    }

    /// The program's name, as the kernel shortens it, of a message that has it in its address's place; nil where it is not known.
    var program: String? {
        let name = withUnsafeBytes(of: address) { String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self) }
        return name.isEmpty ? nil : name
    }

    /// The family that a socket is of.
    var addressFamily: IPAddress.Family { UInt32(family) == TRAP_IPV6.rawValue ? .ipv6 : .ipv4 }

    /// Where a connect leads; nil where the message says no address.
    var destination: IPEndpoint? {
        withUnsafeBytes(of: address) { bytes -> IPEndpoint? in
            let length: Int
            switch UInt32(family) {
            case TRAP_IPV4.rawValue: length = 4
            case TRAP_IPV6.rawValue: length = 16
            default: return nil
            }
            return IPAddress(networkBytes: bytes.prefix(length), zone: scope).map {
                IPEndpoint($0, port: port)
            }
        }
    }
}
