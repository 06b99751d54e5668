import BenchSupport

/// What one run is to do, from the command line.
struct Options {
    enum Load: String {
        /// A number of bytes to the server, or from it.
        case up, down
        /// Requests, each sent when the answer to the one before has come.
        case rr
        /// Connections that are closed as soon as they are open.
        case connect
        /// Connections that say nothing.
        case crowd
    }

    var contender: Dialer.Contender
    var load: Load
    var host: String
    /// Bytes, requests or connections.
    var number: Int
    /// Connections that are made at the same time.
    var atOnce = 1

    static let usage = """
        usage: mpbench-data ours|ours-unfollowed|ours-tcp|nio|nio-mptcp up|down|rr|connect|crowd HOST NUMBER [AT-ONCE]

        """

    init?(_ words: [String]) {
        guard words.count >= 4, let contender = Dialer.Contender(rawValue: words[0]),
            let load = Load(rawValue: words[1]), let number = Int(words[3]), number > 0
        else { return nil }
        (self.contender, self.load, host, self.number) = (contender, load, words[2], number)
        guard words.count > 4 else { return }
        guard let atOnce = Int(words[4]), atOnce > 0 else { return nil }
        self.atOnce = atOnce
    }

    /// Where mpbench-plain serves.
    var port: Int {
        switch load {
        case .rr, .connect, .crowd: 7
        case .up: 9
        case .down: 19
        }
    }
}
