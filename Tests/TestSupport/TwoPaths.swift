import Foundation

/// A client with two paths to a server, in network namespaces that end with the test.
///
/// The client has `wlan0` (Wi-Fi, preferred) and `wwan0` (cellular); the server answers on 203.0.113.1 and
/// 2001:db8:ff::1 by either. Wi-Fi carries IPv4 and IPv6, cellular IPv4. Only documentation addresses are
/// used, and nothing leaves the namespaces.
public enum TwoPaths {
    /// A conversation of which the second half comes after Wi-Fi's death: bash, for `run`. The listener's words are in `got`,
    /// the client's in `events`.
    ///
    /// - Parameter client: mpconnect with its options.
    public static func conversation(_ client: String) -> String {
        """
        server "$bin/mpconnect" --listen 203.0.113.1:7000 < <(wait_for "the end" grep -q two got) > got 2> listener &
        listener=$!
        wait_for "the listener" grep listening listener
        {
            echo one; wait_for "the first half" grep -q one got
            wait_for "a second path" grep -q 'wwan0 joined' events
            silence w0
            echo two; wait_for "the second half" grep -q two got
        } | MULTIPATH_INTERFACES='wlan0=wifi wwan0=cellular,not-expensive' \(client) 203.0.113.1:7000 2> events
        wait $listener
        """
    }

    /// Runs a bash script in the client. In it `server COMMAND…` runs a command in the server, `$bin` holds
    /// the commands under test, and `wait_for` is there (`ShellFunctions`).
    /// - Throws: `Program.TimedOut`.
    public static func run(
        _ script: String, as user: User = .itself, with variables: [String: String] = [:],
        within limit: Duration = ShellFunctions.patience
    ) async throws -> Program.Result {
        try await start(script, as: user, with: variables).result(within: limit)
    }

    /// Who runs the script.
    public enum User: Sendable {
        /// The user that runs the test, as root of a user namespace.
        case itself
        /// A user without a right, as root of a user namespace. Where the test is not run by root, the same.
        case nobody
        /// Root itself, so that there are other users.
        case root

        fileprivate var command: [String] {
            switch self {
            case .itself: ["unshare", "--map-root-user"]
            case .nobody where geteuid() == 0:
                [
                    "setpriv", "--reuid", "65534", "--regid", "65534", "--clear-groups", "unshare",
                    "--map-root-user",
                ]
            case .nobody: ["unshare", "--map-root-user"]
            case .root: ["unshare"]
            }
        }
    }

    /// Starts such a script. What it started ends with it.
    public static func start(
        _ script: String, as user: User = .itself, with variables: [String: String] = [:]
    ) throws -> Running {
        try Running(
            user.command + [
                "--net", "--mount", "--pid", "--fork", "--kill-child",
                "bash", "-c", ShellFunctions.waitFor + world + script,
            ], environment: variables.merging(["bin": Program.products]) { $1 })
    }

    private static let world = #"""
        set -euo pipefail
        mount -t proc proc /proc
        mount -t tmpfs tmpfs /run
        mkdir -p /run/netns /run/work
        cd /run/work
        # No name has an answer, and that is said at once.
        mount --bind /dev/null /etc/resolv.conf
        ip link set lo up
        ip netns add server
        server() { ip netns exec server "$@"; }
        server ip link set lo up
        ip link add wlan0 type veth peer name w0 netns server
        ip link add wwan0 type veth peer name w1 netns server
        ip addr add 192.0.2.2/24 dev wlan0
        ip addr add 198.51.100.2/24 dev wwan0
        ip addr add 2001:db8:1::2/64 dev wlan0 nodad
        server ip addr add 192.0.2.1/24 dev w0
        server ip addr add 198.51.100.1/24 dev w1
        server ip addr add 2001:db8:1::1/64 dev w0 nodad
        server ip addr add 203.0.113.1/32 dev lo
        server ip addr add 2001:db8:ff::1/128 dev lo nodad
        for name in wlan0 wwan0; do ip link set $name up; done
        for name in w0 w1; do server ip link set $name up; done
        ip route add default via 192.0.2.1 dev wlan0 metric 600
        ip route add default via 198.51.100.1 dev wwan0 metric 700
        ip route add default via 2001:db8:1::1 dev wlan0 metric 600
        export MULTIPATH_INTERFACES='wlan0=wifi wwan0=cellular'
        # Drops, without a word, all that arrives at the server by one path.
        silence() {
            server nft add table inet silence
            server nft add chain inet silence input '{ type filter hook input priority 0; }'
            server nft add rule inet silence input iifname "$1" drop
        }

        """#
}
