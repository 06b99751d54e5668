import Foundation
import MultipathNIO
import NIOPosix

// One run of one contender in the client host of a lab; what it saw is printed as one line of JSON, times in
// seconds since the load began. mpbench_suite/rows/modes.py makes the runs, and figures of the lines.

@main
struct Modes {
    static func main() async throws {
        guard let options = Options(CommandLine.arguments.dropFirst()) else {
            FileHandle.standardError.write(Data(Options.usage.utf8))
            exit(2)
        }
        let encoder = JSONEncoder()
        encoder.outputFormatting = .sortedKeys
        let data: Data =
            switch options.load {
            case .crowd: try encoder.encode(try await Crowd(options: options).run())
            case .rr, .down, .up, .paced: try encoder.encode(try await Run(options: options).run())
            }
        FileHandle.standardOutput.write(data + Data("\n".utf8))
        // Not with a farewell: the next run has a lab of its own.
        exit(0)
    }
}
