import Glibc

/// Datagrams that a kernel sent: the tests' own recordings. Each stands behind its length, 32 bits little-endian.
enum Recording {
    /// - Parameter name: a file of Tests/LinuxNetTests/Fixtures, without its ending.
    static func datagrams(_ name: String) -> [[UInt8]] {
        let root = #filePath.split(separator: "/").dropLast(5).joined(separator: "/")
        let bytes = contents(of: "/\(root)/Tests/LinuxNetTests/Fixtures/\(name).bin")
        var datagrams: [[UInt8]] = []
        var position = 0
        while position + 4 <= bytes.count {
            let length = bytes[position..<position + 4].reversed().reduce(0) { $0 << 8 | Int($1) }
            datagrams.append(Array(bytes[position + 4..<position + 4 + length]))
            position += 4 + length
        }
        precondition(!datagrams.isEmpty, "the recording \(name) is missing")
        return datagrams
    }

    private static func contents(of path: String) -> [UInt8] {
        guard let file = fopen(path, "r") else { return [] }
        defer { fclose(file) }
        var bytes: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: 65536)
        while case let count = fread(&buffer, 1, buffer.count, file), count > 0 {
            bytes += buffer.prefix(count)
        }
        return bytes
    }
}
