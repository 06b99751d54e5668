// libFuzzer's entry. One program has all targets; `FUZZ_TARGET` names the one to run, so that one build serves all.

import Glibc
import PathCore

@testable import LinuxNet
@testable import NetworkLab
@testable import PathBroker

private let targets: [String: @Sendable (UnsafeRawBufferPointer) -> Void] = [
    "rtnetlink": { routes(Array($0)) },
    "genetlink": { genericMessages($0) },
    "dbus": { busMessages($0) },
    "recordings": { recordings(Array($0)) },
    "settings": { settings(String(decoding: $0, as: UTF8.self)) },
    "leases": { _ = LeaseHint(networkdLease: String(decoding: $0, as: UTF8.self)) },
    "resolver": { _ = ResolverText(parsing: String(decoding: $0, as: UTF8.self)).nameServers },
    "https": { httpsRecords($0) },
    "control": { labWords(String(decoding: $0, as: UTF8.self)) },
    "addresses": { addresses($0) },
    "broker": { brokerPackets(Array($0)) },
]

private let target: @Sendable (UnsafeRawBufferPointer) -> Void = {
    let name = ProcessEnvironment.value("FUZZ_TARGET") ?? ""
    guard let target = targets[name] else {
        print("FUZZ_TARGET is none of \(targets.keys.sorted().joined(separator: " "))")
        exit(2)
    }
    return target
}()

@_cdecl("LLVMFuzzerTestOneInput")
public func fuzzOneInput(_ start: UnsafePointer<UInt8>, _ count: Int) -> CInt {
    target(UnsafeRawBufferPointer(start: start, count: count))
    return 0
}

// MARK: Netlink

/// As a notification, and as a table; what comes out goes through the reducer.
private func routes(_ bytes: [UInt8]) {
    var decoder = RouteDecoder()
    var reducer = SnapshotReducer(overrides: InterfaceOverrides())
    for event in decoder.events(copying: bytes) { _ = reducer.apply(event) }
    let table = decoder.table(in: bytes)
    reducer.replaceLinks(table.links)
    reducer.replaceAddresses(table.addresses)
    _ = reducer.snapshot()
    aligned(bytes) { datagram in
        _ = try? NetlinkMessage.forEach(in: datagram) { message throws(SystemError) in
            if case .defaultRoute(let routes)? = decoder.fact(in: message) {
                reducer.replaceRoutes(routes, reach: InternetReach())
            }
        }
    }
    _ = reducer.snapshot()
}

/// As events of the path manager, endpoints, and nl80211's answers.
private func genericMessages(_ bytes: UnsafeRawBufferPointer) {
    aligned(Array(bytes)) { datagram in
        _ = try? NetlinkMessage.forEach(in: datagram) { message throws(SystemError) in
            guard let message = GenericMessage(message) else { return }
            _ = SubflowEventDecoder.event(message)
            _ = PathManagerEndpoint(message)
            _ = WirelessDecoder.interface(message)
            _ = WirelessDecoder.station(message)
            _ = WirelessDecoder.mayChangeFacts(message)
        }
    }
}

private func aligned(_ bytes: [UInt8], _ body: (UnsafeRawBufferPointer) -> Void) {
    let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: bytes.count, alignment: 16)
    defer { buffer.deallocate() }
    buffer.copyBytes(from: bytes)
    body(UnsafeRawBufferPointer(buffer))
}

// MARK: The broker

/// As a client's request and as a daemon's message.
private func brokerPackets(_ bytes: [UInt8]) {
    if case .success(let request) = BrokerRequest.read(bytes).1 { _ = request.packet(id: 1) }
    if let message = BrokerMessage(bytes) { _ = message.packet }
}

// MARK: Recordings

/// As a file; and as records of any kind, for no fuzzer finds a checksum by chance: a byte for the kind, two for the
/// length, the payload.
private func recordings(_ bytes: [UInt8]) {
    replay(bytes)
    var file = PathRecord.header
    var rest = bytes[...]
    while let kind = rest.popFirst() {
        let kinds = PathRecord.Kind.allCases
        let length = min(rest.count, Int(rest.popFirst() ?? 0) | Int(rest.popFirst() ?? 0) << 8)
        file += PathRecord(kinds[Int(kind) % kinds.count], at: .zero, Array(rest.prefix(length))).bytes
        rest = rest.dropFirst(length)
    }
    replay(file)
}

/// Reads each record with what a replay reads it with.
private func replay(_ file: [UInt8]) {
    do throws(RecordingError) {
        var reader = try PathRecord.Reader(file)
        var reducer = SnapshotReducer(overrides: InterfaceOverrides())
        var decoder = RouteDecoder()
        while let record = try reader.next() {
            switch record.kind {
            case .overrides: reducer = SnapshotReducer(overrides: try InterfaceOverrides(record))
            case .hints: reducer.hints = try InterfaceHints(record)
            case .device: _ = try LinkFact.Device.read(record)
            case .notification:
                for event in decoder.events(copying: record.payload) { _ = reducer.apply(event) }
            case .links: reducer.replaceLinks(decoder.table(in: record.payload).links)
            case .addresses: reducer.replaceAddresses(decoder.table(in: record.payload).addresses)
            case .routes:
                let routes = try RecordedRoutes(record)
                reducer.replaceRoutes(routes.defaults, reach: routes.reach)
            case .taken, .told: _ = reducer.snapshot()
            }
        }
    } catch {
        _ = error.description
    }
}

// MARK: DNS

/// As a message of DNS; and as the parameters of one record, which no fuzzer finds behind a whole message.
private func httpsRecords(_ bytes: UnsafeRawBufferPointer) {
    if let read = ServiceMessage.read(bytes) {
        precondition(read.records.count <= ServiceMessage.mostRecords)
        for record in read.records { precondition(record.addressHints.count <= ServiceRecord.mostHints) }
    }
    _ = ServiceRecord(priority: 1, target: ".", parameters: bytes)
}

// MARK: Texts

/// What is written as settings reads back the same.
private func settings(_ text: String) {
    let (read, problems) = PathSettings.parse(text)
    _ = problems.map { "\($0)" }
    precondition(PathSettings.parse(read.lines.joined(separator: "\n")).settings == read)
    _ = try? InterfaceOverrides.parse(text)
}

/// What a lab is told, and scenarios. A trace's name would have the machine's files read.
private func labWords(_ text: String) {
    guard !text.contains("trace") else { return }
    if let change = try? ConditionChange(parsing: text) { _ = change.applied(to: LinkConditions()).text }
    _ = try? LinkAction(parsing: text)
    _ = try? Scenario(parsing: text, name: "fuzz")
    _ = try? CongestionPlan(parsing: text)
}

/// What DNS answers as this library sees it: lists of addresses; and the words for addresses.
private func addresses(_ bytes: UnsafeRawBufferPointer) {
    let found = stride(from: 0, to: bytes.count - bytes.count % 16, by: 16).compactMap {
        UnsafeRawBufferPointer(rebasing: bytes[$0..<$0 + 16]).ipAddress()
    }
    let prefix = NAT64Prefix(discoveredIn: found)
    for address in found {
        precondition(IPAddress("\(address)") == address)
        _ = address.asDestination
        if let ipv4 = IPAddress("192.0.2.1") { _ = prefix?.synthesized(ipv4) }
    }
    let text = String(decoding: bytes, as: UTF8.self)
    if let address = IPAddress(text) { precondition(IPAddress("\(address)") == address) }
    _ = try? HostPort(parsing: text)
    _ = SafeText.line(text)
}
