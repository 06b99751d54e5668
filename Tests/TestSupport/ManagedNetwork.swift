import Foundation

/// A network namespace that NetworkManager manages: the real one, with a message bus of its own.
///
/// It has one interface, `wlan0`, with the connection profile `home`. The bus is a socket in a folder of its
/// own, which the test reaches from outside. All of it ends with this object, and neither this machine's
/// network nor its own bus or NetworkManager, if it has them, are touched. It needs no privilege but a user
/// namespace.
public final class ManagedNetwork: Sendable {
    /// The D-Bus address of its bus.
    public var address: String { "unix:path=\(folder)/bus" }

    private let folder: String
    private let shell: Running

    public init() async throws {
        // Short, because a Unix socket's path is limited to 107 bytes.
        folder =
            FileManager.default.temporaryDirectory.appendingPathComponent("nm-\(UUID().uuidString.prefix(8))")
            .path
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        shell = try Running(
            [
                "unshare", "--map-root-user", "--net", "--mount", "--pid", "--fork", "--kill-child",
                "bash", "-c", ShellFunctions.waitFor + Self.world,
            ], environment: ["folder": folder, "DBUS_SYSTEM_BUS_ADDRESS": "unix:path=\(folder)/bus"])
        do {
            try await Program.wait("the managed network", within: ShellFunctions.patience) { try ready(0) }
        } catch {
            shell.kill()
            try? FileManager.default.removeItem(atPath: folder)
            throw error
        }
    }

    deinit {
        shell.kill()
        try? FileManager.default.removeItem(atPath: folder)
    }

    /// Runs a bash script in the namespace: `ip`, `nmcli`, and `start_bus`, `stop_bus`, `start_manager`,
    /// `stop_manager`, which return when that has happened. Only one at a time.
    /// - Throws: `Program.TimedOut`, also where the script fails.
    public func run(_ script: String) async throws {
        let before = answers.count
        shell.write(Data((script.replacingOccurrences(of: "\n", with: "; ") + "\n").utf8))
        try await Program.wait(script, within: ShellFunctions.patience) { try ready(before) }
    }

    private var answers: [Substring] { shell.outputText.split(separator: "\n") }

    private func ready(_ before: Int) throws -> Bool {
        let answers = answers
        guard shell.isRunning else { throw failure("it ended") }
        guard answers.count > before else { return false }
        guard answers.last == "0" else { throw failure("a script ended with \(answers.last!)") }
        return true
    }

    private func failure(_ what: String) -> Program.TimedOut {
        Program.TimedOut(description: "the managed network: \(what): \(shell.errorText.suffix(3_000))")
    }

    private static let world = #"""
        set -euo pipefail
        exec 3>&1 1>&2
        mount -t proc proc /proc
        # Read-only: NetworkManager takes that for a container, and does not wait for udev to name devices.
        mount -t sysfs -o ro sysfs /sys
        for place in /run /etc/NetworkManager /var/lib/NetworkManager; do mount -t tmpfs tmpfs $place; done
        # NetworkManager can switch a machine's radios off; these are not ours.
        [ ! -e /dev/rfkill ] || mount --bind /dev/null /dev/rfkill
        mkdir /run/manager /etc/NetworkManager/system-connections
        cd /run/manager
        cat > bus.conf <<END
        <busconfig>
          <type>system</type>
          <listen>unix:path=$folder/bus</listen>
          <auth>EXTERNAL</auth>
          <policy context="default">
            <allow user="*"/> <allow own="*"/> <allow send_type="method_call"/>
            <allow send_destination="*"/> <allow receive_sender="*"/>
          </policy>
        </busconfig>
        END
        cat > manager.conf <<END
        [main]
        plugins=keyfile
        auth-polkit=false
        dns=none
        no-auto-default=*
        hostname-mode=none
        END
        start_bus() {
            dbus-daemon --config-file=bus.conf --nofork --nopidfile &
            bus=$!
            wait_for "the bus" test -S "$folder/bus"
        }
        stop_bus() { kill -9 $bus; wait $bus || true; rm -f "$folder/bus"; }
        start_manager() {
            NetworkManager --config=manager.conf --config-dir=/run/manager/none --system-config-dir=/run/manager/none \
                --intern-config=/run/manager/intern.conf --no-daemon &
            manager=$!
            wait_for "NetworkManager" nmcli general
        }
        stop_manager() { kill -9 $manager; wait $manager || true; }
        ip link set lo up
        ip link add wlan0 type veth peer name peer
        ip link set wlan0 address 02:00:5e:00:53:01
        ip link set peer up
        start_bus
        start_manager
        nmcli connection add type ethernet ifname wlan0 con-name home \
            ipv4.method manual ipv4.addresses 192.0.2.2/24 ipv4.dns 192.0.2.53 \
            ipv6.method manual ipv6.addresses 2001:db8::2/64 ipv6.dns 2001:db8::53 connection.metered yes
        nmcli connection up home
        echo 0 >&3
        while read -r script; do
            status=0
            eval "$script" || status=$?
            echo $status >&3
        done
        """#
}
