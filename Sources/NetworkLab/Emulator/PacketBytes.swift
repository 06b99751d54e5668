// Reading and changing packets where they lie. What is cut short is no TCP, no UDP: it passes untouched.

import PathCore

/// A frame's IP packet and what it carries, by their places in the frame.
struct PacketBytes {
    enum Carried: Sendable, Hashable {
        case tcp
        case udp
        case echo
    }

    static let ethernetHeader = 14
    static let tcpProtocol: UInt8 = 6
    static let udpProtocol: UInt8 = 17

    let bytes: UnsafeMutableRawBufferPointer
    let family: IPAddress.Family
    /// Where the TCP, UDP or ICMP header begins.
    let transport: Int
    let carried: Carried

    /// - Returns: nil for what is none of these, and for fragments after the first.
    init?(_ frame: UnsafeMutableRawBufferPointer) {
        let start = Self.ethernetHeader
        guard frame.count >= start + 20 else { return nil }
        bytes = frame
        let kind: UInt8
        switch frame.word(at: 12) {
        case 0x0800:
            let header = Int(frame[start] & 0x0F) * 4
            guard header >= 20, frame.word(at: start + 6) & 0x1FFF == 0 else { return nil }
            (family, transport, kind) = (.ipv4, start + header, frame[start + 9])
        case 0x86DD:
            (family, transport, kind) = (.ipv6, start + 40, frame[start + 6])
        default: return nil
        }
        switch kind {
        case Self.tcpProtocol:
            guard frame.count >= transport + 20 else { return nil }
            carried = .tcp
            guard tcpHeaderLength >= 20, frame.count >= transport + tcpHeaderLength else { return nil }
        case Self.udpProtocol:
            guard frame.count >= transport + 8 else { return nil }
            carried = .udp
        case 1:
            guard family == .ipv4, frame.count >= transport + 8, [0, 8].contains(frame[transport]) else {
                return nil
            }
            carried = .echo
        default: return nil
        }
    }

    /// ARP, and IPv6's neighbour and router discovery (RFC 4861): what finds the other end of the wire.
    static func findsNeighbours(_ frame: UnsafeRawBufferPointer) -> Bool {
        guard frame.count >= 14 else { return false }
        let type = UInt16(frame[12]) << 8 | UInt16(frame[13])
        if type == 0x0806 { return true }
        return type == 0x86DD && frame.count > 54 && frame[20] == 58 && (133...137).contains(frame[54])
    }

    private var tcpHeaderLength: Int { Int(bytes[transport + 12] >> 4) * 4 }

    private var tcpFlags: UInt8 { bytes[transport + 13] }

    /// The handshake's first packet.
    var isFirstSYN: Bool { carried == .tcp && tcpFlags & 0x12 == 0x02 }

    var isSYN: Bool { carried == .tcp && tcpFlags & 0x02 != 0 }

    // MARK: MPTCP

    private static let mptcpOption: UInt8 = 30
    private static let joinSubtype: UInt8 = 1

    /// The MPTCP options' places (RFC 8684 section 3).
    private var mptcpOptions: [Range<Int>] {
        guard carried == .tcp else { return [] }
        var found: [Range<Int>] = []
        var place = transport + 20
        let end = transport + tcpHeaderLength
        while place < end {
            switch bytes[place] {
            case 0: return found
            case 1: place += 1
            default:
                guard place + 1 < end else { return found }
                let length = Int(bytes[place + 1])
                guard length >= 2, place + length <= end else { return found }
                if bytes[place] == Self.mptcpOption { found.append(place..<place + length) }
                place += length
            }
        }
        return found
    }

    var carriesMPTCP: Bool { !mptcpOptions.isEmpty }

    var joinsMPTCP: Bool {
        mptcpOptions.contains { $0.count >= 3 && bytes[$0.lowerBound + 2] >> 4 == Self.joinSubtype }
    }

    /// Puts no-operations in the options' place.
    func stripMPTCP() {
        let options = mptcpOptions
        guard !options.isEmpty else { return }
        change(transport..<transport + tcpHeaderLength, checksums: [transport + 16]) {
            for option in options {
                for place in option { bytes[place] = 1 }
            }
        }
    }

    // MARK: Addresses and ports

    var source: UInt32 { bytes.long(at: Self.ethernetHeader + 12) }
    var destination: UInt32 { bytes.long(at: Self.ethernetHeader + 16) }

    /// The port, or an echo's identifier.
    var sourcePort: UInt16 { bytes.word(at: carried == .echo ? transport + 4 : transport) }
    var destinationPort: UInt16 { bytes.word(at: carried == .echo ? transport + 4 : transport + 2) }

    /// Rewrites where an IPv4 packet comes from.
    func setSource(_ address: UInt32, port: UInt16) { rewrite(address, 12, port, transport) }

    /// Rewrites where an IPv4 packet goes to.
    func setDestination(_ address: UInt32, port: UInt16) { rewrite(address, 16, port, transport + 2) }

    private func rewrite(_ address: UInt32, _ offset: Int, _ port: UInt16, _ portPlace: Int) {
        let place = Self.ethernetHeader + offset
        var checksums = [Self.ethernetHeader + 10]
        switch carried {
        case .tcp: checksums.append(transport + 16)
        // No checksum was made, so none is to be kept right.
        case .udp: if bytes.word(at: transport + 6) != 0 { checksums.append(transport + 6) }
        case .echo: break
        }
        change(place..<place + 4, checksums: checksums) { bytes.setLong(address, at: place) }
        let portsPlace = carried == .echo ? transport + 4 : portPlace
        let portChecksums = carried == .echo ? [transport + 2] : Array(checksums.dropFirst())
        change(portsPlace..<portsPlace + 2, checksums: portChecksums) { bytes.setWord(port, at: portsPlace) }
    }

    /// Changes bytes, and checksums by the difference (RFC 1624): a packet whose checksum was wrong before
    /// keeps a wrong one.
    private func change(_ range: Range<Int>, checksums: [Int], _ body: () -> Void) {
        let places = range.lowerBound..<range.upperBound
        let old = checksums.map { bytes.word(at: $0) }
        let before = sum(places)
        body()
        let after = sum(places)
        for (place, checksum) in zip(checksums, old) {
            // The checksum itself may stand in the range; it is on both sides then and falls out.
            var value = UInt32(~checksum) + UInt32(~before) + UInt32(after)
            while value > 0xFFFF { value = (value & 0xFFFF) + (value >> 16) }
            bytes.setWord(~UInt16(value), at: place)
        }
    }

    private func sum(_ range: Range<Int>) -> UInt16 {
        var value: UInt32 = 0
        for place in stride(from: range.lowerBound, to: range.upperBound, by: 2) {
            value += UInt32(bytes.word(at: place))
        }
        while value > 0xFFFF { value = (value & 0xFFFF) + (value >> 16) }
        return UInt16(value)
    }
}

extension UnsafeMutableRawBufferPointer {
    /// Two bytes in network order.
    func word(at place: Int) -> UInt16 { UInt16(self[place]) << 8 | UInt16(self[place + 1]) }

    func setWord(_ value: UInt16, at place: Int) {
        self[place] = UInt8(value >> 8)
        self[place + 1] = UInt8(truncatingIfNeeded: value)
    }

    func long(at place: Int) -> UInt32 { UInt32(word(at: place)) << 16 | UInt32(word(at: place + 2)) }

    func setLong(_ value: UInt32, at place: Int) {
        setWord(UInt16(value >> 16), at: place)
        setWord(UInt16(truncatingIfNeeded: value), at: place + 2)
    }
}
