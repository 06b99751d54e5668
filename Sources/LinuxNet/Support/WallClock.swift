import Glibc

/// The time of day, for what is written down elsewhere by it: certificates' dates.
package enum WallClock {
    package static var secondsSince1970: Int64 { Int64(time(nil)) }

    /// The time of day where the user is: `14:03:22`.
    package static var text: String {
        var seconds = time(nil)
        var parts = tm()
        guard localtime_r(&seconds, &parts) != nil else { return "--:--:--" }
        return [parts.tm_hour, parts.tm_min, parts.tm_sec].map { $0 < 10 ? "0\($0)" : "\($0)" }
            .joined(separator: ":")
    }
}
