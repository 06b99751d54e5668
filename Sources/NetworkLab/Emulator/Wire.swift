// The runner of the link machines: frames in, frames out, and one timer for each link, on a thread of its own.

import LabNet
import LinuxNet
import PathCore

/// All of a lab's emulated links. Only its thread touches them.
final class Wire: @unchecked Sendable {
    private let thread: EventThread
    private var links: [String: EmulatedLink] = [:]

    init() {
        thread = EventThread(name: "wire")
        thread.submit { ThreadTimers.makePrecise() }
    }

    /// Puts a link between two ports. A link of the same name is taken out first.
    func add(
        _ name: String, near: any FramePort, far: any FramePort, natAddress: UInt32,
        seed: UInt64
    ) throws(SystemError) {
        let thread = thread
        try thread.perform { () throws(SystemError) in
            self.links.removeValue(forKey: name)?.stop()
            let link = EmulatedLink(thread: thread, near: near, far: far, natAddress: natAddress, seed: seed)
            try link.start()
            self.links[name] = link
        }
    }

    /// Takes a link's near port out, as a card that is pulled out, or puts another in.
    func replaceNearPort(_ name: String, _ port: (any FramePort)?) throws(SystemError) {
        try thread.perform { () throws(SystemError) in try self.links[name]?.replaceNearPort(port) }
    }

    func change(_ name: String, _ conditions: LinkConditions) {
        thread.submit { self.links[name]?.change(conditions) }
    }

    /// Makes a link's NAT forget its flows.
    func forgetFlows(_ name: String) {
        thread.submit { self.links[name]?.forgetFlows() }
    }

    /// What a link has done so far, and holds now.
    struct Report: Sendable {
        var up: LinkMachine.Statistics
        var down: LinkMachine.Statistics
        var upQueue: Int
        var downQueue: Int
    }

    func reports() -> [String: Report] {
        (try? thread.perform { () throws(SystemError) in self.links.mapValues { $0.report } }) ?? [:]
    }
}

/// One link: two ports, a machine for each direction, and the box at the far end.
private final class EmulatedLink {
    private let thread: EventThread
    private var near: (any FramePort)?
    private let far: any FramePort
    private var nearToken: EventThread.Token?
    private var farToken: EventThread.Token?
    private var timer: (token: EventThread.Token, deadline: MonotonicTime)?
    private var up: LinkMachine
    private var down: LinkMachine
    private var box: LinkBox
    private var store = FrameStore()
    private var batch: [UnsafeRawBufferPointer] = []
    private var sent: [UInt32] = []
    private static let batchSize = 64
    /// Frames taken from one port before the others get their turn.
    private static let turn = 256

    init(
        thread: EventThread, near: any FramePort, far: any FramePort, natAddress: UInt32, seed: UInt64
    ) {
        self.thread = thread
        (self.near, self.far) = (near, far)
        box = LinkBox(natAddress: natAddress)
        up = LinkMachine(seed: seed &* 2)
        down = LinkMachine(seed: seed &* 2 &+ 1)
    }

    func start() throws(SystemError) {
        farToken = try thread.add(far.descriptor, for: .readable) { [unowned self] _ in receive(.down) }
        try replaceNearPort(near)
    }

    func stop() {
        if let nearToken { thread.remove(nearToken) }
        if let farToken { thread.remove(farToken) }
        if let timer { thread.cancelTimer(timer.token) }
    }

    func replaceNearPort(_ port: (any FramePort)?) throws(SystemError) {
        if let nearToken { thread.remove(nearToken) }
        nearToken = nil
        near = port
        guard let port else { return }
        nearToken = try thread.add(port.descriptor, for: .readable) { [unowned self] _ in receive(.up) }
    }

    func change(_ conditions: LinkConditions) {
        let now = MonotonicTime.now
        up.change(conditions.up, at: now)
        down.change(conditions.down, at: now)
        box.change(conditions)
        flush(now)
    }

    func forgetFlows() { box.forget() }

    var report: Wire.Report {
        Wire.Report(
            up: up.statistics, down: down.statistics, upQueue: up.queuedBytes, downQueue: down.queuedBytes)
    }

    private func receive(_ side: LinkSide) {
        guard let near else { return }
        let (port, other) = side == .up ? (near, far) : (far, near)
        port.receive(limit: Self.turn) { frame, arrival in
            // What finds the neighbour is answered by the next box, which is there whatever lies behind it.
            if PacketBytes.findsNeighbours(frame) {
                other.send([frame])
                return
            }
            // A full store is a full queue of the emulator's own: the frame is gone.
            guard let slot = store.store(frame) else { return }
            if side == .down, box.isActive, !box.passes(store[slot], .down, at: arrival) {
                store.release(slot)
                return
            }
            let packet = LinkMachine.Packet(id: slot, bytes: frame.count - PacketBytes.ethernetHeader)
            if side == .up { up.receive(packet, at: arrival) } else { down.receive(packet, at: arrival) }
        }
        flush(.now)
    }

    /// Sends what has arrived by now, and waits for what comes next.
    private func flush(_ now: MonotonicTime) {
        while let outcome = up.poll(at: now) { finish(outcome, .up, now) }
        sendBatch(to: far)
        while let outcome = down.poll(at: now) { finish(outcome, .down, now) }
        if let near { sendBatch(to: near) } else { clearBatch() }
        arm()
    }

    private func finish(_ outcome: LinkMachine.Outcome, _ side: LinkSide, _ now: MonotonicTime) {
        switch outcome {
        case .drop(let packet, _): store.release(packet.id)
        case .deliver(let packet, let copies, let changedBit):
            let frame = store[packet.id]
            if let changedBit {
                let bit = Int(changedBit % UInt64(packet.bytes * 8))
                frame[PacketBytes.ethernetHeader + bit / 8] ^= 1 << UInt8(bit % 8)
            }
            if side == .up, box.isActive, !box.passes(frame, .up, at: now) {
                store.release(packet.id)
                return
            }
            for _ in 0..<copies { batch.append(UnsafeRawBufferPointer(frame)) }
            sent.append(packet.id)
            guard batch.count >= Self.batchSize else { return }
            if side == .up {
                sendBatch(to: far)
            } else if let near {
                sendBatch(to: near)
            } else {
                clearBatch()
            }
        }
    }

    private func sendBatch(to port: any FramePort) {
        if !batch.isEmpty { port.send(batch) }
        clearBatch()
    }

    private func clearBatch() {
        batch.removeAll(keepingCapacity: true)
        for slot in sent { store.release(slot) }
        sent.removeAll(keepingCapacity: true)
    }

    private func arm() {
        let deadline = [up.nextDeadline, down.nextDeadline].compactMap { $0 }.min()
        if let timer {
            if timer.deadline == deadline { return }
            thread.cancelTimer(timer.token)
        }
        timer = deadline.map { deadline in
            (
                thread.schedule(at: deadline) { [unowned self] in
                    timer = nil
                    flush(.now)
                }, deadline
            )
        }
    }
}
