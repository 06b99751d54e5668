extension Duration {
    /// Reads a duration as a person writes it: `10s`, `250ms`, `2m`, `1.5s`; a bare number is in seconds, as
    /// curl takes it.
    public init?(argument text: String) {
        let units: [(suffix: String, nanoseconds: Double)] = [
            ("ms", 1e6), ("us", 1e3), ("s", 1e9), ("m", 60e9), ("", 1e9),
        ]
        for unit in units where text.hasSuffix(unit.suffix) {
            let number = text.dropLast(unit.suffix.count)
            guard number.utf8.allSatisfy({ (0x30...0x39).contains($0) || $0 == 0x2E }),
                let value = Double(number)
            else { return nil }
            let nanoseconds = value * unit.nanoseconds
            guard nanoseconds >= 1, nanoseconds < 9e18 else { return nil }
            self = .nanoseconds(Int64(nanoseconds))
            return
        }
        return nil
    }
}
