// Many connections of one process for a long time, with a fault again and again: what must not grow is counted. It runs in
// the client host of a lab:
//
//   mplab run --scenario FILE -- soak [--connections N] [--seconds S] [--gap S] [--interval S] [--host HOST]
//
// Each connection sends 100 bytes every interval and compares what comes back. Every gap one link has a fault for about half
// of it, each kind in turn, and some connections are closed and opened again. After a tenth of the time, each minute and at
// the end the faults pause, and what the process holds is counted, a line each. Its status is 1 where
//
// - descriptors or threads have grown since the first count, or memory since the first at which each connection's list of
//   moves was full (`Soak.hasFilled`),
// - an answer was wrong, or took longer than 30 s over MPTCP, or a connection could not be made, was lost, or
//   has waited for longer at the end.
//
// Nothing keeps a connection of plain TCP whose address goes (`Renumberings`), nor one of MPTCP before the peer's first
// acknowledgement; and one comes about as plain TCP where a fault has swallowed its first SYNs. As soon as the library has
// told that nothing carries it, it is opened again, and counted in a line of its own. What the library does not tell of, or
// could have kept, goes on waiting, and fails the soak.

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
