import LinuxNet

/// Keeps what was found out about networks in the user's state folder, for the next process. Where it can't, that is no
/// failure: the next process finds it out again.
package final class HeartbeatStore: Sendable {
    package static let shared = HeartbeatStore { HeartbeatFile.standardPath() }

    private let findPath: @Sendable () -> String?

    /// - Parameter path: finds out where the file is, which may ask a name service; nil for a user without a home.
    package init(_ path: @escaping @Sendable () -> String?) { findPath = path }

    /// - Parameter completion: called on another thread, where there is such a file.
    func read(_ completion: @escaping @Sendable (HeartbeatMemory) -> Void) {
        StateFiles.thread.submit { [findPath] in
            if let path = findPath(), let memory = HeartbeatFile(path).read() { completion(memory) }
        }
    }

    func note(_ search: SilenceSearch, of network: HeartbeatNetwork) {
        StateFiles.thread.submit { [findPath] in
            if let path = findPath() { HeartbeatFile(path).note(search, of: network) }
        }
    }
}
