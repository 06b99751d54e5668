import PathCore

/// What arrived of one stream, and when. Times are from the show's beginning.
struct Playback: Sendable {
    /// What a column's bytes came over.
    enum Carrier: Sendable, Hashable {
        case wifi, cellular
    }

    struct Column: Sendable {
        var bytes = 0
        var carrier: Carrier?
    }

    static let columnCount = 64
    static let length = Duration.seconds(4)
    static let column = length / columnCount
    /// When Wi-Fi fails.
    static let fault = Duration.seconds(1)

    private(set) var columns = [Column](repeating: Column(), count: columnCount)
    private(set) var bytes = 0
    private(set) var isAltered = false
    private(set) var isBroken = false
    private var last = Duration.zero
    /// The longest time without a byte since the fault.
    private(set) var pause = Duration.zero

    static func column(at time: Duration) -> Int? {
        guard time >= .zero, time < length else { return nil }
        return Int(time.wholeNanoseconds / column.wholeNanoseconds)
    }

    mutating func take(_ count: Int, isAsSent: Bool, at time: Duration) {
        bytes += count
        if !isAsSent { isAltered = true }
        endPause(at: time)
        if let index = Self.column(at: time) { columns[index].bytes += count }
    }

    mutating func noteCarrier(_ carrier: Carrier, at time: Duration) {
        if let index = Self.column(at: time) { columns[index].carrier = carrier }
    }

    mutating func breakOff() { isBroken = true }

    /// What the end cuts short counts too.
    mutating func finish() { endPause(at: Self.length) }

    private mutating func endPause(at time: Duration) {
        if time > Self.fault { pause = max(pause, time - last) }
        last = time
    }

    /// Whether nothing has come since the fault's pause began.
    var neverWentOn: Bool { pause > Self.length - Self.fault - .milliseconds(100) }
}
