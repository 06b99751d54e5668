import LinuxNet
import PathCore

/// Steers connections by orders to `mpathd`: the `SubflowControl` of a process that lacks CAP_NET_ADMIN. It lives on the
/// event thread.
package final class BrokerSubflowControl: SubflowControl {
    package let level = ControlLevel.perConnectionByBroker
    private let client: BrokerClient

    private enum Attachment {
        case asked
        case attached
        case refused(ControlLimit)
    }

    private var attachments: [ConnectionToken: Attachment] = [:]

    /// Hears what became of an order that `perform` has said is under way.
    package var onOutcome: (Result<SubflowOutcome, SystemError>, SubflowAction, ConnectionToken) -> Void = {
        _, _, _ in
    }
    /// Hears that a connection is not steered, and why.
    package var onRefusal: (ControlLimit, ConnectionToken) -> Void = { _, _ in }

    package init(_ client: BrokerClient) { self.client = client }

    /// Whether any connection is attached, or is to be again.
    package var hasConnections: Bool { !attachments.isEmpty }

    /// Has the daemon take orders for a connection, and tell of it.
    ///
    /// - Parameter descriptor: the connection's socket, which proves that it is this process's. It stays the caller's.
    package func attach(_ token: ConnectionToken, by descriptor: CInt) {
        switch attachments[token] {
        case .asked, .attached: return
        case .refused, nil: break
        }
        attachments[token] = .asked
        client.send(.attach(token), passing: descriptor) { [weak self] outcome in
            guard let self, attachments[token] != nil else { return }
            switch outcome {
            case .done: attachments[token] = .attached
            case .refused(let failure):
                let limit = ControlLimit(failure)
                attachments[token] = .refused(limit)
                onRefusal(limit, token)
            // When the daemon is back, it is attached again.
            case .lost, .notSent: attachments[token] = nil
            }
        }
    }

    package func isAttached(_ token: ConnectionToken) -> Bool { attachments[token] != nil }

    /// The connection is over, or is not followed any more.
    package func detach(_ token: ConnectionToken) {
        guard let attachment = attachments.removeValue(forKey: token) else { return }
        if case .refused = attachment { return }
        client.send(.detach(token)) { _ in }
    }

    /// The connection is over, and the daemon knows.
    package func forget(_ token: ConnectionToken) { attachments[token] = nil }

    /// The daemon is gone, and with it what was attached.
    package func forgetAll() { attachments = [:] }

    package func limit(of connection: ConnectionToken) -> ControlLimit? {
        if case .refused(let limit)? = attachments[connection] { return limit }
        return nil
    }

    package func perform(
        _ action: SubflowAction, on connection: ConnectionToken
    ) throws(SystemError) -> SubflowOutcome {
        var now: Result<SubflowOutcome, SystemError>?
        var isLater = false
        client.send(.order(action, connection)) { [weak self] outcome in
            let result = Self.result(of: outcome, action)
            guard isLater else {
                now = result
                return
            }
            self?.onOutcome(result, action, connection)
        }
        isLater = true
        return try now?.get() ?? .underWay
    }

    private static func result(
        of outcome: BrokerClient.Outcome, _ action: SubflowAction
    ) -> Result<SubflowOutcome, SystemError> {
        switch outcome {
        case .done: .success(.accepted)
        case .refused(let failure):
            switch failure.refusal {
            case .alreadyGone: .success(.alreadyGone)
            case .foreignSocket, .foreignToken: .success(.refused(ControlLimit(failure)))
            case .notReady: .failure(.notReady("have mpathd steer"))
            default:
                .failure(.refused("have mpathd steer", failure.errno, failure.detail ?? failure.refusal.text))
            }
        case .lost, .notSent: .failure(.unanswered("have mpathd steer"))
        }
    }
}

extension ControlLimit {
    /// Why the daemon refused, for reports.
    package init(_ failure: BrokerFailure) {
        self = failure.refusal == .foreignSocket ? .foreignSocket : .brokerRefused(failure.refusal.rawValue)
    }
}
