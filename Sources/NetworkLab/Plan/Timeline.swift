import PathCore

/// What happens when, counted from the command's start.
public struct Timeline: Sendable, Hashable {
    /// In the order of the text they were read from.
    public var events: [Event] = []
    /// When it starts over; nil for never.
    public var period: Duration?

    /// Nothing happens.
    public init() {}

    /// Something that happens to a link.
    public struct Event: Sendable, Hashable {
        /// When it begins, counted from the command's start.
        public var start: Duration
        /// The link, by its name or type, or `all`.
        public var link: String
        /// What happens.
        public var kind: Kind
        /// Where it stands, for errors: `line 7`.
        public var place: String

        /// What happens to a link.
        public enum Kind: Sendable, Hashable {
            /// A change or a fault, at once.
            case action(LinkAction)
            /// Conditions that go evenly from one to the other until `end`.
            case ramp(from: ConditionChange, to: ConditionChange, end: Duration)
        }

        var end: Duration {
            if case .ramp(_, _, let end) = kind { end } else { start }
        }
    }

    func validate(against plan: LabPlan) throws(LabTextError) {
        for event in events {
            do throws(LabTextError) {
                _ = try plan.link(event.link)
                guard event.end >= event.start else {
                    throw LabTextError("it ends at \(event.end) before it starts at \(event.start)")
                }
                if let period, event.end >= period {
                    throw LabTextError("it ends at \(event.end), but everything starts over every \(period)")
                }
            } catch {
                throw error.at(event.place)
            }
        }
    }

    /// How often a ramp takes a step.
    static let rampStep = Duration.milliseconds(100)

    /// Every step of one round, in order of time: what to do, and when.
    var steps: [Step] {
        var steps: [Step] = []
        for event in events {
            switch event.kind {
            case .action(let action): steps.append(Step(time: event.start, link: event.link, action: action))
            case .ramp(let from, let to, let end):
                let length = end - event.start
                let count = max(1, Int((length.inSeconds / Self.rampStep.inSeconds).rounded(.up)))
                for step in 0...count {
                    let share = Double(step) / Double(count)
                    let change = ConditionChange(
                        zip(from.settings, to.settings).compactMap { $0.interpolated(to: $1, share) })
                    let time = event.start + .nanoseconds(Int64(Double(length.wholeNanoseconds) * share))
                    steps.append(Step(time: time, link: event.link, action: .change(change)))
                }
            }
        }
        // Stable, so that events of one time happen as they are written.
        return steps.enumerated().sorted { ($0.element.time, $0.offset) < ($1.element.time, $1.offset) }
            .map(\.element)
    }

    struct Step: Sendable, Hashable {
        var time: Duration
        var link: String
        var action: LinkAction
    }
}
