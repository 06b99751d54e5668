import Foundation
import NIOPosix

// One run of one contender against mpbench-plain in another network namespace; its figures are printed as one line
// of JSON. mpbench_suite/rows/data.py makes the runs.

@main
struct DataPath {
    static func main() async throws {
        guard let options = Options(Array(CommandLine.arguments.dropFirst())) else {
            FileHandle.standardError.write(Data(Options.usage.utf8))
            exit(2)
        }
        let encoder = JSONEncoder()
        encoder.outputFormatting = .sortedKeys
        let line: Data =
            switch options.load {
            case .up, .down: try encoder.encode(try await Bulk(options: options).run())
            case .rr: try encoder.encode(try await RequestResponse(options: options).run())
            case .connect: try encoder.encode(try await Churn(options: options).run())
            case .crowd: try encoder.encode(try await Crowd(options: options).run())
            }
        FileHandle.standardOutput.write(line + Data("\n".utf8))
        // Not with a farewell to each connection: the network goes with the process.
        exit(0)
    }
}
