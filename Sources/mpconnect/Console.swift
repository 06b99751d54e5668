import CommandSupport
import LinuxNet
import Multipath

/// Everything mpconnect says, on standard error: lines for people, or JSON objects.
///
/// Each JSON object has an `event` and a `time`: seconds of CLOCK_MONOTONIC, which starts when the machine boots.
struct Console: Sendable {
    let json: Bool
    let verbose: Bool
    let report: Bool

    /// An event. People see it only if they asked for events, unless it is marked as news they need.
    func event(_ name: String, _ fields: [String: String], text: String, always: Bool = false) {
        if json {
            Diagnostics.write(JSONLine.text(EventDocument(name: name, fields: fields)))
        } else if verbose || always {
            say(text)
        }
    }

    /// Says, in every form of output, why no path can be used: the user would otherwise wait without knowing.
    ///
    /// - Parameter always: whether a person who did not ask for events is told, too.
    func waiting(_ omissions: [PathOmission], always: Bool = true) {
        if json {
            let document = WaitingDocument(interfaces: omissions)
            Diagnostics.write(JSONLine.text(Timed(name: "waiting", value: document)))
        } else if verbose || always {
            say("\(ConnectionEvent.waiting(omissions))")
        }
    }

    /// One line, whatever the peer or the network has put into it.
    private func say(_ text: String) { Diagnostics.write("mpconnect: \(TerminalText.safe(text))") }

    private struct WaitingDocument: Encodable {
        let interfaces: [PathOmission]
    }

    /// The last word: the error in one line, with the attempts; or the report where one was asked for.
    func conclude(_ host: String, _ port: UInt16, _ outcome: ConnectionOutcome) {
        if json {
            let document = ReportDocument(host: host, port: port, outcome: outcome)
            Diagnostics.write(JSONLine.text(Timed(name: "report", value: document)))
            return
        }
        if let error = outcome.error {
            say("\(error)\(outcome.failure?.advice.map { "; \($0)" } ?? "")")
            if !report, outcome.transfer == nil {
                for line in outcome.failure?.attemptLines ?? [] { Diagnostics.write(TerminalText.safe(line)) }
            }
        }
        if report {
            // With --verbose the first line was printed when the connection was made.
            let text = outcome.text(withHeadline: !verbose)
            if !text.isEmpty { Diagnostics.write(text) }
        }
    }

    /// A document with the event's name and time beside its own keys.
    private struct Timed<Value: Encodable>: Encodable {
        let name: String
        let value: Value

        func encode(to encoder: any Encoder) throws {
            var object = encoder.container(keyedBy: AnyKey.self)
            try object.begin(name)
            try value.encode(to: encoder)
        }
    }
}

/// Tells the user why there is no connection yet.
struct WaitingObserver: ConnectionObserver, ConnectionObservation {
    let console: Console

    func connecting(
        host: String, port: Int, _ configuration: ConnectionConfiguration
    ) -> (any ConnectionObservation)? {
        configuration.waitsForPath ? self : nil
    }

    func waiting(_ omissions: [PathOmission]) { console.waiting(omissions) }
}

extension ConnectionError {
    /// What the user can do about it; nil where the error itself says it.
    fileprivate var advice: String? {
        switch code {
        case .noAllowedPath: "allow another path, or wait for one with --wait"
        case .noRoute: "connect this machine to a network that leads there, or wait for one with --wait"
        case .timedOut: "--connect-timeout gives it more time"
        case .resolution: "check how HOST is spelt, or name its address with --resolve"
        default: nil
        }
    }
}
