/// A value that its copies share until one of them is changed: for one that is large, and copied more often than changed. It
/// takes one word where it stands.
struct CopyOnWrite<Value: Sendable>: Sendable {
    /// Changed only while one copy has it, so that the copies stay values.
    private final class Storage: @unchecked Sendable {
        @exclusivity(unchecked) var value: Value

        init(_ value: Value) { self.value = value }
    }

    private var storage: Storage

    init(_ value: Value) { storage = Storage(value) }

    var value: Value {
        _read { yield storage.value }
        _modify {
            if !isKnownUniquelyReferenced(&storage) { storage = Storage(storage.value) }
            yield &storage.value
        }
    }
}

extension CopyOnWrite: Equatable where Value: Equatable {
    static func == (left: CopyOnWrite, right: CopyOnWrite) -> Bool {
        left.storage === right.storage || left.value == right.value
    }
}

extension CopyOnWrite: Hashable where Value: Hashable {
    func hash(into hasher: inout Hasher) { value.hash(into: &hasher) }
}
