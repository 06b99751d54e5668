import LinuxNet
import PathCore

/// Asks a daemon one thing and waits for the answer: for commands.
package enum BrokerInquiry {
    /// Why there is no answer.
    package enum Failure: Error, Sendable {
        case system(SystemError)
        case refused(BrokerFailure)
        /// It said what no daemon of this version says.
        case notUnderstood
    }

    /// What the daemon at a path is doing.
    package static func status(
        at path: String, patience: Duration = .seconds(2)
    ) throws(Failure) -> BrokerStatus {
        let deadline = MonotonicTime.now.advanced(by: patience)
        let messages: [BrokerMessage?]
        do throws(SystemError) {
            let socket = try LocalPackets.connect(to: path)
            try LocalPackets.send(BrokerRequest.hello.packet(id: 1), over: socket)
            try LocalPackets.send(BrokerRequest.status.packet(id: 2), over: socket)
            messages = [try receive(from: socket, by: deadline), try receive(from: socket, by: deadline)]
        } catch {
            throw .system(error)
        }
        for message in messages {
            switch message {
            case .status(_, let status)?: return status
            case .refused(_, let failure)?: throw .refused(failure)
            case .welcome?, .event?, .done?, nil: continue
            }
        }
        throw .notUnderstood
    }

    private static func receive(
        from socket: borrowing Descriptor, by deadline: MonotonicTime
    ) throws(SystemError) -> BrokerMessage? {
        guard LocalPackets.wait(for: socket, until: deadline) else { throw .unanswered("ask mpathd") }
        guard
            let packet = try LocalPackets.receive(
                from: socket, limit: BrokerProtocol.longestAnswer, waits: false)
        else { return nil }
        return BrokerMessage(packet.bytes)
    }
}
