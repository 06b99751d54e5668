import PathCore
import Testing

@testable import Multipath

@Suite("Path updates")
struct LatestPathTests {
    private typealias Machine = LatestPath<String>

    private func snapshot(_ generation: UInt64, _ names: String...) -> PathSnapshot {
        PathSnapshot(
            generation: generation,
            interfaces: names.enumerated().map { position, name in
                PathInterface(index: UInt32(position + 1), name: name, type: Verdict(.wired, .kernel))
            })
    }

    private func text(_ wake: Machine.Wake?) -> String? {
        wake.map { wake in
            "\(wake.waiter): "
                + (wake.snapshot.map { snapshot in
                    "#\(snapshot.generation) \(snapshot.changes.map(\.reason.rawValue).joined(separator: " "))"
                } ?? "end")
        }
    }

    @Test("begin with the current value, and then wait for a newer one")
    func currentFirst() {
        var machine = Machine()
        let consumer = machine.addConsumer()
        #expect(machine.publish(snapshot(1, "eth0")).isEmpty)
        #expect(text(machine.next(consumer, "first")) == "first: #1 initial")
        #expect(text(machine.next(consumer, "second")) == nil)
        #expect(machine.publish(snapshot(2)).map(text) == ["second: #2 primary_changed path_lost"])
    }

    @Test("skip to the newest for a slow consumer, and tell it all that changed since the last one it saw")
    func latestWins() {
        var machine = Machine()
        let consumer = machine.addConsumer()
        _ = machine.publish(snapshot(1, "eth0"))
        _ = machine.next(consumer, "first")
        _ = machine.publish(snapshot(2, "eth0", "wlan0"))
        _ = machine.publish(snapshot(3, "eth0", "wlan0", "wwan0"))
        #expect(text(machine.next(consumer, "next")) == "next: #3 path_appeared path_appeared")
    }

    @Test("say nothing of a state that changed and changed back")
    func unchanged() {
        var machine = Machine()
        let consumer = machine.addConsumer()
        _ = machine.publish(snapshot(1, "eth0"))
        _ = machine.next(consumer, "first")
        _ = machine.publish(snapshot(2))
        _ = machine.publish(snapshot(3, "eth0"))
        #expect(text(machine.next(consumer, "next")) == nil)
        #expect(machine.publish(snapshot(4)).map(text) == ["next: #4 primary_changed path_lost"])
    }

    @Test("wake no consumer for what is not worth it, and show it to later ones")
    func silentDifference() {
        var machine = Machine()
        let early = machine.addConsumer()
        _ = machine.publish(snapshot(1, "eth0"))
        _ = machine.next(early, "early")
        #expect(text(machine.next(early, "waiting")) == nil)
        var same = snapshot(1, "eth0")
        same.excluded = [
            ExcludedInterface(
                PathInterface(index: 9, name: "veth0", type: Verdict(.virtual, .kernel)), reason: .noAddress)
        ]
        machine.replace(same)
        let late = machine.addConsumer()
        let wake = machine.next(late, "late")
        #expect(wake?.snapshot?.excluded == same.excluded)
        #expect(machine.publish(snapshot(2)).map(text) == ["waiting: #2 primary_changed path_lost"])
    }

    @Test("reach each of many consumers, each from where it stands")
    func manyConsumers() {
        var machine = Machine()
        let consumers = (0..<3).map { _ in machine.addConsumer() }
        for consumer in consumers { #expect(machine.next(consumer, "\(consumer)") == nil) }
        #expect(
            machine.publish(snapshot(1, "eth0")).map(text) == [
                "0: #1 initial", "1: #1 initial", "2: #1 initial",
            ])
    }

    @Test("end for a consumer that is cancelled, and for no other")
    func cancellation() {
        var machine = Machine()
        let (first, second) = (machine.addConsumer(), machine.addConsumer())
        _ = machine.next(first, "first")
        _ = machine.next(second, "second")
        #expect(text(machine.cancel(first)) == "first: end")
        #expect(text(machine.next(first, "again")) == "again: end")
        #expect(machine.publish(snapshot(1, "eth0")).map(text) == ["second: #1 initial"])
    }

    @Test("deliver the newest value before they end")
    func end() {
        var machine = Machine()
        let (early, late) = (machine.addConsumer(), machine.addConsumer())
        _ = machine.publish(snapshot(1, "eth0"))
        _ = machine.next(early, "first")
        _ = machine.next(early, "waiting")
        #expect(machine.end().map(text) == ["waiting: end"])
        #expect(text(machine.next(late, "late")) == "late: #1 initial")
        #expect(text(machine.next(late, "last")) == "last: end")
    }
}

extension LatestPath.Wake: Equatable where Waiter == String {
    public static func == (left: Self, right: Self) -> Bool {
        left.waiter == right.waiter && left.snapshot == right.snapshot
    }
}
