// Many connections of one process for a long time, with a fault again and again: what must not grow is counted. It runs in
// the client host of a lab:
//
//   mplab run --scenario FILE -- soak [--connections N] [--seconds S] [--gap S] [--interval S] [--host HOST]
//
// Each connection sends 100 bytes every interval and compares what comes back. Every gap one link has a fault for about half
// of it, of a random kind, and some connections are closed and opened again. At the start (after a tenth of the time), each
// minute and at the end the faults pause, and what the process holds is counted, a line each. Its status is 1 where
// descriptors, threads or memory have grown, an answer was wrong or missing, or a connection was lost.

import Foundation
import LinuxNet
import Multipath
import NetworkLab

struct Options {
    var connections = 1000
    var seconds = 1200.0
    var gap = 5.0
    var interval = 5.0
    var host = "server"

    init?(_ arguments: ArraySlice<String>) {
        var words = arguments
        while let name = words.popFirst() {
            guard let value = words.popFirst() else { return nil }
            switch (name, Double(value)) {
            case ("--host", _): host = value
            case ("--connections", let number?) where number >= 1: connections = Int(number)
            case ("--seconds", let number?) where number > 0: seconds = number
            case ("--gap", let number?) where number > 0: gap = number
            case ("--interval", let number?) where number > 0: interval = number
            default: return nil
            }
        }
    }
}

@main
enum SoakProgram {
    static func main() async throws {
        guard let options = Options(CommandLine.arguments.dropFirst()) else {
            print("usage: soak [--connections N] [--seconds S] [--gap S] [--interval S] [--host HOST]")
            exit(2)
        }
        exit(try await Soak(options).run() ? 0 : 1)
    }
}
