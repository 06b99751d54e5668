import Glibc

/// A date as HTTP writes it (RFC 9110 section 5.6.7): `Sun, 06 Nov 1994 08:49:37 GMT`.
enum HTTPTime {
    private static let months = [
        "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec",
    ]

    private static let weekdays = ["Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"]

    /// - Parameter seconds: since 1970.
    static func text(_ seconds: Int64) -> String {
        var (time, calendar) = (time_t(seconds), tm())
        gmtime_r(&time, &calendar)
        func digits(_ number: CInt) -> String { number < 10 ? "0\(number)" : "\(number)" }
        let date = "\(digits(calendar.tm_mday)) \(months[Int(calendar.tm_mon)]) \(1900 + calendar.tm_year)"
        let clock = "\(digits(calendar.tm_hour)):\(digits(calendar.tm_min)):\(digits(calendar.tm_sec))"
        return "\(weekdays[Int(calendar.tm_wday)]), \(date) \(clock) GMT"
    }

    /// Seconds since 1970; nil for what is no such date, or none that a file may have.
    static func seconds(_ text: String) -> Int64? {
        let words = text.split(separator: " ")
        guard words.count == 6, words[5] == "GMT", let day = Int64(words[1]), (1...31).contains(day),
            let month = months.firstIndex(of: String(words[2])), let year = Int64(words[3]),
            (1970...9999).contains(year)
        else { return nil }
        let time = words[4].split(separator: ":").compactMap { Int64($0) }
        guard time.count == 3, (0..<24).contains(time[0]), (0..<60).contains(time[1]),
            (0...60).contains(time[2])
        else { return nil }
        // Days since 1970 of the proleptic Gregorian calendar, with the year beginning in March.
        let shifted = month < 2 ? year - 1 : year
        let dayOfYear = (153 * Int64((month + 10) % 12) + 2) / 5 + day - 1
        let (era, yearOfEra) = (shifted / 400, shifted % 400)
        let days = era * 146_097 + yearOfEra * 365 + yearOfEra / 4 - yearOfEra / 100 + dayOfYear - 719_468
        return days * 86_400 + time[0] * 3_600 + time[1] * 60 + time[2]
    }
}
