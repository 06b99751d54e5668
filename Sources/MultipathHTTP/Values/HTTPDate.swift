#if HTTP
    /// Dates as servers write them.
    enum HTTPDate {
        private static let months = [
            "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec",
        ]

        /// `A` for an upper-case letter, `a` for a lower-case one, `0` for a digit, `-` for a hyphen or a space; all else is itself.
        private static let form = Array("Aaa, 00-Aaa-0000 00:00:00 GMT".utf8)

        private static func fits(_ character: UInt8, _ place: UInt8) -> Bool {
            switch place {
            case UInt8(ascii: "A"): (UInt8(ascii: "A")...UInt8(ascii: "Z")).contains(character)
            case UInt8(ascii: "a"): (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(character)
            case UInt8(ascii: "0"): (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(character)
            case UInt8(ascii: "-"): character == place || character == UInt8(ascii: " ")
            default: character == place
            }
        }

        /// Seconds since 1970 of `Sun, 06 Nov 1994 08:49:37 GMT` (RFC 9110 section 5.6.7), with hyphens as cookies have them
        /// too; nil for every other form.
        static func seconds(_ text: String) -> Int64? {
            let text = Array(text.utf8)
            guard text.count == form.count, zip(text, form).allSatisfy(fits) else { return nil }
            func number(_ place: Range<Int>) -> Int64 {
                text[place].reduce(0) { $0 * 10 + Int64($1 - UInt8(ascii: "0")) }
            }
            let (day, year) = (number(5..<7), number(12..<16))
            let (hour, minute, second) = (number(17..<19), number(20..<22), number(23..<25))
            guard let month = months.firstIndex(where: { $0.utf8.elementsEqual(text[8..<11]) }),
                (1...31).contains(day), hour < 24, minute < 60, second < 61
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
