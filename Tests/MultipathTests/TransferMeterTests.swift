import PathCore
import Testing

@testable import LinuxNet
@testable import Multipath

@Suite("The transfer meter")
struct TransferMeterTests {
    /// What was MPTCP, as a socket that is TCP now shows it.
    private func transport(
        rtt: Duration, acknowledged: UInt64, received: UInt64 = 0, state: SubflowSample.State = .closed
    ) -> Transport {
        var meter = TransferMeter(transport: .mptcp, level: .perConnection, path: "wlan0", started: .zero)
        var subflow = SubflowSample(
            id: 0, local: nil, remote: nil, bytesSent: 0, bytesRetransmitted: 0, bytesReceived: received,
            smoothedRTT: rtt, rttVariation: .zero, minimumRTT: rtt)
        (subflow.state, subflow.acknowledged) = (state, acknowledged)
        meter.ingest(TransportSample(kind: .tcp, subflows: [subflow]), naming: .all) { nil }
        #expect(
            meter.control == (meter.transport.isMPTCP ? .perConnection : .observeOnly(because: .plainTCP)))
        return meter.transport
    }

    @Test("tells a fallback from a reset that came right after the handshake")
    func fallback() {
        let fallback = Transport.tcp(fallback: .afterHandshake)
        #expect(transport(rtt: .microseconds(25), acknowledged: 1) == .mptcp)
        #expect(transport(rtt: .microseconds(25), acknowledged: 1, state: .established) == fallback)
        #expect(transport(rtt: .microseconds(25), acknowledged: 101, received: 500) == fallback)
        // Ended in both directions, it has no counters any more.
        #expect(transport(rtt: .zero, acknowledged: 0) == fallback)
    }
}
