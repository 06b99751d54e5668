// A client in a lab whose connection is steered by a mode while its paths go bad. It makes the faults itself, so
// that they come when the load runs, checks every byte, and prints what it saw, a fact a line.

import LabNet
import LinuxNet
import Multipath
import NetworkLab

@main
enum ModeProbe {
    static func main() async throws {
        let words = CommandLine.arguments.dropFirst()
        if words.first == "heartbeat" {
            try await HeartbeatProbe.run(words.dropFirst())
            ProcessEnvironment.exit(0)
        }
        guard let options = ProbeOptions(CommandLine.arguments.dropFirst()) else {
            var text = ProbeOptions.usage
            text.withUTF8 { try? StandardStream.error.write(UnsafeRawBufferPointer($0)) }
            ProcessEnvironment.exit(2)
        }
        let counter = try options.counted.map { try AnswerCounter($0) }
        var opened: [Conversation] = []
        for _ in 0..<options.connections { opened.append(try await Conversation(options)) }
        let conversations = opened
        let told = Locked<[String]>([])
        let capture = try options.captured.map { try DataCapture($0, takesOutgoing: options.load == .upload) }
        let firstFault = Locked<MonotonicTime?>(nil)
        await withTaskGroup(of: Void.self) { group in
            if let moves = options.moves, let conversation = conversations.first {
                group.addTask {
                    do {
                        // The kernel takes no orders before data was acknowledged.
                        try? await Task.sleep(for: .milliseconds(500))
                        let lines = try await moves.run(conversation)
                        told.withLock { $0 = lines }
                    } catch {
                        print("error \(error)")
                    }
                    for conversation in conversations { conversation.stop() }
                }
            }
            if let capture {
                group.addTask {
                    while conversations.contains(where: { !$0.isOver }) {
                        capture.drain()
                        try? await Task.sleep(for: .milliseconds(2))
                    }
                    capture.drain()
                }
            }
            for conversation in conversations { group.addTask { await conversation.run() } }
            group.addTask {
                let begun = MonotonicTime.now
                for fault in options.faults {
                    try? await Task.sleep(
                        for: max(MonotonicTime.now.duration(to: begun.advanced(by: fault.at)), .zero))
                    do {
                        try LabControl.set(fault.link, fault.action)
                        // From here on: how long a busy disk takes to write a setting is not what is measured.
                        firstFault.withLock { $0 = $0 ?? .now }
                    } catch {
                        print("error \(error)")
                    }
                }
            }
        }
        for conversation in conversations { print(conversation.report().joined(separator: "\n")) }
        for conversation in conversations { try conversation.end() }
        for line in told.withLock({ $0 }) { print(line) }
        if let capture { print("captured \(capture.bytes)") }
        if let capture, let fault = firstFault.withLock({ $0 }) {
            for line in capture.lines(since: fault) { print(line) }
            for left in conversations.flatMap(\.seen.lefts) where left > fault {
                print("left_after \(fault.duration(to: left).wholeNanoseconds / 1_000_000)")
            }
            for refusal in conversations.flatMap(\.seen.refusals) {
                print("told_after \(fault.duration(to: refusal.at).wholeNanoseconds / 1_000_000)")
            }
        }
        if let counter { print("answers \(counter.count)") }
        ProcessEnvironment.exit(0)
    }
}

/// Counts the answers to SYNs that come in over an interface: nothing else of TCP comes before one. (What the lab's own
/// look at its links left behind may still come.)
final class AnswerCounter: Sendable {
    private let port: PacketSocket
    private let counted = Locked(0)

    init(_ interface: String) throws {
        port = try PacketSocket(interface)
    }

    /// So many up to now.
    var count: Int {
        port.receive(limit: .max) { frame, _ in
            // Behind Ethernet's header; options of IP are not there in a lab.
            let transport: Int? =
                switch (frame[12], frame[13]) {
                case (0x08, 0x00): frame[14 + 9] == 6 ? 14 + 20 : nil
                case (0x86, 0xDD): frame[14 + 6] == 6 ? 14 + 40 : nil
                default: nil
                }
            guard let transport, frame.count > transport + 13 else { return }
            let synAndAck: UInt8 = 0x12
            if frame[transport + 13] & synAndAck == synAndAck { counted.withLock { $0 += 1 } }
        }
        return counted.withLock { $0 }
    }
}
