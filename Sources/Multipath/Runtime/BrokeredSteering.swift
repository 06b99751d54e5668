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

    init(on thread: EventThread) {
        client = BrokerClient(on: thread, path: BrokerClient.standardPath)
        control = BrokerSubflowControl(client)
    }

    /// Whether it is worth to ask for a socket: the daemon is there, or may be in a moment.
    var mayPrepare: Bool {
        client.start()
        return client.limit == nil
    }

    /// What stands in the way; nil also where there is no daemon.
    var limit: ControlLimit? { client.limit == .noPrivilege ? nil : client.limit }

    func prepare(_ descriptor: CInt, _ completion: @escaping (Preparation) -> Void) {
        client.whenSettled { [client] in
            // Nothing was sent: the socket is as it was.
            if let limit = client.limit { return completion(.refused(limit)) }
            guard client.isReady else { return completion(.refused(.brokerSilent)) }
            client.send(.prepare, passing: descriptor, patience: BrokerClient.answerPatience) { outcome in
                switch outcome {
                case .done: completion(.done)
                case .refused(let failure): completion(.refused(ControlLimit(failure)))
                case .notSent: completion(.refused(.brokerSilent))
                case .lost: completion(.unanswered)
                }
            }
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
