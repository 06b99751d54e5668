import PathCore
import Testing

@testable import PathBroker

@Suite("The broker's protocol")
struct ProtocolTests {
    private static let token = ConnectionToken(0xDEAD_BEEF)
    private static let local = SubflowAction.LocalAddress(IPAddress("192.0.2.2")!, id: 3, interface: 2)
    private static let remote = IPEndpoint("203.0.113.1:443")!
    private static let remote6 = IPEndpoint("[2001:db8::1]:443")!

    private static let requests: [BrokerRequest] = [
        .hello, .prepare, .prepareBy(MonotonicTime(nanoseconds: 1 << 50)), .attach(token), .detach(token),
        .status,
        .order(.create(local, isBackup: true, remote: remote), token),
        .order(.withdraw(.init(IPAddress("2001:db8::2")!, id: 0)), token),
        .order(.destroy(local: remote6, remote: remote6), token),
        .order(.reset(local: remote6, remote: remote6, interface: 2), token),
        .order(.prioritize(local: remote, remote: remote, isBackup: false), token),
        .order(.announce(local), token),
    ]

    @Test("a request is read as it was written", arguments: requests)
    func readsRequests(_ request: BrokerRequest) {
        let packet = request.packet(id: .max)
        #expect(packet.count <= BrokerProtocol.longestRequest / 2)
        let (id, result) = BrokerRequest.read(packet)
        #expect(id == .max)
        #expect(result == .success(request))
    }

    private static let facts = SubflowFacts(
        local: remote, remote: remote6, localID: 0, remoteID: 255, isBackup: true, interface: 7)

    private static var status: BrokerStatus {
        var status = BrokerStatus()
        (status.clientCount, status.connectionCount, status.prepares) = (1, 2, 3)
        status.refusals = [.foreignToken: 4]
        status.drops = [.slowReader: 5]
        status.clients = [.init(process: 6, user: 7, connections: 8, prepares: 9, orders: 10, refusals: 11)]
        return status
    }

    @Test("the buffer of one client holds an event of each connection of its user")
    func eventsFit() {
        let address = "[2001:db8:1234:5678:9abc:def0:1234:5678]:54321"
        let facts = SubflowFacts(
            local: IPEndpoint(address)!, remote: IPEndpoint(address)!, localID: 255, remoteID: 255,
            isBackup: false, interface: .max)
        let end = SubflowEnd(error: 110, reset: .prohibited, isTransient: false)
        let event = BrokerMessage.event(.subflowClosed(ConnectionToken(.max), facts, end))
        // The kernel takes 1,280 bytes for a packet of 193 to 704.
        #expect((193...704).contains(event.packet.count), "\(event.packet.count)")
        let limits = BrokerLimits()
        #expect(limits.connectionsPerUser * 1_280 <= limits.unreadBytes)
    }

    @Test("a message is read as it was written")
    func readsMessages() {
        let end = SubflowEnd(error: 110, reset: .prohibited, isTransient: true)
        let messages: [BrokerMessage] = [
            .done(id: 1),
            .refused(id: 2, BrokerFailure(.kernel, errno: 22, detail: "a \"line\"\n\u{1B}[1m ü")),
            .welcome(id: 3, BrokerWelcome(namespace: 1 << 40, boot: "b-1", limits: BrokerLimits())),
            .status(id: 4, Self.status), .event(.lost), .event(.closed(Self.token)),
            .event(.created(Self.token, Self.facts, isServer: true, deniesJoinToFirst: false)),
            .event(.established(Self.token, Self.facts, isServer: false, deniesJoinToFirst: true)),
            .event(.announced(Self.token, remoteID: 1, Self.remote)),
            .event(.removed(Self.token, remoteID: 2)),
            .event(.subflowEstablished(Self.token, Self.facts, error: nil)),
            .event(.subflowClosed(Self.token, Self.facts, end)),
            .event(.subflowPriority(Self.token, Self.facts)),
        ]
        for message in messages { #expect(BrokerMessage(message.packet) == message) }
    }

    @Test(
        "what is no request has a name",
        arguments: [
            ("", BrokerRefusal.malformed), ("hello", .malformed), ("[]", .malformed), ("{}", .malformed),
            (#"{"v":1,"id":1}"#, .malformed), (#"{"v":1,"id":-1,"op":"hello"}"#, .malformed),
            (#"{"v":1,"id":1.5,"op":"hello"}"#, .malformed), (#"{"v":"1","id":1,"op":"hello"}"#, .malformed),
            (#"{"v":1,"id":1,"op":"hello"} x"#, .malformed), (#"{"v":2,"id":1,"op":"hello"}"#, .version),
            (#"{"v":1,"id":1,"op":"own"}"#, .unknownRequest), (#"{"v":1,"id":1,"op":"attach"}"#, .malformed),
            (#"{"v":1,"id":1,"op":"attach","token":1e99}"#, .malformed),
            (
                #"{"v":1,"id":1,"op":"create","token":1,"address":"192.0.2.2","address_id":256,"backup":true,"remote":"203.0.113.1:1"}"#,
                .malformed
            ),
            (
                #"{"v":1,"id":1,"op":"create","token":1,"address":"192.0.2.2","address_id":1,"backup":true,"remote":"[::1]:1"}"#,
                .malformed
            ),
            (
                #"{"v":1,"id":1,"op":"create","token":1,"address":"192.0.2.2","address_id":1,"interface":-3,"backup":true,"remote":"203.0.113.1:1"}"#,
                .malformed
            ),
        ])
    func refusesMalformed(_ text: String, _ refusal: BrokerRefusal) {
        #expect(BrokerRequest.read(Array(text.utf8)).1 == .failure(refusal))
    }

    @Test("a later version's members are ignored, and its reasons are the kernel's")
    func later() {
        let request = #"{"v":1,"id":1,"op":"hello","colour":[1,{"a":null}]}"#
        #expect(BrokerRequest.read(Array(request.utf8)).1 == .success(.hello))
        let message = #"{"id":1,"ok":false,"error":"bad_weather","text":"rain"}"#
        #expect(BrokerMessage(Array(message.utf8)) == .refused(id: 1, BrokerFailure(.kernel, detail: "rain")))
        #expect(BrokerMessage(Array(#"{"event":"sunrise","token":1}"#.utf8)) == nil)
    }
}
