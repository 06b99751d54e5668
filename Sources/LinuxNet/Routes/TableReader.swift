import Glibc
import PathCore

/// Reads all links and addresses on a thread that may wait. The kernel lists links under a lock (rtnl_mutex) that a driver
/// keeps for as long as it takes to load firmware or to reset a device.
///
/// It lives on the event thread.
package final class TableReader {
    package struct Tables: Sendable {
        package var links: [LinkFact] = []
        package var addresses: [AddressFact] = []
        /// The kernel's messages as they came, for a recorder.
        package var linkMessages: [UInt8] = []
        package var addressMessages: [UInt8] = []
    }

    private struct Question: @unchecked Sendable {
        var tables: RouteTables
        var keepsMessages: Bool
    }

    private static let kernel = BlockingCalls(limit: 1, mostExtra: 3)

    private let inquiry: Inquiry<Question, Result<Tables, SystemError>>

    package init(on thread: EventThread) {
        inquiry = Inquiry(on: thread, by: .pool(Self.kernel), patience: .seconds(1)) { question in
            Result { () throws(SystemError) in try question.tables.read(keepsMessages: question.keepsMessages)
            }
        }
    }

    /// Whether a reading is under way; the tables belong to its thread then.
    package var isReading: Bool { inquiry.isUnderWay }

    /// - Parameter ingest: gets what each reading found, on the event thread.
    package func start(_ ingest: @escaping @Sendable (Result<Tables, SystemError>) -> Void) {
        inquiry.start(ingest)
    }

    package func stop() { inquiry.stop() }

    /// Begins a reading.
    ///
    /// - Parameter tables: not to be used before the answer.
    /// - Throws: EAGAIN where there is no thread for it.
    package func read(_ tables: RouteTables, keepsMessages: Bool) throws(SystemError) {
        inquiry.ask(Question(tables: tables, keepsMessages: keepsMessages))
        guard inquiry.isUnderWay else { throw SystemError("read the tables", errno: EAGAIN) }
    }
}

extension RouteTables {
    fileprivate func read(keepsMessages: Bool) throws(SystemError) -> TableReader.Tables {
        var tables = TableReader.Tables()
        var messages: [UInt8] = []
        if keepsMessages {
            tap = { traffic in
                switch traffic {
                // A repeated dump takes the place of the one before.
                case .dump: messages = []
                case .datagram(let bytes): messages += bytes
                case .lost, .device: break
                }
            }
        }
        defer { tap = nil }
        tables.links = try links()
        tables.linkMessages = messages
        messages = []
        tables.addresses = try addresses()
        tables.addressMessages = messages
        return tables
    }
}
