import Glibc
import LabNet
import LinuxNet
import PathCore

/// A server in a network namespace of its own, for a test that runs in one too: the test has `wlan0`, preferred,
/// and `wwan0`, and reaches 203.0.113.1 by either.
public struct TwoPathServer: ~Copyable {
    private let namespace: NetworkNamespace
    private let listener: StreamSocket
    private let wifi: InterfaceIndex

    /// The server's kernel answers on this port.
    public static let port: UInt16 = 5000

    public init() throws {
        // Before this thread goes elsewhere: the event thread stays in the namespace it started in.
        try EventThread.shared.perform {}
        let namespace = try NetworkNamespace.make()
        let client = try NetworkControl()
        try client.addVeth(.init("wlan0"), to: .init("w0"), in: namespace)
        try client.addVeth(.init("wwan0"), to: .init("w1"), in: namespace)
        var wifi: InterfaceIndex = 0
        let listener = try namespace.run { () throws(SystemError) in
            let control = try NetworkControl()
            for (name, address, prefix) in [
                ("lo", "203.0.113.1", UInt8(32)), ("w0", "192.0.2.1", 24), ("w1", "198.51.100.1", 24),
            ] {
                let index = try NetworkControl.index(of: name)
                try control.addAddress(IPAddress(address)!, prefix: prefix, to: index)
                try control.setLink(name, up: true)
                if name == "w0" { wifi = index }
            }
            let listener = try StreamSocket(.ipv4, .tcp)
            try listener.listen(on: IPEndpoint(IPAddress("0.0.0.0")!, port: Self.port), backlog: 64)
            return listener
        }
        for (name, address, gateway, metric) in [
            ("wlan0", "192.0.2.2", "192.0.2.1", UInt32(600)), ("wwan0", "198.51.100.2", "198.51.100.1", 700),
        ] {
            let index = try NetworkControl.index(of: name)
            try client.addAddress(IPAddress(address)!, prefix: 24, to: index)
            try client.setLink(name, up: true)
            try client.addRoute(.init(via: IPAddress(gateway)!, index: index, metric: metric))
        }
        // What is sent right after a link is up may be dropped on its way, and its handshake would take a second.
        let refused = IPEndpoint(IPAddress("203.0.113.1")!, port: Self.port + 1)
        let deadline = MonotonicTime.now.advanced(by: .seconds(20))
        for name in ["wlan0", "wwan0"] {
            let index = try NetworkControl.index(of: name)
            guard StreamSocket.waitForAnswer(from: refused, over: index, by: deadline) else {
                throw SystemError("reach the server over \(name)", errno: ETIMEDOUT)
            }
        }
        self.namespace = namespace
        self.listener = listener
        self.wifi = wifi
    }

    /// The server has no way back over Wi-Fi, or has it again. The client is not told.
    public func silenceWiFi(_ isSilent: Bool) throws {
        let wifi = wifi
        try namespace.run { () throws(SystemError) in
            let (control, address) = (try NetworkControl(), IPAddress("192.0.2.1")!)
            if isSilent {
                try control.removeAddress(address, prefix: 24, from: wifi)
            } else {
                try control.addAddress(address, prefix: 24, to: wifi)
            }
        }
    }

    /// Starts a program on the server.
    public func start(_ command: String...) throws -> Running {
        var running: Result<Running, any Error>?
        try namespace.run { () throws(SystemError) in running = Result { try Running(command) } }
        guard let running else { preconditionFailure("the closure has run") }
        return try running.get()
    }
}
