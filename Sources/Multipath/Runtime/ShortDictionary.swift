/// A dictionary of a few entries, which are found by comparing: a machine has two paths or three, and to hash a key
/// costs as much as to compare it with ten.
struct ShortDictionary<Key: Equatable, Value>: Sequence {
    private var entries: [(key: Key, value: Value)] = []

    subscript(key: Key) -> Value? {
        get {
            for entry in entries where entry.key == key { return entry.value }
            return nil
        }
        set {
            let place = entries.firstIndex { $0.key == key }
            switch (place, newValue) {
            case (let place?, let value?): entries[place].value = value
            case (let place?, nil): entries.remove(at: place)
            case (nil, let value?): entries.append((key, value))
            case (nil, nil): break
            }
        }
    }

    var isEmpty: Bool { entries.isEmpty }

    func makeIterator() -> IndexingIterator<[(key: Key, value: Value)]> { entries.makeIterator() }
}
