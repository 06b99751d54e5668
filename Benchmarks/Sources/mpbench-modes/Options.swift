import BenchSupport
import Multipath
import NIOCore

/// What one run is to do, from the command line.
struct Options {
    enum Contender: String {
        case handover, interactive, aggregate
        /// SwiftNIO alone: the kernel's path manager does what the namespace is set to.
        case kernel
        /// SwiftNIO alone, by plain TCP.
        case tcp
    }

    enum Load: String {
        /// A request and its answer, again and again.
        case rr
        /// Bytes without end from the server, or to it.
        case down, up
        /// A stream as it is played: 5,000 bytes from the server every 10 ms.
        case paced
        /// Segments one after the other, from the server or to it, where `mpbench-modes serve` is the server.
        case segmentsDown = "segments-down"
        case segmentsUp = "segments-up"
        /// Many connections that say nothing, or a little.
        case crowd
        /// Many connections that lose their path at once.
        case exodus
    }

    /// Something that happens to the lab while the load runs.
    struct Fault {
        /// In seconds.
        var at: Double
        var link: String
        var action: String
    }

    var contender = Contender.handover
    var load = Load.rr
    var host = "server"
    var seconds = 3.0
    /// In seconds: the run ends earlier when the load has gone on smoothly for so long since the last fault.
    var settle: Double?
    var interval = 0.02
    var count = 1000
    /// Bytes of each segment.
    var size = 1_000_000
    var faults: [Fault] = []
    /// What happens after so many segments.
    var faultAfter: (count: Int, link: String, action: String)?
    /// The client's congestion control, by the kernel's name.
    var congestion: String?
    var required: String?
    var prohibited: Set<String> = []

    static let usage = """
        usage: mpbench-modes handover|interactive|aggregate|kernel|tcp LOAD [--host HOST] [--seconds S] [--settle S]
            [--interval S] [--count N] [--size BYTES] [--congestion NAME] [--require NAME] [--prohibit NAME]
            [--at SECONDS LINK ACTION]… [--after SEGMENTS LINK ACTION]
        LOAD is rr, down, up, paced, segments-down, segments-up, crowd or exodus
        \(Serving.usage)
        """

    init?(_ arguments: ArraySlice<String>) {
        var words = arguments
        guard let contender = words.popFirst().flatMap(Contender.init(rawValue:)),
            let load = words.popFirst().flatMap(Load.init(rawValue:))
        else { return nil }
        (self.contender, self.load) = (contender, load)
        while let name = words.popFirst() {
            guard let value = words.popFirst() else { return nil }
            switch name {
            case "--host": host = value
            case "--seconds": seconds = Double(value) ?? seconds
            case "--settle": settle = Double(value)
            case "--interval": interval = Double(value) ?? interval
            case "--count": count = Int(value) ?? count
            case "--size": size = Int(value) ?? size
            case "--congestion": congestion = value
            case "--after":
                guard let count = Int(value), let link = words.popFirst(), let action = words.popFirst()
                else { return nil }
                faultAfter = (count, link, action)
            case "--require": required = value
            case "--prohibit": prohibited.insert(value)
            case "--at":
                guard let time = Double(value), let link = words.popFirst(), let action = words.popFirst()
                else { return nil }
                faults.append(Fault(at: time, link: link, action: action))
            default: return nil
            }
        }
    }

    /// Opens channels as this run's contender does.
    func dialer(on group: any EventLoopGroup) -> Dialer {
        let kind: Dialer.Contender =
            switch contender {
            case .handover, .interactive, .aggregate: .ours
            case .kernel: .nioMPTCP
            case .tcp: .nio
            }
        let mode = MultipathMode(rawValue: contender.rawValue) ?? .handover
        let (required, prohibited) = (required, prohibited)
        return Dialer(kind, host: host, port: port, on: group) {
            $0.mode = mode
            $0.requiredInterface = required
            $0.prohibitedInterfaces = prohibited
        }
    }

    /// The port of the lab's service for the load.
    var port: Int {
        switch load {
        case .rr, .crowd, .exodus: 7
        case .segmentsDown, .segmentsUp: Serving.segmentPort
        case .up: 9
        case .down: 19
        case .paced: 20
        }
    }
}
