// Runs many seeded worlds of the broker's clients: broker-worlds COUNT [FIRST]. Prints those whose rules are broken.
// And packets: broker-worlds packets COUNT, of every kind and damaged, through both readers.

import BrokerSimulation
import PathBroker
import PathCore

@main
enum Main {
    static func main() {
        let arguments = CommandLine.arguments.dropFirst()
        if arguments.first == "packets" {
            let count = arguments.dropFirst().first.flatMap { Int($0) } ?? 1_000_000
            print("\(PacketStorm.run(count: count, seed: 1)) of \(count) packets were requests")
            return
        }
        let count = arguments.first.flatMap { UInt64($0) } ?? 1_000
        let first = arguments.dropFirst().first.flatMap { UInt64($0) } ?? 0
        var (orders, creates, refusals, broken) = (0, 0, 0, 0)
        for seed in first..<(first + count) {
            var world = BrokerWorld(seed: seed)
            world.run()
            orders += world.orderCount
            creates += world.createCount
            refusals += world.refusalCount
            if let fault = world.faults.first {
                broken += 1
                print("world \(seed): \(fault)")
            }
        }
        print(
            "\(count) worlds: \(orders) orders (\(creates) subflows), \(refusals) refusals, \(broken) worlds broke a rule"
        )
    }
}
