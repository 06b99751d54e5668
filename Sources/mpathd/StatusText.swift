import PathBroker

/// A status for people.
enum StatusText {
    static func lines(_ status: BrokerStatus) -> [String] {
        var lines = [
            "clients      \(status.clientCount)",
            "connections  \(status.connectionCount)",
            "prepared     \(status.prepares) sockets",
            "orders       \(status.orders)",
            "events       \(status.events)",
        ]
        if status.heldUp > 0 {
            lines.append("held up      \(status.heldUp) times: the setting was put back by the watchdog")
        }
        for (refusal, count) in status.refusals.sorted(by: { $0.key.rawValue < $1.key.rawValue }) {
            lines.append("refused      \(count) times: \(refusal.text)")
        }
        for (drop, count) in status.drops.sorted(by: { $0.key.rawValue < $1.key.rawValue }) {
            lines.append("dropped      \(count) clients: \(drop.rawValue)")
        }
        for client in status.clients {
            lines.append(
                "process \(client.process) of user \(client.user): \(client.connections) connections, "
                    + "\(client.prepares) prepared, \(client.orders) orders, \(client.refusals) refusals")
        }
        return lines
    }
}
