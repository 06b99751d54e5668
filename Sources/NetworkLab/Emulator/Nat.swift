// A NAT of IPv4 at a link's far end, as home routers have one, and its bad memory.
//
// Rules:
//  1. The first packet from inside gives its flow a port outside; TCP's first must be a SYN.
//  2. A flow that was silent both ways for the timeout is forgotten.
//  3. What belongs to no flow is dropped, without an answer (RFC 5382 section 5 allows it, and many do).

import PathCore

struct Nat: Sendable {
    private struct Flow: Hashable, Sendable {
        var carried: PacketBytes.Carried
        var address: UInt32
        var port: UInt16
    }

    private struct Mapping: Sendable {
        var flow: Flow
        var outside: Outside
        var lastUse: MonotonicTime
    }

    private struct Outside: Hashable, Sendable {
        var carried: PacketBytes.Carried
        var port: UInt16
    }

    /// The one address that is seen outside.
    let address: UInt32
    private var inside: [Flow: Outside] = [:]
    private var mappings: [Outside: Mapping] = [:]
    private var nextPort: UInt16 = 32_768

    init(address: UInt32) { self.address = address }

    /// Forgets every flow.
    mutating func forget() {
        inside = [:]
        mappings = [:]
    }

    /// Rewrites a packet on its way out.
    /// - Returns: whether it may pass.
    mutating func send(_ packet: PacketBytes, timeout: Duration, at now: MonotonicTime) -> Bool {
        guard packet.family == .ipv4 else { return true }
        let flow = Flow(carried: packet.carried, address: packet.source, port: packet.sourcePort)
        var outside = inside[flow].flatMap { live($0, timeout, now) }
        if outside == nil {
            guard packet.carried != .tcp || packet.isFirstSYN else { return false }
            outside = open(flow, timeout, now)
        }
        guard let outside else { return false }
        mappings[outside]?.lastUse = now
        packet.setSource(address, port: outside.port)
        return true
    }

    /// Rewrites a packet on its way in.
    mutating func receive(_ packet: PacketBytes, timeout: Duration, at now: MonotonicTime) -> Bool {
        // What is sent to the client's own address didn't come through here on its way out.
        guard packet.family == .ipv4, packet.destination == address else { return packet.family == .ipv6 }
        let key = Outside(carried: packet.carried, port: packet.destinationPort)
        guard let outside = live(key, timeout, now), let flow = mappings[outside]?.flow else { return false }
        mappings[outside]?.lastUse = now
        packet.setDestination(flow.address, port: flow.port)
        return true
    }

    private mutating func live(_ outside: Outside, _ timeout: Duration, _ now: MonotonicTime) -> Outside? {
        guard let mapping = mappings[outside] else { return nil }
        guard mapping.lastUse.duration(to: now) < timeout else {
            mappings[outside] = nil
            inside[mapping.flow] = nil
            return nil
        }
        return outside
    }

    private mutating func open(_ flow: Flow, _ timeout: Duration, _ now: MonotonicTime) -> Outside? {
        for _ in 0..<32_768 {
            let outside = Outside(carried: flow.carried, port: nextPort)
            nextPort = nextPort == .max ? 32_768 : nextPort + 1
            if live(outside, timeout, now) != nil { continue }
            inside[flow] = outside
            mappings[outside] = Mapping(flow: flow, outside: outside, lastUse: now)
            return outside
        }
        return nil
    }
}
