// What a service says on one connection. Pure: bytes and the time in, bytes out.

import PathCore

protocol Conversation {
    /// - Returns: nothing is asked before this is true again: the peer is slow to read.
    mutating func receive(_ bytes: UnsafeRawBufferPointer, at now: MonotonicTime)
    /// The peer has said all it will.
    mutating func receiveEnd(at now: MonotonicTime)
    /// Appends what there is to send now, up to about `room` bytes.
    mutating func produce(_ room: Int, into output: inout [UInt8], at now: MonotonicTime)
    /// All has been said once the output is empty.
    var isDone: Bool { get }
    /// When there is more to say, if only time has to pass.
    var nextDeadline: MonotonicTime? { get }
}

extension Conversation {
    var nextDeadline: MonotonicTime? { nil }
}

/// Port 7 (RFC 862): what comes goes back.
struct EchoConversation: Conversation {
    private var waiting: [UInt8] = []
    private(set) var hasEnded = false

    var isDone: Bool { hasEnded && waiting.isEmpty }

    mutating func receive(_ bytes: UnsafeRawBufferPointer, at now: MonotonicTime) {
        waiting.append(contentsOf: bytes)
    }

    mutating func receiveEnd(at now: MonotonicTime) { hasEnded = true }

    mutating func produce(_ room: Int, into output: inout [UInt8], at now: MonotonicTime) {
        output += waiting
        waiting.removeAll(keepingCapacity: true)
    }
}

/// Port 9 (RFC 863 discards in silence; this one tells at the end what it took): `COUNT SHA256`.
struct SinkConversation: Conversation {
    private var hash = SHA256()
    private var count = 0
    private var answer: String?
    private(set) var isDone = false

    mutating func receive(_ bytes: UnsafeRawBufferPointer, at now: MonotonicTime) {
        hash.update(bytes)
        count += bytes.count
    }

    mutating func receiveEnd(at now: MonotonicTime) { answer = "\(count) \(hash.hexDigest())\n" }

    mutating func produce(_ room: Int, into output: inout [UInt8], at now: MonotonicTime) {
        guard let text = answer else { return }
        output += Array(text.utf8)
        answer = nil
        isDone = true
    }
}

/// The first line of a connection: a few numbers, or nothing.
struct RequestLine {
    private var bytes: [UInt8] = []
    /// Nil until the line is whole.
    private(set) var words: [String]?

    mutating func receive(_ new: UnsafeRawBufferPointer) {
        guard words == nil else { return }
        bytes.append(contentsOf: new)
        if bytes.contains(0x0A) || bytes.count > 256 { end() }
    }

    mutating func end() {
        guard words == nil else { return }
        let line = bytes.prefix { $0 != 0x0A && $0 != 0x0D }
        words = String(decoding: line, as: UTF8.self).split(separator: " ").map(String.init)
    }

    func number(_ position: Int) -> UInt64? {
        guard let words, position < words.count else { return nil }
        return UInt64(words[position])
    }
}

/// Port 19: a line `N [SEED]` asks for N bytes, an empty line or the end of the request for bytes without end.
struct SourceConversation: Conversation {
    private var request = RequestLine()
    private var sent: UInt64 = 0

    private var limit: UInt64 { request.number(0) ?? .max }

    var isDone: Bool { request.words != nil && sent >= limit }

    mutating func receive(_ bytes: UnsafeRawBufferPointer, at now: MonotonicTime) { request.receive(bytes) }

    mutating func receiveEnd(at now: MonotonicTime) { request.end() }

    mutating func produce(_ room: Int, into output: inout [UInt8], at now: MonotonicTime) {
        guard request.words != nil, sent < limit else { return }
        let count = Int(min(UInt64(room), limit - sent))
        output.appendSource(count, from: sent, seed: request.number(1) ?? SourceData.defaultSeed)
        sent += UInt64(count)
    }
}

/// Port 20: a line `N T [COUNT]` asks for N bytes every T milliseconds, COUNT times or without end; an empty
/// one for 1,250 bytes every 10 ms. What could not be sent in time is sent late, not left out.
struct PacedConversation: Conversation {
    private var request = RequestLine()
    private var begun: MonotonicTime?
    private var chunks: UInt64 = 0

    private var size: UInt64 { min(request.number(0) ?? 1250, 1_000_000) }
    private var interval: Duration { .milliseconds(Int(min(max(request.number(1) ?? 10, 1), 60_000))) }
    private var limit: UInt64 { request.number(2) ?? .max }

    var isDone: Bool { request.words != nil && chunks >= limit }

    var nextDeadline: MonotonicTime? {
        begun.map { $0.advanced(by: .nanoseconds(interval.wholeNanoseconds * Int64(chunks))) }
    }

    mutating func receive(_ bytes: UnsafeRawBufferPointer, at now: MonotonicTime) {
        request.receive(bytes)
        begin(now)
    }

    mutating func receiveEnd(at now: MonotonicTime) {
        request.end()
        begin(now)
    }

    private mutating func begin(_ now: MonotonicTime) {
        if begun == nil, request.words != nil { begun = now }
    }

    mutating func produce(_ room: Int, into output: inout [UInt8], at now: MonotonicTime) {
        var left = room
        while let next = nextDeadline, next <= now, chunks < limit, left > 0 {
            output.appendSource(Int(size), from: chunks * size, seed: SourceData.defaultSeed)
            chunks += 1
            left -= Int(size)
        }
    }
}

extension [UInt8] {
    /// Appends bytes of the source's stream.
    mutating func appendSource(_ count: Int, from offset: UInt64, seed: UInt64) {
        let old = self.count
        append(contentsOf: repeatElement(0, count: count))
        withUnsafeMutableBytes {
            SourceData.fill(UnsafeMutableRawBufferPointer(rebasing: $0[old...]), from: offset, seed: seed)
        }
    }
}
