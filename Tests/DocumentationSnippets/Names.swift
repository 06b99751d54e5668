import Multipath
import MultipathDNS
import MultipathNIO
import NIOCore

#if HTTP
    func askOverHTTPS(_ monitor: PathMonitor) throws {
        // snippet
        let names = try HTTPSResolver([
            HTTPSResolver.Provider(
                "https://dns.example/dns-query", addresses: ["192.0.2.53", "2001:db8::53"]),
            HTTPSResolver.Provider("https://resolver.example/dns-query", addresses: ["198.51.100.53"]),
        ])
        let connector = Connector(monitor: monitor, resolver: CachingResolver(names, monitor: monitor))
        // end
        _ = connector
    }
#endif

func keepAnswers() {
    // snippet
    let monitor = PathMonitor()
    let connector = Connector(
        monitor: monitor, resolver: CachingResolver(InterfaceResolver(), monitor: monitor))
    // end
    _ = connector
}

func mistrustAnswers(_ group: any EventLoopGroup) {
    // snippet
    let names = ResolverChain([InterfaceResolver(), SystemResolver()])
    let careful = MultipathBootstrap(group: group, connector: Connector(resolver: names))
        .raceUntil(.tlsHandshakeCompleted)
    // end
    _ = careful
}

func sayWhatIsSpoken(_ group: any EventLoopGroup, _ connector: Connector) {
    // snippet
    let request = MultipathBootstrap(group: group, connector: connector)
        .configure { $0.applicationProtocols = ["h2", "http/1.1"] }
    // end
    _ = request
}
