import PathCore
import Testing

@testable import LinuxNet
@testable import Multipath

@Suite("The transfer ledger")
struct TransferLedgerTests {
    private func sample(_ id: UInt32, sent: UInt64, received: UInt64, rtt: Int64 = 20) -> SubflowSample {
        SubflowSample(
            id: id, local: nil, remote: nil, bytesSent: sent, bytesRetransmitted: 0, bytesReceived: received,
            smoothedRTT: .milliseconds(rtt), rttVariation: .zero, minimumRTT: .milliseconds(rtt))
    }

    private func text(_ ledger: TransferLedger) -> [String] {
        ledger.paths().map { "\($0.path) \($0.subflows) \($0.bytesSent) \($0.bytesReceived)" }
    }

    private func record(_ ledger: inout TransferLedger, _ samples: SubflowSample...) {
        ledger.record(samples) { sample, isFirst in isFirst ? "wlan0" : PathID("wwan\(sample.id - 1)") }
    }

    @Test("keeps the counters of a subflow that is gone")
    func goneSubflow() {
        var ledger = TransferLedger()
        record(&ledger, sample(0, sent: 10, received: 20))
        record(&ledger, sample(1, sent: 1, received: 2))
        #expect(text(ledger) == ["wlan0 1 10 20", "wwan0 1 1 2"])
    }

    @Test("adds up thousands of subflows that came and went, and holds those alone that are there")
    func manySubflows() {
        var ledger = TransferLedger()
        for number in 0..<UInt32(10_000) {
            let samples = [sample(number, sent: 0, received: 0), sample(number, sent: 2, received: 3)]
            for sample in samples {
                ledger.record([sample]) { sample, _ in sample.id % 2 == 0 ? "wlan0" : "wwan0" }
            }
        }
        ledger.count(sent: 20_001, received: 30_000)
        #expect(text(ledger) == ["wlan0 5000 10000 15000", "wwan0 5000 10001 15000"])
        #expect(ledger.subflowCount == 1)
    }

    @Test("does not believe a sample that the kernel has reset")
    func reset() {
        var ledger = TransferLedger()
        record(&ledger, sample(0, sent: 10, received: 20), sample(1, sent: 1, received: 2))
        record(&ledger, sample(0, sent: 0, received: 0, rtt: 0), sample(1, sent: 3, received: 4))
        #expect(text(ledger) == ["wlan0 1 10 20", "wwan0 1 3 4"])
    }

    @Test("adds up the subflows of one interface")
    func sameInterface() {
        var ledger = TransferLedger()
        record(&ledger, sample(1, sent: 1, received: 1), sample(2, sent: 2, received: 2))
        record(&ledger, sample(3, sent: 4, received: 4))
        ledger.record([sample(4, sent: 8, received: 8)]) { _, _ in "wlan0" }
        #expect(text(ledger) == ["wlan0 2 9 9", "wwan1 1 2 2", "wwan2 1 4 4"])
    }

    @Test("books what the samples lack on the path that was last seen carrying")
    func lacking() {
        var ledger = TransferLedger()
        record(&ledger, sample(0, sent: 10, received: 0), sample(1, sent: 0, received: 0))
        record(&ledger, sample(0, sent: 10, received: 0), sample(1, sent: 5, received: 0))
        ledger.count(sent: 100, received: 7)
        #expect(text(ledger) == ["wlan0 1 10 0", "wwan0 1 90 7"])
    }

    @Test("takes the user's count as it is where there is one path")
    func onePath() {
        var ledger = TransferLedger()
        record(&ledger, sample(0, sent: 1_016, received: 0))
        ledger.count(sent: 1_000, received: 3)
        #expect(text(ledger) == ["wlan0 1 1000 3"])
    }

    @Test("takes counters that no connection can have, and stops at the limit")
    func impossibleCounters() {
        var ledger = TransferLedger()
        // What a kernel tells that counts more bytes sent again than sent, as a difference that wraps.
        record(&ledger, sample(0, sent: .max, received: 20), sample(1, sent: .max - 4, received: .max))
        record(&ledger, sample(0, sent: .max, received: .max), sample(1, sent: .max, received: .max))
        ledger.count(sent: 1_000, received: 2_000)
        #expect(
            text(ledger) == ["wlan0 1 \(UInt64.max) \(UInt64.max)", "wwan0 1 \(UInt64.max) \(UInt64.max)"])
        record(&ledger, sample(3, sent: 1, received: 1))
        ledger.record([sample(4, sent: .max, received: 1)]) { _, _ in "wlan0" }
        #expect(ledger.paths().total(\.bytesSent) == .max)
        #expect(ledger.paths().first?.bytesSent == .max)
    }
}
