import CLinux
import Glibc
import PathCore

/// A descriptor on its way to another process, which can be taken back until that process has opened the envelope.
///
/// A descriptor that was passed itself stays open for as long as the packet lies unread: where the receiver is stopped, a
/// connection would outlive its close. So what is passed is one end of a pair of local sockets, in which the descriptor lies.
/// Whichever end reads it first has it.
package final class DescriptorEnvelope {
    private let end: Descriptor

    /// Puts a duplicate of a descriptor in.
    ///
    /// - Throws: EMFILE without two descriptors, ETOOMANYREFS where too many of this user's are on their way.
    package init(_ descriptor: CInt) throws(SystemError) {
        var pair: [CInt] = [-1, -1]
        let kind = CInt(SOCK_SEQPACKET.rawValue) | CInt(SOCK_CLOEXEC.rawValue)
        try systemCall("make an envelope") { socketpair(AF_UNIX, kind, 0, &pair) }
        end = Descriptor(owning: pair[0])
        // Closed at the end of this: behind the descriptor the receiver finds the end.
        let other = Descriptor(owning: pair[1])
        try LocalPackets.send([0], passing: descriptor, over: other)
    }

    /// What is passed, for a call.
    package var number: CInt { end.number }

    /// Takes the descriptor back, where it is still there.
    package func withdraw() {
        // Its descriptors are closed with the packet.
        _ = try? LocalPackets.receive(from: end, limit: 1, waits: false)
    }

    deinit { withdraw() }

    /// Opens another process's. It may be any file: see `PassedSocketFacts.read`.
    ///
    /// - Returns: what lay in it; the file itself where that is no envelope, and nil where the sender has taken it back.
    package static func open(_ envelope: consuming Descriptor) -> Descriptor? {
        guard SocketOption.get(envelope.number, SOL_SOCKET, SO_DOMAIN) == AF_UNIX,
            SocketOption.get(envelope.number, SOL_SOCKET, SO_TYPE) == CInt(SOCK_SEQPACKET.rawValue)
        else { return envelope }
        do throws(SystemError) {
            guard let packet = try LocalPackets.receive(from: envelope, limit: 1, waits: false) else {
                return nil
            }
            var descriptors = packet.takeDescriptors()
            guard descriptors.count == 1 else { return envelope }
            return descriptors.takeLast()
        } catch {
            return envelope
        }
    }
}
