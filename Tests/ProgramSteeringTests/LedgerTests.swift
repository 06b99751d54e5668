import Multipath
import Testing

@testable import ProgramSteering

@Suite("The ledger of a program's sockets")
struct LedgerTests {
    private func socket(_ cookie: UInt64) -> ProgramSocket {
        ProgramSocket(cookie: cookie, thread: 7, descriptor: 3, level: .perConnection)
    }

    private let server = IPEndpoint(IPAddress(ipv4: 0xCB00_7101), port: 80)

    @Test("tells what became of a socket from its making to its connection")
    func course() {
        var ledger = SocketLedger()
        ledger.made(socket(1))
        #expect(ledger[1]?.state == .made)
        ledger.connects(1, by: 8, 4, to: server)
        #expect(ledger[1]?.state == .connecting)
        #expect(ledger[1]?.thread == 8)
        #expect(ledger[1]?.descriptor == 4)
        #expect(ledger[1]?.destination == server)
        #expect(ledger[1]?.level == .perConnection, "what it was made with stays")
        ledger.update(1) { $0.state = .connected(.mptcp) }
        #expect(ledger.all.map(\.state) == [.connected(.mptcp)])
        #expect(ledger.totals.made == 1)
        #expect(ledger.totals.connects == 1)
    }

    @Test("takes in a socket that connects and that it did not see being made")
    func unseen() {
        var ledger = SocketLedger()
        ledger.connects(9, by: 8, 4, to: server)
        #expect(ledger[9]?.level == .observeOnly(because: .foreignSocket))
        #expect(ledger.totals.made == 0)
        #expect(ledger.totals.connects == 1)
    }

    @Test("counts what was refused, and what was the kernel's own")
    func totals() {
        var ledger = SocketLedger()
        ledger.connects(1, by: 8, 4, to: server)
        ledger.refused(1)
        ledger.madePlain(.excludedProgram)
        ledger.madePlain(.excludedProgram)
        ledger.madePlain(.noMPTCP)
        ledger.unexamined()
        #expect(ledger[1]?.state == .refused)
        #expect(ledger.totals.refused == 1)
        #expect(ledger.totals.plain == [.excludedProgram: 2, .noMPTCP: 1])
        #expect(ledger.totals.unexamined == 1)
    }

    @Test("forgets the oldest where there are too many, and none that is connecting")
    func capacity() {
        var ledger = SocketLedger(capacity: 100)
        ledger.connects(1, by: 8, 4, to: server)
        for cookie in UInt64(2)...1000 { ledger.made(socket(cookie)) }
        #expect(ledger.all.count <= 100)
        #expect(ledger[1]?.state == .connecting)
        #expect(ledger[2] == nil)
        #expect(ledger[1000] != nil)
        #expect(ledger.totals.made == 999)
    }

    @Test("keeps what is followed, however much there is, and counts what it forgets")
    func followed() {
        var ledger = SocketLedger(capacity: 100)
        for cookie in UInt64(1)...300 {
            ledger.made(socket(cookie))
            ledger.update(cookie) { $0.isFollowed = true }
        }
        #expect(ledger.all.count == 300)
        for cookie in UInt64(1)...300 { ledger.update(cookie) { $0.isFollowed = false } }
        for cookie in UInt64(301)...600 { ledger.made(socket(cookie)) }
        #expect(ledger.all.count <= 100)
        #expect(ledger.totals.forgotten == 600 - ledger.all.count)
    }

    @Test("is as large after many connections as after few, where nothing is kept of them")
    func forgotten() {
        var ledger = SocketLedger(capacity: 100)
        for cookie in UInt64(1)...10_000 {
            ledger.made(socket(cookie))
            ledger.forget(cookie)
        }
        #expect(ledger.all.isEmpty)
        #expect(ledger.totals.made == 10_000)
        #expect(ledger.totals.forgotten == 10_000)
    }

    @Test("a socket that is told of twice stands once")
    func twice() {
        var ledger = SocketLedger()
        ledger.made(socket(1))
        ledger.made(socket(1))
        #expect(ledger.all.count == 1)
    }
}

@Suite("The reserve of sockets")
struct ReserveTests {
    @Test("is filled, and filled again by as many as were taken")
    func filled() {
        var plan = ReservePlan()
        let first = plan.order(.ipv4)
        #expect(first > 0)
        #expect(plan.order(.ipv4) == 0, "what is being made is not ordered twice")
        for _ in 0..<first { plan.made(.ipv4, isKept: true) }
        #expect(plan.order(.ipv4) == 0)
        plan.taken(.ipv4)
        #expect(plan.order(.ipv4) == 1)
    }

    @Test("grows where the program found none, and no further than the trap has room for")
    func grows() {
        var plan = ReservePlan()
        var ordered = 0
        for _ in 0..<20 {
            plan.missed(.ipv6)
            let more = plan.order(.ipv6)
            ordered += more
            for _ in 0..<more { plan.made(.ipv6, isKept: true) }
        }
        #expect(ordered == ReservePlan.most)
    }

    @Test("that could not be made is ordered again at the next occasion, and not before")
    func failed() {
        var plan = ReservePlan()
        let first = plan.order(.ipv4)
        for _ in 0..<first { plan.made(.ipv4, isKept: false) }
        #expect(plan.order(.ipv4) == first)
    }

    @Test("is made anew for a trap that has none")
    func lost() {
        var plan = ReservePlan()
        let first = plan.order(.ipv4)
        for _ in 0..<first { plan.made(.ipv4, isKept: true) }
        plan.lost()
        #expect(plan.order(.ipv4) == first)
    }

    @Test("never counts below nothing")
    func balance() {
        var plan = ReservePlan()
        let first = plan.order(.ipv4)
        for _ in 0..<first { plan.made(.ipv4, isKept: true) }
        for _ in 0..<(first + 5) { plan.taken(.ipv4) }
        #expect(plan.order(.ipv4) == first)
    }
}

@Suite("Options that MPTCP lacks")
struct OptionTests {
    @Test("are known by their numbers, of each level its own")
    func numbers() {
        #expect(LackingOption(level: 6, number: 18) == .userTimeout)
        #expect(LackingOption(level: 1, number: 47) == .pacing)
        #expect(LackingOption(level: 1, number: 18) == nil)
        #expect(LackingOption(level: 6, number: 47) == nil)
    }
}
