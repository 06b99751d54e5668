import LinuxNet
import Multipath

/// What the probe is to do.
struct ProbeOptions: Sendable {
    enum Load: String {
        /// Messages that come back.
        case echo
        case download
        case upload
    }

    struct Fault: Sendable {
        var at: Duration
        var link: String
        var action: String
    }

    var mode: MultipathMode
    var load: Load
    var host = "server"
    var duration = Duration.seconds(3)
    var size = 200
    var interval = Duration.milliseconds(20)
    var connections = 1
    var prohibited: Set<String> = []
    /// The interface on which answers to SYNs are counted.
    var counted: String?
    /// The interface on which the arrival of data is noted.
    var captured: String?
    /// Whether a path on which data is to be saved may not be used, and what happens where the connection has one.
    var refusesConstrained = false
    var whenRefused = PathRefusalAction.report
    var isTCP = false
    /// Bytes a day on expensive paths.
    var budget: UInt64?
    /// The interface that it covers instead.
    var budgeted: String?
    var faults: [Fault] = []
    var moves: Moves?
    /// Whether the sockets are not this library's, and all connections may be steered for their sake.
    var isForeign = false
    /// Whether the sockets are followed as another program's: by their names in the kernel alone.
    var isLent = false

    static let usage = """
        usage: modeprobe handover|interactive|aggregate echo|download|upload [--host HOST] [--ms N] [--size N]
            [--every MS] [--connections N] [--prohibit NAME] [--count NAME] [--at MS LINK ACTION]…
            [--tcp yes] [--refuse constrained] [--when-refused report|close] [--capture NAME] [--budget BYTES]
            [--budget-on NAME]
            [--moves N expensive|constrained|address] [--foreign yes] [--lent yes]

        """

    init?(_ arguments: ArraySlice<String>) {
        var words = arguments
        func milliseconds(_ text: String) -> Duration { .milliseconds(Int(text) ?? 0) }
        guard let mode = words.popFirst().flatMap(MultipathMode.init(rawValue:)),
            let load = words.popFirst().flatMap(Load.init(rawValue:))
        else { return nil }
        (self.mode, self.load) = (mode, load)
        while let name = words.popFirst() {
            guard let value = words.popFirst() else { return nil }
            switch name {
            case "--host": host = value
            case "--ms": duration = milliseconds(value)
            case "--size": size = Int(value) ?? size
            case "--every": interval = milliseconds(value)
            case "--connections": connections = Int(value) ?? 1
            case "--prohibit": prohibited.insert(value)
            case "--count": counted = value
            case "--capture": captured = value
            case "--tcp": isTCP = value == "yes"
            case "--budget": budget = UInt64(value)
            case "--budget-on": budgeted = value
            case "--refuse": refusesConstrained = value == "constrained"
            case "--when-refused":
                guard let action = PathRefusalAction(rawValue: value) else { return nil }
                whenRefused = action
            case "--lent": isLent = value == "yes"
            case "--foreign": isForeign = value == "yes"
            case "--moves":
                guard let cause = words.popFirst().flatMap(Moves.Cause.init(rawValue:)) else { return nil }
                moves = Moves(count: Int(value) ?? 0, cause: cause)
            case "--at":
                guard let link = words.popFirst(), let action = words.popFirst() else { return nil }
                faults.append(Fault(at: milliseconds(value), link: link, action: action))
            default: return nil
            }
        }
    }

    var port: UInt16 {
        switch load {
        case .echo: 7
        case .download: 19
        case .upload: 9
        }
    }
}
