import Foundation
import LabNet
import TestSupport
import Testing

@testable import LinuxNet

/// A message bus that says what a test wants said, true or not. It listens under an abstract name.
final class FakeBus: Sendable {
    struct Answer: Sendable {
        var signature: String
        var body: [UInt8]
        /// An error's name instead of an answer.
        var error: String?

        init(_ signature: String, _ write: (inout BusWriter) -> Void) {
            self.signature = signature
            var writer = BusWriter()
            write(&writer)
            body = writer.bytes
        }

        static func error(_ name: String) -> Answer {
            var answer = Answer("") { _ in }
            answer.error = name
            return answer
        }

        /// What GetManagedObjects has to say of these objects.
        static func objects(
            _ objects: [(path: String, interfaces: [(String, BusWriter.Properties)])]
        ) -> Answer {
            Answer("a{oa{sa{sv}}}") { writer in
                writer.dictionary(
                    objects.map { object in (object.path, { $0.interfaces(object.interfaces) }) })
            }
        }
    }

    private struct State {
        /// How readings are answered, in turn; the last one again and again. None: never.
        var answers: [Answer]
        var connections = 0
        var readings = 0
        var client: CInt?
        var serial: UInt32 = 0
    }

    /// NetworkManager's unique name.
    static let managerName = ":1.2"

    let address: String
    private let name = "multipath-test-\(UUID().uuidString)"
    private let listener: CInt
    private let state: Locked<State>

    /// - Parameter isSilent: it takes connections, and says nothing at all.
    init(_ answers: [Answer], isSilent: Bool = false) throws {
        address = "unix:abstract=\(name)"
        listener = try LocalSocket.listen(name).release()
        state = Locked(State(answers: answers))
        // The thread keeps only what it needs, so that the bus ends with its owner.
        Thread { [listener, state] in
            while true {
                let client = accept(listener, nil, nil)
                guard client >= 0 else { break }
                state.withLock { state in
                    state.connections += 1
                    state.client = client
                }
                if isSilent {
                    while Self.read(client, 1) != nil {}
                } else {
                    Self.serve(client, state)
                }
                state.withLock { state in
                    state.client = nil
                    close(client)
                }
            }
            close(listener)
        }.start()
    }

    deinit {
        disconnect()
        // Ends the wait for a client. The thread closes it: only then may its number be another socket's.
        shutdown(listener, Int32(SHUT_RDWR))
    }

    var connections: Int { state.withLock { $0.connections } }
    var readings: Int { state.withLock { $0.readings } }

    var isConnected: Bool { state.withLock { $0.client != nil } }

    func disconnect() {
        state.withLock { state in
            if let client = state.client { shutdown(client, Int32(SHUT_RDWR)) }
        }
    }

    /// Sends a signal from NetworkManager, or as the bus itself.
    func signal(
        _ path: String, _ member: String, of interface: String = "org.freedesktop.DBus.Properties",
        from sender: String = managerName, _ body: Answer
    ) {
        state.withLock { state in
            guard let client = state.client else { return }
            state.serial += 1
            let fields: [(UInt8, String, String)] = [
                (1, "o", path), (2, "s", interface), (3, "s", member), (7, "s", sender),
            ]
            Self.send(
                client,
                BusWriter.message(
                    type: 4, serial: state.serial, fields: fields, replyTo: nil, signature: body.signature,
                    body: body.body))
        }
    }

    private static func serve(_ client: CInt, _ state: Locked<State>) {
        guard read(client, 1) == [0] else { return }
        while let line = readLine(client) {
            if line == "BEGIN" { break }
            switch line {
            case "AUTH EXTERNAL": send(client, Array("DATA\r\n".utf8))
            case "NEGOTIATE_UNIX_FD": send(client, Array("ERROR\r\n".utf8))
            default: send(client, Array("OK 0123456789abcdef0123456789abcdef\r\n".utf8))
            }
        }
        while let (serial, member) = readCall(client) {
            state.withLock { state in
                let answer: Answer?
                switch member {
                case "Hello": answer = Answer("s") { $0.string(":1.1") }
                case "GetManagedObjects":
                    answer = state.answers.count > 1 ? state.answers.removeFirst() : state.answers.first
                    state.readings += 1
                default: answer = Answer("") { _ in }
                }
                guard let answer else { return }
                state.serial += 1
                // An error says that the bus knows no such name; what NetworkManager answers comes from its unique name.
                let sender =
                    member == "GetManagedObjects" && answer.error == nil
                    ? managerName : "org.freedesktop.DBus"
                let fields: [(UInt8, String, String)] =
                    [(7, "s", sender)] + (answer.error.map { [(4, "s", $0)] } ?? [])
                send(
                    client,
                    BusWriter.message(
                        type: answer.error == nil ? 2 : 3, serial: state.serial, fields: fields,
                        replyTo: serial,
                        signature: answer.signature, body: answer.body))
            }
        }
    }

    /// A call's serial number and its method's name.
    private static func readCall(_ client: CInt) -> (UInt32, String)? {
        guard let fixed = read(client, 16) else { return nil }
        func number(_ bytes: some Collection<UInt8>) -> Int {
            bytes.reversed().reduce(0) { $0 << 8 | Int($1) }
        }
        let (body, serial, fields) = (number(fixed[4..<8]), number(fixed[8..<12]), number(fixed[12..<16]))
        guard let header = read(client, (fields + 7) / 8 * 8), read(client, body) != nil else { return nil }
        var position = 0
        var member = ""
        while position < fields {
            position = (position + 7) / 8 * 8
            let code = header[position]
            // Every field here is a string, a path, a signature or a number.
            let type = header[position + 2]
            position += 4
            var length = 4
            if type == UInt8(ascii: "g") {
                length = Int(header[position]) + 2
            } else if type != UInt8(ascii: "u") {
                let count = number(header[position..<position + 4])
                if code == 3 {
                    member = String(decoding: header[position + 4..<position + 4 + count], as: UTF8.self)
                }
                length = 4 + count + 1
            }
            position += length
        }
        return (UInt32(serial), member)
    }

    private static func readLine(_ client: CInt) -> String? {
        var line: [UInt8] = []
        while !line.ends(with: "\r\n".utf8) {
            guard let next = read(client, 1) else { return nil }
            line += next
        }
        return String(decoding: line.dropLast(2), as: UTF8.self)
    }

    private static func read(_ client: CInt, _ count: Int) -> [UInt8]? {
        var bytes = [UInt8](repeating: 0, count: count)
        return count == 0 || recv(client, &bytes, count, Int32(MSG_WAITALL)) == count ? bytes : nil
    }

    private static func send(_ client: CInt, _ bytes: [UInt8]) {
        _ = Foundation.send(client, bytes, bytes.count, Int32(MSG_NOSIGNAL))
    }
}

extension Array where Element == UInt8 {
    fileprivate func ends(with suffix: some Collection<UInt8>) -> Bool {
        Array(self.suffix(suffix.count)) == Array(suffix)
    }
}

extension FakeBus.Answer: CustomTestStringConvertible {
    var testDescription: String { error ?? "\(body.count) bytes as '\(signature)'" }
}
