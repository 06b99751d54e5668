import Multipath
import MultipathDNS
import MultipathNIO
import NIOCore

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
