import Foundation
import TestSupport
import Testing

/// Two paths, each with a name server (a real dnsmasq) that answers the same name otherwise.
@Suite("mpconnect --interface-dns", .needsNamespaces, .needs("dnsmasq", "ip", "nft"))
struct InterfaceDNSTests {
    /// In the client: `media.example` is 203.0.113.1 by Wi-Fi's server and 203.0.113.2 by cellular's, which DHCP
    /// announced as systemd-networkd would have written it down. A listener has both. `questions PATH` prints
    /// how many packets came to that path's server.
    private func run(_ script: String) async throws -> Program.Result {
        try await TwoPaths.run(
            """
            server ip addr add 203.0.113.2/32 dev lo
            server nft add table inet count
            server nft add chain inet count input '{ type filter hook input priority -10; }'
            mkdir -p /run/systemd/netif/leases
            # name_server PATH ITS-END ITS-ADDRESS SERVER ANSWER OPTIONS…
            name_server() {
                server dnsmasq --no-daemon --listen-address="$4" --bind-interfaces --no-resolv --no-hosts \
                    --conf-file=/dev/null --local=/example/ --log-queries --address="/media.example/$5" \
                    "${@:6}" 2> "$1.log" &
                wait_for "dnsmasq" grep -q started "$1.log"
                server nft add rule inet count input iifname "$2" meta l4proto '{ tcp, udp }' th dport 53 counter
                printf 'ADDRESS=%s\\nDNS=%s\\n' "$3" "$4" > "/run/systemd/netif/leases/$(ip -o link show "$1" | cut -d: -f1)"
            }
            questions() {
                echo "$1: $(server nft list table inet count | grep "\\"$2\\"" | grep -o 'packets [0-9]*'), $(grep -c 'query\\[' "$1.log")"
            }
            name_server wlan0 w0 192.0.2.2 192.0.2.1 203.0.113.1
            name_server wwan0 w1 198.51.100.2 198.51.100.1 203.0.113.2
            server "$bin/mpconnect" --listen :7000 < /dev/null > got 2> listener &
            wait_for "the listener" grep listening listener

            """ + script)
    }

    private func report(_ result: Program.Result) throws -> [String: Any] {
        try #require(try Commands.objects(result.errors).last, "\(result.errors)")
    }

    /// `wlan0 203.0.113.1`, for each attempt once.
    private func ways(_ report: [String: Any]) -> Set<String> {
        Set(
            (report["attempts"] as? [[String: Any]] ?? []).map {
                "\($0["interface"] ?? "") \($0["address"] ?? "")"
            })
    }

    @Test("asks each path's own server, and goes by each path where that one says")
    func eachPath() async throws {
        let result = try await run(
            """
            server nft add table inet deaf
            server nft add chain inet deaf input '{ type filter hook input priority 0; }'
            server nft add rule inet deaf input iifname w0 tcp dport 7000 drop
            # The other server answers later, however busy the machine is.
            other=$(pgrep -f 'dnsmasq .*/203[.]0[.]113[.]2( |$)')
            kill -STOP $other
            (wait_for "a question over Wi-Fi" grep -q 'query\\[' wlan0.log; kill -CONT $other) &
            echo hello | "$bin/mpconnect" --interface-dns --json media.example:7000
            wait_for "what was sent" grep hello got; cat got
            """)
        #expect(result.status == 0, "\(result.errors)")
        #expect(result.outputText == "hello\n")
        let report = try report(result)
        #expect(report["interface"] as? String == "wwan0")
        let attempts = report["attempts"] as? [[String: Any]] ?? []
        #expect(attempts.first?["interface"] as? String == "wlan0")
        #expect(ways(report) == ["wlan0 203.0.113.1", "wwan0 203.0.113.2"])
    }

    @Test("never asks over a prohibited path")
    func prohibited() async throws {
        let result = try await run(
            """
            echo hello | "$bin/mpconnect" --interface-dns --prohibit wifi --json media.example:7000
            wait_for "what was sent" grep hello got; cat got
            questions wlan0 w0
            [ "$(questions wwan0 w1)" != "wwan0: packets 0, 0" ]
            """)
        #expect(result.status == 0, "\(result.errors)")
        #expect(result.outputText == "hello\nwlan0: packets 0, 0\n")
        #expect(ways(try report(result)) == ["wwan0 203.0.113.2"])
    }

