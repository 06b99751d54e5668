import ArgumentParser
import CommandSupport

@main
enum Main {
    // Synchronous, and so on one thread: namespaces can't be changed for a process that has more.
    static func main() {
        MPLab.runOnOneThread()
    }
}

struct MPLab: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "mplab",
        abstract: "A network lab without root: run a program on several paths, and let them go bad.",
        discussion: """
            EXAMPLES
              mplab run --wifi rtt=20ms,rate=50mbit -- curl -o /dev/null http://server/10000000
              mplab set wlan0 blackhole          from another terminal, while it runs
              mplab run --scenario wifi-walkout -- ./player
              mplab scenarios                    what can be made to happen
            """,
        version: projectVersion,
        subcommands: [Run.self, Set.self, Scenarios.self])
}
