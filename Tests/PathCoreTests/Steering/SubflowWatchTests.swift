import Testing

@testable import PathCore

@Suite("A subflow's data")
struct SubflowWatchTests {
    private var watch = SubflowWatch()

    private func at(_ milliseconds: Int64) -> MonotonicTime {
        MonotonicTime(nanoseconds: milliseconds * 1_000_000)
    }

    /// A sample of a path of 20 ms; times are how long ago, in milliseconds.
    private func sample(
        unacknowledged: UInt32 = 0, acknowledged: UInt64 = 0, received: UInt64 = 0, sent: UInt64 = 0,
        lastAcknowledgement: Int = 0, lastSent: Int = 0, lastReceived: Int = 0
    ) -> SubflowSample {
        var sample = SubflowSample(
            id: 0, local: nil, remote: nil, bytesSent: sent, bytesRetransmitted: 0, bytesReceived: received,
            smoothedRTT: .milliseconds(20), rttVariation: .milliseconds(3), minimumRTT: nil)
        sample.state = .established
        (sample.unacknowledged, sample.acknowledged) = (unacknowledged, acknowledged)
        sample.sinceAcknowledgement = .milliseconds(lastAcknowledgement)
        sample.sinceDataSent = .milliseconds(lastSent)
        sample.sinceDataReceived = .milliseconds(lastReceived)
        return sample
    }

    @Test("waits for nothing while nothing is outstanding")
    mutating func idle() {
        _ = watch.take(sample(), written: nil, at: at(1000))
        #expect(watch.waitingSince == nil)
        #expect(watch.answerTime == .milliseconds(32))
    }

    @Test("waits since the first write that no sample has seen")
    mutating func written() {
        _ = watch.take(sample(), written: nil, at: at(1000))
        _ = watch.take(
            sample(unacknowledged: 2, lastAcknowledgement: 500), written: at(1490), at: at(1500))
        #expect(watch.waitingSince == at(1490))
    }

    @Test("waits since the first write also where its first sample comes after that")
    mutating func newborn() {
        watch.isNewborn = true
        var other = watch
        _ = watch.take(
            sample(unacknowledged: 2, lastAcknowledgement: 100), written: at(1490), at: at(1500))
        #expect(watch.waitingSince == at(1490))
        // Something of it was acknowledged since.
        _ = other.take(sample(unacknowledged: 2, lastAcknowledgement: 4), written: at(1490), at: at(1500))
        #expect(other.waitingSince == at(1496))
        var unknown = SubflowWatch()
        _ = unknown.take(
            sample(unacknowledged: 2, lastAcknowledgement: 100), written: at(1490), at: at(1500))
        #expect(unknown.waitingSince == at(1500))
    }

    @Test("waits since a lone segment was sent, where nobody tells of writes")
    mutating func lone() {
        _ = watch.take(sample(), written: nil, at: at(1000))
        _ = watch.take(
            sample(unacknowledged: 1, lastAcknowledgement: 500, lastSent: 30), written: nil, at: at(1500))
        #expect(watch.waitingSince == at(1470))
    }

    @Test("waits anew with each acknowledgement, which a counter must prove")
    mutating func progress() {
        _ = watch.take(sample(unacknowledged: 3), written: at(990), at: at(1000))
        let first = watch.take(
            sample(unacknowledged: 3, acknowledged: 1000, lastAcknowledgement: 10), written: nil, at: at(1050)
        )
        #expect(first.hasAcknowledged && watch.waitingSince == at(1040))
        // What the peer sends again refreshes the time, and proves nothing.
        let second = watch.take(
            sample(unacknowledged: 3, acknowledged: 1000, lastAcknowledgement: 1), written: nil, at: at(1090))
        #expect(!second.isAny && watch.waitingSince == at(1040))
        _ = watch.take(sample(acknowledged: 4000), written: nil, at: at(1100))
        #expect(watch.waitingSince == nil)
    }

    @Test("does not count the time before this path carried")
    mutating func carries() {
        _ = watch.take(sample(lastAcknowledgement: 400), written: nil, at: at(1400))
        watch.carriesSince = at(1480)
        _ = watch.take(
            sample(unacknowledged: 1, lastAcknowledgement: 500, lastSent: 100), written: nil, at: at(1500))
        #expect(watch.waitingSince == at(1480))
    }

