import PathCore

/// A hash of what machines wanted (FNV-1a, 64 bits): the same in each process, unlike `Hasher`'s.
struct Digest {
    private(set) var value: UInt64 = 0xCBF2_9CE4_8422_2325

    private mutating func add(_ byte: UInt8) { value = (value ^ UInt64(byte)) &* 0x100_0000_01B3 }

    /// Which case of an enumeration follows.
    private mutating func add(tag: UInt8) { add(tag) }

    mutating func add(_ number: some FixedWidthInteger) {
        var rest = UInt64(truncatingIfNeeded: number)
        for _ in 0..<8 {
            add(UInt8(truncatingIfNeeded: rest))
            rest >>= 8
        }
    }

    private mutating func add(_ text: String) {
        for byte in text.utf8 { add(byte) }
        add(tag: 0)
    }

    private mutating func add(_ flag: Bool) { add(tag: flag ? 1 : 0) }
}

extension Digest {
    mutating func add(_ step: Simulation.Step) {
        add(step.time)
        add(step.end.rawValue)
        switch step.action {
        case .perform(let order):
            add(tag: 1)
            add(order)
        case .tell(let event):
            add(tag: 2)
            add(event)
        case .startProbe(_, let interface, let remote):
            add(tag: 3)
            add(interface)
            add("\(remote)")
        case .probeIdle:
            add(tag: 4)
        case .firstSubflowEnded:
            add(tag: 6)
        case .preparedToEnd:
            add(tag: 7)
        case .widenReceiveBuffer:
            add(tag: 8)
        case .share(let verdict):
            add(tag: 5)
            add(verdict.interface)
            add("\(verdict.remote)")
            add(verdict.trouble.rawValue)
            add(verdict.since.nanoseconds)
        }
        if let failure = step.failure {
            add(tag: 9)
            switch failure {
            case .notReady: add(tag: 1)
            case .alreadyGone:
                add(tag: 2)
            case .refused, .failed: add(tag: 3)
            }
        }
    }

    private mutating func add(_ local: SubflowAction.LocalAddress) {
        add("\(local.address)")
        add(local.id)
        add(local.interface ?? .max)
    }

    private mutating func add(_ order: SubflowAction) {
        switch order {
        case .create(let local, let isBackup, let remote):
            add(tag: 1)
            add(local)
            add(isBackup)
            add("\(remote)")
        case .withdraw(let local):
            add(tag: 2)
            add(local)
        case .destroy(let local, let remote):
            add(tag: 3)
            add("\(local)")
            add("\(remote)")
        case .reset(let local, let remote, let interface):
            add(tag: 6)
            add("\(local)")
            add("\(remote)")
            add("\(interface)")
        case .prioritize(let local, let remote, let isBackup):
            add(tag: 4)
            add("\(local)")
            add("\(remote)")
            add(isBackup)
        case .announce(let local):
            add(tag: 5)
            add(local)
        }
    }

    private mutating func add(_ reason: MoveReason) {
        switch reason {
        case .trouble(let trouble):
            add(tag: 1)
            add(trouble.rawValue)
        case .refused(let refusal):
            add(tag: 2)
            add(refusal.rawValue)
        case .preferred:
            add(tag: 3)
        case .latency(let new, let old):
            add(tag: 4)
            add(new.wholeNanoseconds)
            add(old.wholeNanoseconds)
        case .stalled:
            add(tag: 5)
        case .ended(let end):
            add(tag: 6)
            add(end.error ?? -1)
            add(end.reset?.code ?? 255)
            add(end.isTransient)
        case .stuck:
            add(tag: 7)
        case .unneeded:
            add(tag: 8)
        }
    }

    private mutating func add(_ event: SteeringEvent) {
        switch event {
        case .joined(let path):
            add(tag: 1)
            add(path.name)
        case .left(let path, let reason):
            add(tag: 2)
            add(path.name)
            add(reason)
        case .moved(let old, let new, let reason):
            add(tag: 3)
            add(old.name)
            add(new.name)
            add(reason)
        case .suspected(let path, let trouble):
            add(tag: 4)
            add(path.name)
            add(trouble.rawValue)
        case .cleared(let path):
            add(tag: 5)
            add(path.name)
        case .failed(let path, let trouble):
            add(tag: 6)
            add(path.name)
            add(trouble.rawValue)
        case .answered(let path):
            add(tag: 7)
            add(path.name)
        case .stranded:
            add(tag: 8)
        case .pathLossTimedOut(let patience):
            add(tag: 9)
            add(patience.wholeNanoseconds)
        }
    }
}
