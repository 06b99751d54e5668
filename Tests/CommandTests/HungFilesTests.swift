import TestSupport
import Testing

@Suite("With files that don't answer", .needsNamespaces, .needs("ip", "unshare", "nft", "mount"))
struct HungFilesTests {
    /// What hangs: each call on it waits for ever, on a file system whose server never says a word.
    enum Place: String, CaseIterable, CustomTestStringConvertible {
        case home = "the home directory"
        case leases = "the folder of DHCP leases"
        case devices = "sysfs' folder of network interfaces"
        case resolver = "resolv.conf"
        case everything

        var testDescription: String { rawValue }

        /// Has it hang in a script.
        var script: String {
            let folder = "rootmode=40000,user_id=0,group_id=0"
            switch self {
            case .home:
                return """
                    mkdir home
                    exec 9<> /dev/fuse
                    mount -i -t fuse -o fd=9,\(folder) hung home
                    export HOME=$PWD/home XDG_CONFIG_HOME=$PWD/home

                    """
            case .leases:
                return """
                    mkdir -p /run/systemd/netif/leases
                    exec 8<> /dev/fuse
                    mount -i -t fuse -o fd=8,\(folder) hung /run/systemd/netif/leases

                    """
            case .devices:
                return """
                    exec 7<> /dev/fuse
                    mount -i -t fuse -o fd=7,\(folder) hung /sys/class/net

                    """
            case .resolver:
                return """
                    exec 6<> /dev/fuse
                    mount -i -t fuse -o fd=6,rootmode=100644,user_id=0,group_id=0 hung /etc/resolv.conf

                    """
            case .everything:
                return Place.allCases.filter { $0 != .everything }.map(\.script).joined()
            }
        }
    }

    @Test("mppaths tells the paths, and the loss of one", arguments: Place.allCases)
    func paths(_ place: Place) async throws {
        let result = try await TwoPaths.run(
            place.script + #"""
                "$bin/mppaths" watch --json > seen &
                last() { tail -n 1 seen | grep -q "\"primary\":\"$1\""; }
                wait_for "the first update" last wlan0
                ip link set wlan0 down
                wait_for "the loss of Wi-Fi" last wwan0
                kill %1
                """#)
        #expect(result.status == 0, "\(result.errors)")
    }

    @Test("mpconnect connects, and moves when Wi-Fi dies", arguments: Place.allCases)
    func connection(_ place: Place) async throws {
        let result = try await TwoPaths.run(
            """
            \(place.script)
            \(TwoPaths.conversation(#""$bin/mpconnect" -v"#))
            cat got
            """)
        #expect(result.status == 0, "\(result.errors)")
        #expect(result.outputText == "one\ntwo\n")
    }
}
