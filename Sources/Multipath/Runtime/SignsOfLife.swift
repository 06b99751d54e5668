import PathCore

/// What the steered connections of this process hear of their peers, by interface and host. It is kept only of those ways over
/// which one of them probes a path that it suspects, as long as it does.
struct SignsOfLife {
    private struct Sought {
        /// How many want to know.
        var seekers = 0
        /// The latest sign, and the latest of another connection: what a connection heard itself tells it nothing.
        var latest: (by: ConnectionToken, sign: SignOfLife)?
        var other: SignOfLife?
    }

    private var ways: [PathToHost: Sought] = [:]

    var areSought: Bool { !ways.isEmpty }

    /// A connection wants to know of other ways now.
    mutating func seek(_ new: [PathToHost], insteadOf old: [PathToHost]) {
        guard new != old else { return }
        for way in new { ways[way, default: Sought()].seekers += 1 }
        for way in old {
            ways[way]?.seekers -= 1
            if ways[way]?.seekers == 0 { ways[way] = nil }
        }
    }

    /// A connection has heard something new: an acknowledgement, bytes that go on, or the answer to a probe.
    mutating func note(_ sign: SignOfLife, over way: PathToHost, by token: ConnectionToken) {
        guard var known = ways[way] else { return }
        var sign = sign
        // Of two that share a queue the one that fills it knows how long that is.
        sign.answerTime = max(sign.answerTime, known.latest?.sign.answerTime ?? .zero)
        if let latest = known.latest, latest.by != token {
            if sign.at < latest.sign.at {
                if sign.at > known.other?.at ?? .zero { known.other = sign }
            } else {
                (known.other, known.latest) = (latest.sign, (token, sign))
            }
        } else if sign.at >= known.latest?.sign.at ?? .zero {
            known.latest = (token, sign)
        }
        ways[way] = known
    }

    /// What a connection other than this one heard last; nil for nothing since one has wanted to know.
    func latest(over way: PathToHost, besides token: ConnectionToken) -> SignOfLife? {
        guard let known = ways[way], let latest = known.latest else { return nil }
        return latest.by == token ? known.other : latest.sign
    }
}
