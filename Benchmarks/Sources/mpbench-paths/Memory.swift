import Glibc

enum Memory {
    /// VmRSS of this process.
    static var residentKiB: Int {
        guard let file = fopen("/proc/self/status", "r") else { return 0 }
        defer { fclose(file) }
        var line = [CChar](repeating: 0, count: 256)
        while fgets(&line, 256, file) != nil {
            let text = String(decoding: line.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
            if text.hasPrefix("VmRSS:") {
                return text.split(separator: " ").dropFirst().first.flatMap { Int($0) } ?? 0
            }
        }
        return 0
    }
}
