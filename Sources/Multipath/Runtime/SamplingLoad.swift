import PathCore

/// How many connections are sampled now, and how often one of them may be therefore. Only the event thread uses it.
final class SamplingLoad: @unchecked Sendable {
    /// Connections that are sampled now.
    var active = 0 {
        didSet {
            guard (active > 0) != (oldValue > 0) else { return }
            for listener in listeners.values { listener(active > 0) }
        }
    }

    private var listeners: [ObjectIdentifier: (Bool) -> Void] = [:]

    /// Hears whether any connection is sampled, now and whenever that changes.
    func listen(_ object: AnyObject, _ listener: @escaping (Bool) -> Void) {
        listeners[ObjectIdentifier(object)] = listener
        listener(active > 0)
    }

    func stopListening(_ object: AnyObject) { listeners[ObjectIdentifier(object)] = nil }

    /// The least time between two samples of one connection: a sample takes some tens of microseconds, and all
    /// together are to take a few hundredths of a processor.
    var pace: Duration { max(.milliseconds(2), .microseconds(500) * (active - 16)) }

    /// Whether so many connections are active that what is done for several at once is worth a few milliseconds.
    var isCrowded: Bool { active > 16 }
}
