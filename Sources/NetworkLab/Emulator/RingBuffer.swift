/// A queue in a ring that grows: both ends cost the same, however long it is.
struct RingBuffer<Element: Sendable>: Sendable {
    private var storage: [Element?] = Array(repeating: nil, count: 16)
    private var head = 0
    private(set) var count = 0

    var isEmpty: Bool { count == 0 }

    var first: Element? { count == 0 ? nil : storage[head] }

    mutating func append(_ element: Element) {
        if count == storage.count { grow() }
        storage[(head + count) & (storage.count - 1)] = element
        count += 1
    }

    mutating func popFirst() -> Element? {
        guard count > 0 else { return nil }
        defer {
            storage[head] = nil
            head = (head + 1) & (storage.count - 1)
            count -= 1
        }
        return storage[head]
    }

    private mutating func grow() {
        var larger: [Element?] = []
        larger.reserveCapacity(storage.count * 2)
        for offset in 0..<count { larger.append(storage[(head + offset) & (storage.count - 1)]) }
        larger.append(contentsOf: repeatElement(nil, count: storage.count * 2 - count))
        storage = larger
        head = 0
    }
}
