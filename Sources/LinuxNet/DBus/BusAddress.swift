import CLinux
import Glibc

/// Where the system bus is.
enum BusAddress {
    /// The addresses to try in turn.
    ///
    /// - Parameter text: a D-Bus address list; nil for the one in the environment's DBUS_SYSTEM_BUS_ADDRESS, or
    ///   else the usual one. The environment is not heeded where the program runs set-user-ID.
    /// - Returns: those that are Unix sockets. Other transports are left out: to look up a host or to start a
    ///   program, which they ask for, the event thread would have to wait.
    static func candidates(_ text: String? = nil) -> [String] {
        let list =
            text ?? mp_trusted_environment("DBUS_SYSTEM_BUS_ADDRESS").map { String(cString: $0) }
            ?? "unix:path=/run/dbus/system_bus_socket"
        return list.split(separator: ";").filter { $0.hasPrefix("unix:") }.map(String.init)
    }
}

/// How long to wait before something that failed is tried again: from one second to one minute, each time
/// twice as long, and never quite regular, so that not every program asks a restarted service at one moment.
struct RetryDelay {
    private var failures = 0

    mutating func next() -> Duration {
        var generator = SystemRandomNumberGenerator()
        return next(using: &generator)
    }

    mutating func next(using generator: inout some RandomNumberGenerator) -> Duration {
        let seconds = min(40, Double(1 << min(failures, 6)))
        failures += 1
        return .seconds(seconds * Double.random(in: 1...1.5, using: &generator))
    }

    mutating func reset() { failures = 0 }
}
