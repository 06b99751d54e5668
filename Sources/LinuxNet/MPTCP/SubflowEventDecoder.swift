// The events of the path manager: net/mptcp/pm_netlink.c (mptcp_event and what it calls) says which
// attributes each has.

import CLinux
import PathCore

enum SubflowEventDecoder {
    /// - Returns: nil for an event of another kind, and for one without what it needs to mean anything.
    static func event(_ message: GenericMessage) -> SubflowEvent? {
        var fields = Fields()
        fields.read(message.attributes)
        typealias Event = PathManagerEvent
        switch message.command {
        case Event.listenerCreated: return fields.local.map(SubflowEvent.listenerCreated)
        case Event.listenerClosed: return fields.local.map(SubflowEvent.listenerClosed)
        default: break
        }
        guard let token = fields.token else { return nil }
        switch message.command {
        case Event.closed: return .closed(token)
        case Event.announced:
            guard let id = fields.remoteID, let address = fields.remoteAddress else { return nil }
            return .announced(token, remoteID: id, IPEndpoint(address, port: fields.remotePort ?? 0))
        case Event.removed: return fields.remoteID.map { .removed(token, remoteID: $0) }
        default: break
        }
        guard let subflow = fields.subflow else { return nil }
        switch message.command {
        case Event.created:
            return .created(
                token, subflow, isServer: fields.isServer, deniesJoinToFirst: fields.deniesJoinToFirst)
        case Event.established:
            return .established(
                token, subflow, isServer: fields.isServer, deniesJoinToFirst: fields.deniesJoinToFirst)
        case Event.subflowEstablished: return .subflowEstablished(token, subflow, error: fields.error)
        case Event.subflowClosed: return .subflowClosed(token, subflow, fields.end)
        case Event.subflowPriority: return .subflowPriority(token, subflow)
        default: return nil
        }
    }

    /// An event's attributes, as far as they are whole.
    private struct Fields {
        var token: ConnectionToken?
        var localID: UInt8?
        var remoteID: UInt8?
        var localAddress: IPAddress?
        var remoteAddress: IPAddress?
        var localPort: UInt16?
        var remotePort: UInt16?
        var isBackup: Bool?
        var error: Int32?
        var interface: InterfaceIndex?
        var flags: UInt16 = 0
        var isMarkedServer = false
        var reset: ResetReason?
        var isTransient = false

        mutating func read(_ attributes: NetlinkAttributes) {
            attributes.visit { type, value in
                typealias Attribute = PathManagerEventAttribute
                switch type {
                case Attribute.token: token = value.number().map(ConnectionToken.init)
                case Attribute.localID: localID = value.number()
                case Attribute.remoteID: remoteID = value.number()
                case Attribute.localIPv4, Attribute.localIPv6: localAddress = value.ipAddress()?.unmapped
                case Attribute.remoteIPv4, Attribute.remoteIPv6: remoteAddress = value.ipAddress()?.unmapped
                case Attribute.localPort: localPort = value.number().map(UInt16.init(bigEndian:))
                case Attribute.remotePort: remotePort = value.number().map(UInt16.init(bigEndian:))
                case Attribute.backup: isBackup = value.number(UInt8.self).map { $0 != 0 }
                case Attribute.error: error = value.number(UInt8.self).map(Int32.init)
                case Attribute.flags: flags = value.number() ?? 0
                case Attribute.isServer: isMarkedServer = value.number(UInt8.self) ?? 0 != 0
                case Attribute.interface:
                    // 32 bits with a sign, of which no interface has any use.
                    interface = value.number(Int32.self).flatMap { $0 > 0 ? InterfaceIndex($0) : nil }
                case Attribute.resetReason:
                    reset = value.number(UInt32.self).map { ResetReason(code: UInt8(truncatingIfNeeded: $0)) }
                case Attribute.resetFlags: isTransient = value.number(UInt32.self) ?? 0 & 1 != 0
                default: break
                }
            }
        }

        var isServer: Bool { isMarkedServer || flags & PathManagerEventAttribute.serverSide != 0 }
        var deniesJoinToFirst: Bool { flags & PathManagerEventAttribute.deniesJoinToFirst != 0 }

        var local: IPEndpoint? {
            guard let localAddress, let localPort else { return nil }
            return IPEndpoint(localAddress, port: localPort)
        }

        var subflow: SubflowFacts? {
            guard let local, let remoteAddress, let remotePort else { return nil }
            return SubflowFacts(
                local: local, remote: IPEndpoint(remoteAddress, port: remotePort), localID: localID,
                remoteID: remoteID, isBackup: isBackup, interface: interface)
        }

        var end: SubflowEnd { SubflowEnd(error: error, reset: reset, isTransient: isTransient) }
    }
}
