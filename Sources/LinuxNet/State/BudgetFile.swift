import Glibc
import PathCore

/// The accounts of the user's budgets in their file: read and changed at once, where waiting for the disk does no harm.
package struct BudgetFile: Sendable {
    package let file: StateFile

    package init(_ path: String) { file = StateFile(path, limit: BudgetLedger.fileLimit) }

    /// The file's name in its folder.
    package static let name = "budgets"

    package static func standardPath() -> String? { StateFile.standardPath(name) }

    /// What is booked, and how many lines could not be read.
    ///
    /// - Throws: as `StateFile.read` does.
    package func read() throws(SystemError) -> (ledger: BudgetLedger, unreadable: Int) {
        BudgetLedger.parse(try file.read() ?? "")
    }

    /// Changes what is booked. A file with lines that can't be read is kept beside the new one.
    ///
    /// - Returns: what the body returned.
    package func update<Value>(_ body: (inout BudgetLedger) -> Value) throws(SystemError) -> Value {
        var value: Value?
        try file.update { text throws(SystemError) in
            var (ledger, unreadable) = BudgetLedger.parse(text ?? "")
            if unreadable > 0 { file.putAside() }
            value = body(&ledger)
            return ledger.text
        }
        guard let value else { preconditionFailure("the body has run") }
        return value
    }
}

extension BudgetClock {
    /// The clock on the wall, now.
    package static var now: BudgetClock {
        var seconds = time(nil)
        var parts = tm()
        let distance = localtime_r(&seconds, &parts) == nil ? 0 : parts.tm_gmtoff
        return BudgetClock(localSeconds: Int64(seconds) + Int64(distance))
    }
}

/// The same for a thread that must not wait: the file is read, watched and changed on a thread of its own. Every call is made
/// on the owner's thread, and every answer comes there.
package final class SharedBudgets: @unchecked Sendable {
    private let owner: EventThread
    private let facts: FileFacts<BudgetLedger>
    private let findPath: @Sendable () -> String?

    /// - Parameter path: finds out where the file is, which may ask a name service; nil for a user without a home.
    package init(
        on owner: EventThread, at path: @escaping @Sendable () -> String? = { BudgetFile.standardPath() }
    ) {
        self.owner = owner
        findPath = path
        facts = FileFacts(on: owner, files: StateFiles.thread, empty: BudgetLedger()) {
            path().map { [.file($0)] } ?? []
        } read: { places, reading in
            guard let path = places.first?.path else { return }
            do throws(SystemError) {
                (reading.facts, reading.malformed) = try BudgetFile(path).read()
            } catch {
                reading.unreadable += 1
            }
        }
    }

    /// What is booked; nil before the first reading.
    package var ledger: BudgetLedger? { facts.latest?.facts }

    /// - Parameter onChange: called after the first reading, and after each change of any program.
    package func start(onChange: @escaping () -> Void) { facts.start(onChange: onChange) }

    package func stop() { facts.stop() }

    /// Has the file read once more where its changes can't be watched.
    package func look() { facts.look() }

    /// Changes what is booked.
    ///
    /// - Parameter completion: gets what the body returned, and all that is booked then; nil where the file can't be written.
    package func update<Value: Sendable>(
        _ body: @escaping @Sendable (inout BudgetLedger) -> Value,
        completion: @escaping @Sendable ((value: Value, ledger: BudgetLedger)?) -> Void
    ) {
        StateFiles.thread.submit { [owner, findPath] in
            var result: (value: Value, ledger: BudgetLedger)?
            if let path = findPath() {
                result = try? BudgetFile(path).update { ledger in
                    let value = body(&ledger)
                    return (value, ledger)
                }
            }
            owner.submit { [result] in completion(result) }
        }
    }
}
