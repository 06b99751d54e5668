import Glibc

/// The time of day, for what is written down elsewhere by it: certificates' dates.
package enum WallClock {
    package static var secondsSince1970: Int64 { Int64(time(nil)) }
}
