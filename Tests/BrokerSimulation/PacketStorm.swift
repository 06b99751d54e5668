import PathBroker
import PathCore

/// Damaged packets, for the readers at both ends.
public enum PacketStorm {
    /// - Returns: how many of the packets were requests.
    public static func run(count: Int, seed: UInt64) -> Int {
        var random = WorldRandom(seed: seed)
        let local = SubflowAction.LocalAddress(IPAddress(ipv4: 0xC000_0202), id: 3, interface: 2)
        let remote = IPEndpoint(IPAddress(ipv6: 0x2001_0DB8_0000_0000, 1), port: 443)
        let token = ConnectionToken(0xDEAD_BEEF)
        let facts = SubflowFacts(
            local: remote, remote: remote, localID: 1, remoteID: 2, isBackup: true, interface: 3)
        let requests: [BrokerRequest] = [
            .hello, .prepare, .prepareBy(MonotonicTime(nanoseconds: 1 << 50)), .attach(token), .detach(token),
            .status,
            .order(.create(local, isBackup: true, remote: IPEndpoint(local.address, port: 1)), token),
            .order(.destroy(local: remote, remote: remote), token), .order(.withdraw(local), token),
            .order(.prioritize(local: remote, remote: remote, isBackup: false), token),
            .order(.announce(local), token),
            .order(.reset(local: remote, remote: remote, interface: 3), token),
        ]
        let messages: [BrokerMessage] = [
            .done(id: 1), .refused(id: 2, BrokerFailure(.kernel, errno: 22, detail: "no\n\"\u{1B}")),
            .welcome(id: 3, BrokerWelcome(namespace: 4, boot: "b", limits: BrokerLimits())),
            .status(id: 4, BrokerStatus()), .event(.closed(token)), .event(.lost),
            .event(.established(token, facts, isServer: false, deniesJoinToFirst: true)),
            .event(.announced(token, remoteID: 1, remote)), .event(.removed(token, remoteID: 1)),
            .event(.subflowEstablished(token, facts, error: nil)),
            .event(
                .subflowClosed(token, facts, SubflowEnd(error: 110, reset: .prohibited, isTransient: true))),
            .event(.subflowPriority(token, facts)),
        ]
        let packets = requests.map { $0.packet(id: 7) } + messages.map(\.packet)
        var understood = 0
        for number in 0..<count {
            var bytes = packets[number % packets.count]
            for _ in 0..<random.below(4) { damage(&bytes, &random, packets) }
            if case .success = BrokerRequest.read(bytes).1 { understood += 1 }
            _ = BrokerMessage(bytes)
        }
        return understood
    }

    private static let pieces = [
        "1e999", "-0", "18446744073709551616", "null", "true", "[[[[[[[[[[[[[[[[[[", "\\u0000", "\\ud800",
        "{}", "1.5",
        "\"", "4294967296", "::ffff:1.2.3.4", "-1",
    ].map { Array($0.utf8) }

    private static func damage(_ bytes: inout [UInt8], _ random: inout WorldRandom, _ packets: [[UInt8]]) {
        let place = random.below(bytes.count + 1)
        switch random.below(6) {
        case 0: bytes = Array(bytes.prefix(place))
        case 1: if place < bytes.count { bytes[place] = UInt8(truncatingIfNeeded: random.next()) }
        case 2: if place < bytes.count { bytes.remove(at: place) }
        case 3: bytes.insert(contentsOf: pieces[random.below(pieces.count)], at: place)
        case 4:
            bytes.replaceSubrange(
                place..., with: packets[random.below(packets.count)].suffix(random.below(60)))
        default:
            let end = min(bytes.count, place + random.below(8))
            bytes.replaceSubrange(place..<end, with: pieces[random.below(pieces.count)])
        }
    }
}
