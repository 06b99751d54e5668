// One client and one load, in a lab or over loopback:
//
//   mpbench-http CLIENT requests URL SECONDS RATE     asks RATE times a second, each without waiting for the one before
//   mpbench-http CLIENT series URL COUNT PAUSE-MS     asks one after the other
//   mpbench-http CLIENT flood URL COUNT PARALLEL      as many requests as that, so many at a time
//   mpbench-http CLIENT body URL                      one long answer
//   mpbench-http CLIENT slow URL                      the same by a reader that takes its time
//
// CLIENT is ours, ahc or ahc-mptcp. Before it: --ca FILE trusts those roots, --h1 offers HTTP/1.1 alone. A line of JSON says
// what came of it; what is not answered when a run of requests ends has failed.

import Foundation

@main
enum Main {
    static func main() async throws {
        var words = Array(CommandLine.arguments.dropFirst())
        var options = Options()
        while let word = words.first, word.hasPrefix("--") {
            words.removeFirst()
            switch word {
            case "--ca": options.roots = words.removeFirst()
            case "--h1": options.isHTTP1 = true
            default: fatalError("no option \(word)")
            }
        }
        let client: any Client =
            switch words.removeFirst() {
            case "ours": Ours(options)
            case "ahc": Theirs(options, isMultipath: false)
            case "ahc-mptcp": Theirs(options, isMultipath: true)
            case let other: fatalError("no client \(other)")
            }
        let load = Load(client: client)
        let result: any Encodable & Sendable =
            switch words[0] {
            case "requests": try await load.requests(words[1], Double(words[2])!, Double(words[3])!)
            case "series": try await load.series(words[1], Int(words[2])!, Int(words[3])!)
            case "flood": try await load.flood(words[1], Int(words[2])!, Int(words[3])!)
            case "body": try await load.body(words[1], pause: nil)
            case "slow": try await load.body(words[1], pause: .milliseconds(10))
            case let other: fatalError("no load \(other)")
            }
        FileHandle.standardOutput.write(try JSONEncoder().encode(result) + [UInt8(ascii: "\n")])
        // A client that waits for a dead path would hold the run up.
        exit(0)
    }
}
