/// Runs a closure for each value, so many at a time.
///
/// - Parameter ingest: gets what they return, as it comes.
func forEach<Value: Sendable, Result: Sendable>(
    _ values: [Value], atMost width: Int, _ body: @escaping @Sendable (Value) async throws -> Result,
    ingest: (Result) throws -> Void
) async throws {
    try await withThrowingTaskGroup(of: Result.self) { group in
        var rest = values[...]
        for value in rest.prefix(width) { group.addTask { try await body(value) } }
        rest = rest.dropFirst(width)
        while let result = try await group.next() {
            if let value = rest.popFirst() { group.addTask { try await body(value) } }
            try ingest(result)
        }
    }
}
