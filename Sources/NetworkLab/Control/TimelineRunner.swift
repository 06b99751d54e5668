import LinuxNet
import PathCore

/// Lets a timeline's steps happen on the lab's thread. Only that thread touches it.
final class TimelineRunner: @unchecked Sendable {
    private let lab: Lab
    private let steps: [Timeline.Step]
    private var next = 0
    private var begun = MonotonicTime.zero

    init(_ lab: Lab) {
        self.lab = lab
        steps = lab.plan.timeline.steps
    }

    /// Counts from now.
    func start() {
        guard !steps.isEmpty else { return }
        begun = .now
        Lab.thread.submit { self.perform() }
    }

    private func perform() {
        let now = MonotonicTime.now
        while true {
            if next == steps.count {
                guard let period = lab.plan.timeline.period else { return }
                begun = begun.advanced(by: period)
                next = 0
            }
            let step = steps[next]
            let time = begun.advanced(by: step.time)
            guard time <= now else {
                _ = Lab.thread.schedule(at: time) { self.perform() }
                return
            }
            next += 1
            guard let link = try? lab.plan.link(step.link) else { continue }
            lab.perform(step.action, on: link.name) { failure in
                if let failure { StandardError.write("mplab: \(link.name): \(failure)") }
            }
        }
    }
}
