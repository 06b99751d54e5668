import Foundation
import LabNet
import PathCore
import TestSupport
import Testing

@testable import LinuxNet
@testable import Multipath

/// Each of the library's system calls fails once, in one process that goes on. `FAULT_STRIDE=1` takes every call and not
/// every fifth.
@Suite("After a system call that failed", .needsNamespaces, .needs("ip", "unshare", "python3"))
struct FaultLeakTests {
    /// Sends back what comes, by MPTCP or TCP.
    private static let echo = """
        import socket, threading
        listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM, 262)
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind(("0.0.0.0", 7000))
        listener.listen(128)
        print("ready", flush=True)
        def serve(connection):
            with connection:
                try:
                    while data := connection.recv(4096):
                        connection.sendall(data)
                except OSError:
                    pass
        while True:
            threading.Thread(target=serve, args=(listener.accept()[0],), daemon=True).start()
        """

    /// A monitor, a connection with a second path, an answer, and the end of all.
    private func converse() async throws {
        var configuration = PathMonitor.Configuration()
        configuration.overrides = [
            "wlan0": InterfaceOverride(type: .wifi),
            "wwan0": InterfaceOverride(type: .cellular, isExpensive: false),
        ]
        configuration.asksNetworkManager = false
        let connected = try await Connector(monitor: PathMonitor(configuration)).connect(
            host: "203.0.113.1", port: 7000
        ) {
            $0.mode = .handover
            $0.connectTimeout = .seconds(5)
        }
        let joined = Locked(false)
        let follower = try connected.follow(hasHints: true)
        defer { follower.stop() }
        follower.observe { event in
            if event == .steering(.joined("wwan0")) { joined.withLock { $0 = true } }
        }
        let socket = StreamSocket(owning: Descriptor(owning: connected.takeDescriptor()))
        let message = [UInt8](repeating: 7, count: 100)
        guard case .moved(let sent) = message.withUnsafeBytes({ socket.write($0) }) else { return }
        follower.didSend(sent)
        var answer = [UInt8](repeating: 0, count: 100)
        var received = 0
        let deadline = MonotonicTime.now.advanced(by: .seconds(3))
        while MonotonicTime.now < deadline, received < sent {
            if case .moved(let count) = answer.withUnsafeMutableBytes({ socket.read(into: $0) }) {
                if count == 0 { break }
                follower.didReceive(count)
                received += count
            } else {
                try await Task.sleep(for: .milliseconds(2))
            }
        }
        // A path that was not joined now is tried again much later.
        let patience = MonotonicTime.now.advanced(by: .milliseconds(300))
        while !joined.withLock({ $0 }), MonotonicTime.now < patience {
            try await Task.sleep(for: .milliseconds(2))
        }
    }

    @Test("no descriptor, no thread and no memory is left behind", .inNamespace(within: .seconds(400)))
    func leaks() async throws {
        let network = try TwoPathServer()
        let server = try network.start("python3", "-c", Self.echo)
        try await Program.wait("the server") { server.outputText == "ready\n" }
        // What a process has one of is made by the first.
        for _ in 0..<20 { try await converse() }
        let stride = ProcessInfo.processInfo.environment["FAULT_STRIDE"].flatMap { Int($0) } ?? 5
        let errors = [ENOMEM, EMFILE, ENOBUFS, EPERM]
        var before = ProcessHoldings()
        try await Program.wait("the end of all connections") {
            let now = ProcessHoldings()
            defer { before = now }
            return (now.descriptors, now.threads) == (before.descriptors, before.threads)
        }
        let first = before
        var operations: [String: Int] = [:]
        var runs = 0
        var number = 1
        while number < 400 {
            InjectedFault.arm(number, errno: errors[number % errors.count])
            try? await converse()
            guard let operation = InjectedFault.disarm() else { break }
            operations[operation, default: 0] += 1
            runs += 1
            number += stride
            do {
                try await Program.wait("the end of what it opened") {
                    ProcessHoldings().descriptors <= first.descriptors
                }
            } catch {
                Issue.record("\(operation): \(first) before, \(ProcessHoldings()) after")
                return
            }
        }
        // Whatever failed is over.
        try await converse()
        try await Program.wait("the end of the last connection") {
            ProcessHoldings().descriptors <= first.descriptors
        }
        let last = ProcessHoldings()
        print(
            "measured: \(runs) calls of \(operations.count) kinds failed once; before \(first), after \(last)"
        )
        #expect(runs > 10 && operations.count > 5, "\(operations)")
        // Threads that wait for files and drivers are made when they are needed first, and stay.
        #expect(last.threads <= first.threads + 8)
        // A race that kept what it made kept 3 KiB.
        #expect((last.heap - first.heap) < 2 * runs + 512, "\(operations)")
    }
}