    @Test("asks no server for a name that --resolve knows")
    func resolve() async throws {
        let result = try await run(
            """
            echo hello | "$bin/mpconnect" --interface-dns --resolve media.example:7000:203.0.113.2 --json media.example:7000
            wait_for "what was sent" grep hello got; cat got
            questions wlan0 w0; questions wwan0 w1
            """)
        #expect(result.status == 0, "\(result.errors)")
        #expect(result.outputText == "hello\nwlan0: packets 0, 0\nwwan0: packets 0, 0\n")
        #expect(ways(try report(result)) == ["wlan0 203.0.113.2"])
    }

    @Test("asks an office's VPN too, that leads to its own network only, unless that is prohibited")
    func office() async throws {
        let result = try await run(
            """
            ip link add vpn0 type veth peer name v0 netns server
            ip addr add 203.0.113.130/25 dev vpn0; server ip addr add 203.0.113.129/25 dev v0
            ip link set vpn0 up; server ip link set v0 up
            export MULTIPATH_INTERFACES="$MULTIPATH_INTERFACES vpn0=tunnel"
            name_server vpn0 v0 203.0.113.130 203.0.113.129 203.0.113.129 --address=/office.example/203.0.113.129
            echo hello | "$bin/mpconnect" --interface-dns --json office.example:7000
            wait_for "what was sent" grep hello got; cat got
            before=$(questions vpn0 v0)
            "$bin/mpconnect" --interface-dns --prohibit vpn0 --json office.example:7000 < /dev/null || echo "status $?"
            [ "$(questions vpn0 v0)" = "$before" ]
            """)
        #expect(result.status == 0, "\(result.errors)")
        #expect(result.outputText == "hello\nstatus 1\n")
        let objects = try Commands.objects(result.errors)
        let reports = objects.filter { $0["event"] as? String == "report" }
        #expect(ways(try #require(reports.first)) == ["vpn0 203.0.113.129"])
        #expect((reports.last?["error"] as? String)?.contains("Domain name not found") == true)
    }

    @Test("is about connecting")
    func listening() async throws {
        let result = try await Commands.connect("--interface-dns", "--listen", "127.0.0.1:0")
        #expect(result.status == 2)
        #expect(result.errors.contains("--interface-dns is for connecting"))
    }
}

@Suite(
    "With the real NetworkManager, mpconnect --interface-dns", .needsNamespaces,
    .needs("unshare", "ip", "dnsmasq", "dbus-daemon", "NetworkManager", "nmcli", "nsenter"))
struct ManagedDNSTests {
    @Test("waits for the name servers that it knows of")
    func servers() async throws {
        let network = try await ManagedNetwork()
        let folder = network.address.dropFirst("unix:path=".count).dropLast("/bus".count)
        try await network.run(
            """
            mount --bind /dev/null /etc/resolv.conf
            mkdir /run/netns && ip netns add far && ip link set peer netns far
            far() { nsenter --net=/run/netns/far "$@"; }
            far ip link set lo up && far ip addr add 192.0.2.53/24 dev peer && far ip link set peer up
            nmcli connection modify home ipv4.gateway 192.0.2.1 && nmcli connection up home
            { far dnsmasq --no-daemon --listen-address=192.0.2.53 --bind-interfaces --no-resolv --no-hosts \
                --conf-file=/dev/null --local=/example/ --address=/media.example/192.0.2.53 2> $folder/dns & }
            { far \(Commands.mpconnect) --listen 192.0.2.53:7000 < /dev/null > /dev/null 2> $folder/listener & }
            wait_for dnsmasq grep -q started $folder/dns && wait_for "the listener" grep listening $folder/listener
            \(Commands.mpconnect) --interface-dns --report media.example:7000 < /dev/null 2> $folder/report
            """)
        let report = try String(contentsOfFile: "\(folder)/report", encoding: .utf8)
        #expect(report.contains("connected to 192.0.2.53:7000 over wlan0"), "\(report)")
    }
}
