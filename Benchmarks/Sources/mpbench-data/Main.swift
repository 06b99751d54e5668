import BenchSupport
import Glibc
import NIOPosix

// One run of one contender against mpbench-plain in another network namespace; its figures are printed as one line
// of JSON. mpbench_suite/rows/data.py makes the runs.

@main
struct DataPath {
    static func main() async throws {
        guard let options = Options(Array(CommandLine.arguments.dropFirst())) else {
            Output.fail(usage: Options.usage)
        }
        switch options.load {
        case .up, .down: try Output.printLine(await Bulk(options: options).run())
        case .rr: try Output.printLine(await RequestResponse(options: options).run())
        case .connect: try Output.printLine(await Churn(options: options).run())
        case .crowd: try Output.printLine(await Crowd(options: options).run())
        }
        // At once, without closing each connection: the network ends with the process.
        exit(0)
    }
}
