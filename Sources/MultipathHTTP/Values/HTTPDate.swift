#if HTTP
    /// Dates as servers write them.
    enum HTTPDate {
        private static let months = [
            "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec",
        ]

        /// Seconds since 1970 of `Sun, 06 Nov 1994 08:49:37 GMT` (RFC 9110 section 5.6.7), with hyphens as cookies have them
        /// too; nil for every other form.
        static func seconds(_ text: String) -> Int64? {
            guard
                let match = text.wholeMatch(
                    of: #/[A-Z][a-z]{2}, (\d{2})[ -]([A-Z][a-z]{2})[ -](\d{4}) (\d{2}):(\d{2}):(\d{2}) GMT/#),
                let month = months.firstIndex(where: { $0 == match.2 }), let day = Int64(match.1),
                let year = Int64(match.3), let hour = Int64(match.4), let minute = Int64(match.5),
                let second = Int64(match.6), (1...31).contains(day), hour < 24, minute < 60, second < 61
            else { return nil }
            // Counted from the first of March, so that a leap day is a year's last.
            let shifted = Int64(month) >= 2 ? Int64(month) - 2 : Int64(month) + 10
            let years = Int64(month) >= 2 ? year : year - 1
            let days = years * 365 + years / 4 - years / 100 + years / 400 + (shifted * 153 + 2) / 5 + day
            let epoch: Int64 = 719_469
            return (days - epoch) * 86_400 + hour * 3_600 + minute * 60 + second
        }
    }
#endif
