// Two streams over the same two paths, while Wi-Fi fails: one steered by the kernel alone, one by this library.
//
//   side-by-side FAULT…      in the client host of a lab; a fault is what mplab set takes: blackhole, down
//
// It is what `make demo` shows, and an example of this library without SwiftNIO.

import LinuxNet
import Multipath
import NetworkLab

@main
struct Show {
    static func main() async {
        do {
            try await Show(fault: CommandLine.arguments.dropFirst().joined(separator: " ")).run()
        } catch {
            Terminal.write("side-by-side: \(error)\n", to: .error)
            ProcessEnvironment.exit(1)
        }
        ProcessEnvironment.exit(0)
    }

    let fault: String

    private func run() async throws {
        let monitor = Connector.shared.monitor
        let snapshot = try await monitor.currentPath()
        guard let remote = try await server(), let cellular = snapshot.interface(named: "wwan0"),
            let address = cellular.addresses.map(\.address).first(where: { $0.family == .ipv4 })
        else { throw ShowError("this is not the client host of a lab with wlan0 and wwan0") }
        // What the kernel's path manager needs: another address, and leave to use it.
        let commands = try SubflowCommands()
        try commands.setLimits(PathManagerLimits(subflows: 8, acceptedAddresses: 8))
        try commands.add(
            PathManagerEndpoint(address, flags: [.subflow, .backup], interface: cellular.index))

        let streams = [try await Stream.kernel(to: remote), try await Stream.multipath(to: remote)]
        for stream in streams { stream.start() }
        // The other path joins meanwhile.
        try await Task.sleep(for: .milliseconds(300))
        let begun = MonotonicTime.now
        let screen = Terminal(Picture(hasColours: Terminal.hasColours))
        await withTaskGroup(of: Void.self) { group in
            for stream in streams { group.addTask { await stream.play(since: begun) } }
            group.addTask { [fault] in
                try? await Task.sleep(for: Playback.fault)
                do { try LabControl.set("wlan0", fault) } catch { Terminal.write("\(error)\n", to: .error) }
            }
            group.addTask {
                for column in 1...Playback.columnCount {
                    let time = Playback.column * column
                    try? await Task.sleep(for: begun.advanced(by: time).duration(from: .now))
                    // The column that has just ended.
                    for stream in streams {
                        stream.noteCarrier(in: snapshot, at: time - Playback.column / 2)
                    }
                    screen.draw(streams.map { $0.playback.withLock { $0 } }, at: time)
                }
            }
            // Streams play on for as long as they are let.
            await group.next()
            await group.next()
            group.cancelAll()
        }
        for stream in streams { stream.playback.withLock { $0.finish() } }
        screen.draw(streams.map { $0.playback.withLock { $0 } }, at: nil)
    }

    private func server() async throws -> IPEndpoint? {
        try await NameLookup.addresses(of: "server").first { $0.family == .ipv4 }
            .map { IPEndpoint($0, port: 20) }
    }
}

struct ShowError: Error, CustomStringConvertible {
    let description: String
    init(_ description: String) { self.description = description }
}

extension MonotonicTime {
    fileprivate func duration(from other: MonotonicTime) -> Duration { max(other.duration(to: self), .zero) }
}
