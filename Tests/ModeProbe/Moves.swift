import Glibc
import LabNet
import LinuxNet
import Multipath

/// Has a connection leave its path again and again, as fast as it follows.
struct Moves: Sendable {
    enum Cause: String {
        /// The path that carries becomes expensive, and is only demoted.
        case expensive
        /// The path that carries is not allowed any more, and is given up.
        case constrained
        /// Wi-Fi gets another address.
        case address
    }

    static let paths: [PathID] = ["wlan0", "wwan0"]
    /// What a connection that follows at all needs for one.
    static let patience = Duration.seconds(10)

    var count: Int
    var cause: Cause

    /// - Returns: what there is to tell, a fact a line.
    func run(_ conversation: Conversation) async throws -> [String] {
        let warmed = max(count / 10, 1)
        var before = Resources()
        var (late, slowest) = (0, Duration.zero)
        for number in 0..<count {
            if number == warmed { before = Resources() }
            let begun = MonotonicTime.now
            let seen = conversation.seen
            try provoke(number)
            while !isFollowed(number, since: seen, conversation.seen) {
                guard begun.duration(to: .now) < Self.patience, !conversation.isOver else {
                    late += 1
                    break
                }
                try? await Task.sleep(for: .milliseconds(1))
            }
            if conversation.isOver { break }
            slowest = max(slowest, begun.duration(to: .now))
        }
        // The last move's own descriptors may be open still; one that is kept stays.
        var after = Resources()
        for _ in 0..<50 where after.descriptors > before.descriptors {
            try? await Task.sleep(for: .milliseconds(20))
            after = Resources()
        }
        return [
            "late \(late)", "slowest \(slowest.wholeNanoseconds / 1_000_000)",
            "descriptors \(before.descriptors) \(after.descriptors)",
            "resident \(before.resident) \(after.resident)",
        ]
    }

    private func provoke(_ number: Int) throws {
        if cause == .address { return try renumber(number) }
        guard let path = SettingsFile.standardPath() else { return }
        // First away from the first. What cellular costs is not asked for here.
        let isFirst = number.isMultiple(of: 2)
        let text =
            (isFirst || cause == .constrained ? "expensive no \(Self.paths[1])\n" : "")
            + "\(cause.rawValue) yes \(Self.paths[isFirst ? 0 : 1])\n"
        try SettingsFile(path).update { _ in text }
    }

    private func isFollowed(_ number: Int, since old: Conversation.Seen, _ new: Conversation.Seen) -> Bool {
        if cause == .address {
            return new.joins[Self.paths[0], default: 0] > old.joins[Self.paths[0], default: 0]
        }
        return new.carrier == Self.paths[1 - number % 2]
    }

    /// IPv6 alone has addresses enough in a lab: each is another one to the kernel, whose ids have 8 bits.
    private func renumber(_ number: Int) throws {
        let control = try NetworkControl()
        let index = try NetworkControl.index(of: Self.paths[0].name)
        func address(_ number: Int) -> IPAddress {
            IPAddress(ipv6: 0x2001_0DB8_0001_0000, number == 0 ? 2 : UInt64(0x1000 + number))
        }
        try control.removeAddress(address(number), prefix: 64, from: index)
        try control.addAddress(address(number + 1), prefix: 64, to: index)
    }

    /// What this process holds.
    private struct Resources {
        var descriptors = (0..<CInt(1024)).count { fcntl($0, F_GETFD) >= 0 }
        /// In KiB.
        var resident = 0

        init() {
            guard let file = fopen("/proc/self/statm", "r") else { return }
            defer { fclose(file) }
            var buffer = [CChar](repeating: 0, count: 256)
            guard fgets(&buffer, 256, file) != nil else { return }
            let words = String(decoding: buffer.prefix { $0 != 0 }.map(UInt8.init), as: UTF8.self)
                .split(separator: " ")
            resident = words.count > 1 ? (Int(words[1]) ?? 0) * sysconf(CInt(_SC_PAGESIZE)) / 1024 : 0
        }
    }
}
