import CLinux
import Glibc
import PathCore

extension DeliverySample {
    /// A TCP connection's state now, by one system call of about 1 µs; nil for a descriptor that is no TCP
    /// socket. What an older kernel leaves out stays 0.
    package static func read(_ descriptor: CInt) -> DeliverySample? {
        guard let info = mp_tcp_info.read(descriptor) else { return nil }
        var sample = DeliverySample()
        sample.unacknowledged = info.unacked
        sample.unsent = info.notsent_bytes
        sample.acknowledged = info.bytes_acked
        sample.delivered = info.delivered
        sample.received = info.bytes_received
        sample.timeouts = info.retransmits
        sample.backoff = info.backoff
        sample.unansweredProbes = info.probes
        sample.retransmissions = info.total_retrans
        sample.sendWindow = info.snd_wnd
        sample.smoothedRTT = .microseconds(Int64(info.rtt))
        sample.rttVariation = .microseconds(Int64(info.rttvar))
        sample.receiverRTT = .microseconds(Int64(info.rcv_rtt))
        return sample
    }
}

extension StreamSocket {
    /// Ends both directions: those that wait on the descriptor wake up, and its number stays in use.
    package func shutDown() { _ = shutdown(descriptor.number, CInt(SHUT_RDWR)) }
}
