// Whether a radio's signal says that its path will soon be worse. It is early and uncertain: it moves nothing, but warms
// another path before it is needed (cross-layer detection, as in iOS 13).
//
//   steady ──── below `weak`, or `fall` less than within the last `window` ────► fading
//     ▲                                                                         │
//     └────── `recovered` or better, and `steadiness` at most less than then ───┘

/// Judges one interface's signal from its readings, in dBm.
package struct SignalDetector: Sendable, Hashable {
    /// The numbers it judges by.
    package struct Tuning: Sendable, Hashable {
        /// Below this, in dBm, Wi-Fi falls back to its slowest rates.
        package var weak = -75
        /// From this on, in dBm, a weak signal is good again: some more than `weak`, for readings waver by 3 dB.
        package var recovered = -70
        /// So much less, in dB, within `window` is the walk out of a room: a door is 5 to 10.
        package var fall = 10
        /// For how long a reading is compared with those after it.
        package var window = Duration.seconds(2)
        /// A signal that is no more than so much less, in dB, than the best of `window` falls no longer.
        package var steadiness = 4

        package init() {}
    }

    private struct Reading: Sendable, Hashable {
        var signal: Int
        var time: MonotonicTime
    }

    private let tuning: Tuning
    /// Those of the last `window`, each weaker than those before it: what a stronger one follows is no maximum any more.
    private var maxima: [Reading] = []
    /// Whether the signal is weak, or falling.
    package private(set) var isFading = false

    package init(_ tuning: Tuning = Tuning()) { self.tuning = tuning }

    /// Takes a reading.
    ///
    /// - Parameter signal: in dBm; nil where the interface is in no network, which ends all that was known.
    /// - Returns: whether the signal fades.
    package mutating func ingest(_ signal: Int?, at now: MonotonicTime) -> Bool {
        guard let signal else {
            (maxima, isFading) = ([], false)
            return false
        }
        let begin = now.advanced(by: .zero - tuning.window)
        maxima.removeAll { $0.time < begin || $0.signal <= signal }
        maxima.append(Reading(signal: signal, time: now))
        let fallen = (maxima.first?.signal ?? signal) - signal
        if isFading {
            isFading = signal < tuning.recovered || fallen > tuning.steadiness
        } else {
            isFading = signal < tuning.weak || fallen >= tuning.fall
        }
        return isFading
    }
}
