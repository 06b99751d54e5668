import LinuxNet
import PathBroker

/// `mpathd`'s share in the steering of a process that lacks CAP_NET_ADMIN: it prepares sockets, and carries orders out.
/// It lives on the event thread.
final class BrokeredSteering {
    let client: BrokerClient
    let control: BrokerSubflowControl

    /// What became of a socket that was to get the userspace path manager.
    enum Preparation {
        case done
        /// The socket is as it was made.
        case refused(ControlLimit)
        /// The daemon may still disconnect the socket: it is not to be used.
        case unanswered
    }

    /// - Parameter path: of the daemon's socket.
    init(on thread: EventThread, path: String) {
        client = BrokerClient(on: thread, path: path)
        control = BrokerSubflowControl(client)
    }

    /// Whether it is worth to ask for a socket: the daemon is there, or may be in a moment.
    var mayPrepare: Bool {
        client.start()
        return client.limit == nil
    }

    /// What stands in the way; nil also where there is no daemon.
    var limit: ControlLimit? { client.limit == .noPrivilege ? nil : client.limit }

    /// - Parameters:
    ///   - patience: how long the answer is waited for.
    ///   - descriptor: asked for when it is sent, which may be a while later: nil where the socket is closed by then.
    func prepare(
        patience: Duration = BrokerClient.answerPatience, _ descriptor: @escaping () -> CInt?,
        _ completion: @escaping (Preparation) -> Void
    ) {
        client.whenSettled { [client] in
            // Nothing was sent: the socket is as it was.
            if let limit = client.limit { return completion(.refused(limit)) }
            guard client.isReady, let descriptor = descriptor() else {
                return completion(.refused(.brokerSilent))
            }
            client.send(.prepare, passing: descriptor, patience: patience) {
                completion(Preparation($0))
            }
        }
    }

    /// The same for a socket that its program uses afterwards, whatever the answer.
    ///
    /// - Parameters:
    ///   - deadline: from then on the daemon leaves it alone.
    ///   - patience: how much longer the answer is waited for: the daemon may have begun in time.
    func prepare(
        _ descriptor: CInt, by deadline: MonotonicTime, patience: Duration,
        _ completion: @escaping (Preparation) -> Void
    ) {
        client.start()
        guard client.isReady else { return completion(.refused(client.limit ?? .brokerSilent)) }
        let left = max(.zero, MonotonicTime.now.duration(to: deadline))
        client.send(.prepareBy(deadline), passing: descriptor, patience: left + patience) {
            completion(Preparation($0))
        }
    }
}

extension BrokeredSteering.Preparation {
    fileprivate init(_ outcome: BrokerClient.Outcome) {
        switch outcome {
        case .done: self = .done
        case .refused(let failure): self = .refused(ControlLimit(failure))
        case .notSent: self = .refused(.brokerSilent)
        case .lost: self = .unanswered
        }
    }
}

extension ControlLevel {
    /// Whether another process could do what this one may not.
    var mayHaveBroker: Bool {
        switch limit {
        case .noPrivilege, .elevatedProgram, .settingReadOnly, .settingUnjournalled: true
        default: false
        }
    }
}
