import Foundation
import PathCore
import Testing

@testable import LinuxNet

/// Datagrams that a 6.18 kernel sent. Each stands behind its length, 32 bits little-endian.
struct Recording {
    let datagrams: [[UInt8]]

    /// - Parameter name: `rtnetlink`, recorded while links, addresses and routes of many kinds were made, changed
    ///   and removed, with dumps of the tables in between; `rules-nexthops`, while
    ///   rules and nexthops were; or `mptcp-events`.
    init(_ name: String = "rtnetlink") throws {
        let file = Bundle.module.url(forResource: name, withExtension: "bin", subdirectory: "Fixtures")
        let bytes = [UInt8](try Data(contentsOf: try #require(file)))
        var datagrams: [[UInt8]] = []
        var position = 0
        while position + 4 <= bytes.count {
            let length = bytes[position..<position + 4].reversed().reduce(0) { $0 << 8 | Int($1) }
            datagrams.append(Array(bytes[position + 4..<position + 4 + length]))
            position += 4 + length
        }
        self.datagrams = datagrams
    }

    /// What rtnetlink sends, of every kind that is read.
    static func everyKind() throws -> [[UInt8]] {
        try Recording().datagrams + Recording("rules-nexthops").datagrams
    }
}
