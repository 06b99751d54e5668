import BenchSupport
import Glibc
import NIOPosix

// One run of one contender in the client host of a lab; what it saw is printed as one line of JSON, times in
// seconds since the load began. mpbench_suite/rows/modes.py makes the runs, and figures of the lines.

@main
struct Modes {
    static func main() async throws {
        let words = CommandLine.arguments.dropFirst()
        if words.first == "serve" {
            guard let serving = Serving(words.dropFirst()) else { Output.fail(usage: Serving.usage) }
            try await serving.run()
        }
        guard let options = Options(words) else {
            Output.fail(usage: Options.usage)
        }
        switch options.load {
        case .exodus: try Output.printLine(await Exodus(options: options).run())
        case .crowd: try Output.printLine(await Crowd(options: options).run())
        case .rr, .down, .up, .paced, .segmentsDown, .segmentsUp:
            try Output.printLine(await Run(options: options).run())
        }
        // At once, without closing the connections: the next run has a lab of its own.
        exit(0)
    }
}