    @Test("is excused by an answer: the wait begins again")
    mutating func excuse() {
        watch.excuse(at: at(900))
        #expect(watch.waitingSince == nil)
        _ = watch.take(sample(unacknowledged: 1), written: nil, at: at(1000))
        watch.excuse(at: at(1100))
        #expect(watch.waitingSince == at(1100))
    }

    @Test("is a stream when it comes without being asked for, also behind gaps")
    mutating func stream() {
        for (time, bytes) in [(0, 0), (40, 100), (60, 100), (80, 200), (100, 200)] as [(Int64, UInt64)] {
            _ = watch.take(sample(received: bytes), written: nil, at: at(1000 + time))
        }
        #expect(watch.run == 2)
        #expect(watch.receivedAt == at(1080))
    }

    @Test("is none where each message answers one of ours")
    mutating func answers() {
        for count in 0..<5 as Range<UInt64> {
            _ = watch.take(
                sample(received: count * 100, sent: count * 50), written: nil,
                at: at(1000 + Int64(count) * 40))
        }
        #expect(watch.run == 1)
    }
}

@Suite("The number of probes")
struct LossEstimateTests {
    private func sample(_ delivered: UInt32, _ retransmissions: UInt32) -> SubflowSample {
        var sample = SubflowSample(
            id: 0, local: nil, remote: nil, bytesSent: 0, bytesRetransmitted: 0, bytesReceived: 0,
            smoothedRTT: .zero, rttVariation: .zero, minimumRTT: nil)
        (sample.delivered, sample.retransmissions) = (delivered, retransmissions)
        return sample
    }

    @Test("is one on a clean path")
    func clean() {
        var loss = LossEstimate()
        loss.take(sample(0, 0))
        loss.take(sample(1000, 0))
        #expect(loss.probes == 1)
    }

    @Test("grows with the loss, to eight at most", arguments: [(10, 4), (20, 7), (45, 8), (100, 8)])
    func lossy(percent: UInt32, probes: Int) {
        var loss = LossEstimate()
        for round in 0...20 as ClosedRange<UInt32> {
            loss.take(sample(round * (100 - min(percent, 99)), round * percent))
        }
        #expect(loss.probes == probes)
    }

    @Test("does not count a new subflow's counters as loss")
    func fresh() {
        var loss = LossEstimate()
        loss.take(sample(1000, 10))
        loss.take(sample(5, 0))
        #expect(loss.probes == 1)
        loss.forgetCounters()
        loss.take(sample(10, 900))
        #expect(loss.probes == 1)
    }

    @Test("grows with probes that were not answered, and shrinks with those that were")
    func asked() {
        var loss = LossEstimate()
        for _ in 0..<20 { loss.asked(false) }
        let suspectedAt = loss.probes
        for _ in 0..<200 { loss.asked(true) }
        #expect(suspectedAt > 3 && loss.probes == 1)
    }
}

@Suite("Addresses")
struct AddressBookTests {
    private let first = IPAddress("192.0.2.1")!

    @Test("are numbered in turn, from the first subflow's 0, and keep their numbers")
    func numbers() {
        var book = AddressBook(first: first)
        let addresses = ["198.51.100.1", "2001:db8::1"].map { IPAddress($0)! }
        #expect(addresses.map { book.id(of: $0) { _ in true } } == [1, 2])
        #expect(book.id(of: first) { _ in true } == 0)
        #expect(book.id(of: addresses[1]) { _ in true } == 2)
    }

    @Test("take the number of one without subflows when all are taken, never the first one's")
    func exhausted() {
        var book = AddressBook(first: first)
        for number in 1...255 as ClosedRange<UInt32> {
            #expect(book.id(of: IPAddress(ipv4: number)) { _ in true } == UInt8(number))
        }
        let new = IPAddress(ipv4: 1000)
        #expect(book.id(of: new) { _ in true } == nil)
        #expect(book.id(of: new) { $0 != IPAddress(ipv4: 7) && $0 != first } == 7)
    }

    @Test("can be taken back as long as the kernel knows them: not after a subflow of theirs was destroyed")
    func withdrawal() {
        var book = AddressBook(first: first)
        let local = SubflowAction.LocalAddress(IPAddress("198.51.100.1")!, id: 1)
        #expect(book.canWithdraw(SubflowAction.LocalAddress(first, id: 0)))
        #expect(!book.canWithdraw(local))
        book.made(local)
        #expect(book.canWithdraw(local))
        book.destroyed(local.address)
        #expect(!book.canWithdraw(local))
    }
}
