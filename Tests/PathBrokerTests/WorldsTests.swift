import BrokerSimulation
import Testing

@Suite("The broker's clients in seeded worlds")
struct WorldsTests {
    @Test("no order for a connection of another, no limit broken, nothing kept of those that have gone")
    func worlds() {
        var (orders, creates, refusals) = (0, 0, 0)
        for seed in 0..<300 as Range<UInt64> {
            var world = BrokerWorld(seed: seed)
            world.run()
            #expect(world.faults.isEmpty, "world \(seed): \(world.faults)")
            orders += world.orderCount
            creates += world.createCount
            refusals += world.refusalCount
        }
        // A world in which nothing happens proves nothing.
        #expect(
            orders > 300 && creates > 100 && refusals > 3_000,
            "\(orders) orders, \(creates) subflows, \(refusals) refusals")
    }

    @Test("damaged packets trap no reader")
    func packets() {
        let understood = PacketStorm.run(count: 20_000, seed: 1)
        #expect(understood > 1_000 && understood < 20_000)
    }
}
