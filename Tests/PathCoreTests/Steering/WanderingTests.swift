import Testing

@testable import PathCore

@Suite("Round trips that change")
struct WanderingTests {
    private let tuning = SteeringTuning()
    private var wandering = Wandering()

    private mutating func note(_ latency: Int, _ time: Int64) {
        wandering.note(.milliseconds(latency), at: at(time), tuning)
    }

    private func wanders(_ time: Int64) -> Bool {
        wandering.wanders(at: at(time), tuning)
    }

    @Test("nothing changes where nothing or little is known, or where it is always the same")
    mutating func calm() {
        #expect(!wanders(0))
        for time in stride(from: Int64(0), to: 5000, by: 100) {
            note(time.isMultiple(of: 200) ? 40 : 50, time)
            #expect(!wanders(time))
        }
    }

    @Test("a change by more than a quarter and 5 ms is one for half a second", arguments: [20, 100])
    mutating func change(new: Int) {
        note(40, 0)
        note(40, 450)
        note(new, 600)
        #expect(wanders(600))
        #expect(wanders(950))
        note(new, 1150)
        note(new, 1200)
        #expect(!wanders(1700))
    }

    @Test("what was measured once and long ago is forgotten")
    mutating func old() {
        note(40, 0)
        note(400, 10)
        note(400, 60_000)
        #expect(!wanders(60_000))
    }
}
