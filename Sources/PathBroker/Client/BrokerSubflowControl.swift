import LinuxNet
import PathCore

/// Steers connections by orders to `mpathd`: the `SubflowControl` of a process that lacks CAP_NET_ADMIN. It lives on the
/// event thread.
package final class BrokerSubflowControl: SubflowControl {
    private let client: BrokerClient

    private enum Attachment {
        /// The request's number.
        case asked(UInt32)
        case attached
        case refused(ControlLimit)
    }

    private var attachments: [ConnectionToken: Attachment] = [:]
    /// How often in a row a connection was not attached that is to be.
    private var failures: [ConnectionToken: Int] = [:]
    private static let firstPause = Duration.milliseconds(20)
    private static let mostDoublings = 8
    /// How long the daemon may keep a connection's socket unread.
    private static let patience = Duration.seconds(1)

    /// Hears what became of an order that `perform` has said is under way.
    package var onOutcome: (Result<SubflowOutcome, SystemError>, SubflowAction, ConnectionToken) -> Void = {
        _, _, _ in
    }
    /// Hears that a connection is not steered, and why.
    package var onRefusal: (ControlLimit, ConnectionToken) -> Void = { _, _ in }
    /// Hears that a connection is not attached, for a reason that passes: it is to be attached after the pause.
    package var onDetachment: (ConnectionToken, Duration) -> Void = { _, _ in }

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
        // 0 until it is sent.
        attachments[token] = .asked(0)
        let request = client.send(.attach(token), passing: descriptor, patience: Self.patience) {
            [weak self] outcome in
            guard let self, attachments[token] != nil else { return }
            switch outcome {
            case .done:
                attachments[token] = .attached
                failures[token] = nil
            case .refused(let failure) where !failure.refusal.isPassing:
                let limit = ControlLimit(failure)
                attachments[token] = .refused(limit)
                onRefusal(limit, token)
            case .lost, .notSent, .refused: detached(token)
            }
        }
        if request != 0, case .asked? = attachments[token] { attachments[token] = .asked(request) }
    }

    /// A connection is not attached, and may be in a moment. Where the daemon is gone its return has it attached as well.
    private func detached(_ token: ConnectionToken) {
        attachments[token] = nil
        let count = failures[token, default: 0]
        failures[token] = min(count + 1, Self.mostDoublings)
        onDetachment(token, Self.firstPause * (1 << count))
    }

    package func isAttached(_ token: ConnectionToken) -> Bool { attachments[token] != nil }

    /// The connection is over, or is not followed any more.
    package func detach(_ token: ConnectionToken) {
        // An attempt that was given up may have come through in the daemon all the same.
        let wasTried = failures.removeValue(forKey: token) != nil
        switch attachments.removeValue(forKey: token) {
        case .refused: return
        case nil where !wasTried: return
        case .asked(let request): client.withdraw(request)
        case .attached, nil: break
        }
        client.send(.detach(token)) { _ in }
    }

    /// The connection is over, and the daemon knows.
    package func forget(_ token: ConnectionToken) {
        if case .asked(let request)? = attachments[token] { client.withdraw(request) }
        (attachments[token], failures[token]) = (nil, nil)
    }

    /// The daemon is gone, and with it what was attached.
    package func forgetAll() { (attachments, failures) = ([:], [:]) }

    package func limit(of connection: ConnectionToken) -> ControlLimit? {
        if case .refused(let limit)? = attachments[connection] { return limit }
        return nil
    }

    package func perform(
        _ action: SubflowAction, on connection: ConnectionToken
    ) throws(SystemError) -> SubflowOutcome {
        switch attachments[connection] {
        case .refused(let limit): return .refused(limit)
        // The daemon would take it for another's connection. It is attached in a moment: see `onDetachment`.
        case nil: throw .notReady("have mpathd steer")
        case .asked, .attached: break
        }
        var now: Result<SubflowOutcome, SystemError>?
        var isLater = false
        client.send(.order(action, connection)) { [weak self] outcome in
            let result = self?.result(of: outcome, connection) ?? .failure(.unanswered("have mpathd steer"))
            guard isLater else {
                now = result
                return
            }
            self?.onOutcome(result, action, connection)
        }
        isLater = true
        return try now?.get() ?? .underWay
    }

    private func result(
        of outcome: BrokerClient.Outcome, _ token: ConnectionToken
    ) -> Result<SubflowOutcome, SystemError> {
        switch outcome {
        case .done: .success(.accepted)
        case .refused(let failure):
            switch failure.refusal {
            case .alreadyGone: .success(.alreadyGone)
            case .foreignToken: reattach(token)
            case .foreignSocket: .success(.refused(ControlLimit(failure)))
            case .notReady, .socketHeld, .tooFast: .failure(.notReady("have mpathd steer"))
            default:
                .failure(.refused("have mpathd steer", failure.errno, failure.detail ?? failure.refusal.text))
            }
        case .lost, .notSent: .failure(.unanswered("have mpathd steer"))
        }
    }

    /// The daemon does not know a connection any more that it had taken: another program may have attached it, and be gone.
    private func reattach(_ token: ConnectionToken) -> Result<SubflowOutcome, SystemError> {
        if case .attached? = attachments[token] { detached(token) }
        return .failure(.notReady("have mpathd steer"))
    }
}

extension BrokerRefusal {
    /// Whether the same request may be granted in a moment.
    fileprivate var isPassing: Bool {
        switch self {
        case .socketHeld, .tooFast, .settingBusy, .tooLate, .notReady: true
        default: false
        }
    }
}

extension ControlLimit {
    /// Why the daemon refused, for reports.
    package init(_ failure: BrokerFailure) {
        self = failure.refusal == .foreignSocket ? .foreignSocket : .brokerRefused(failure.refusal.rawValue)
    }
}
