public import Multipath

/// The paths now.
///
/// - Throws: `MessageError`, with the reason why this machine's paths can't be read.
public func currentPath(_ monitor: PathMonitor) async throws -> PathSnapshot {
    do {
        return try await monitor.currentPath()
    } catch let error as PathMonitorError {
        throw MessageError(error.description)
    }
}

extension PathSnapshot {
    /// Every interface: the paths in their order, then what is none.
    public var allInterfaces: [PathInterface] { interfaces + excluded.map(\.interface) }
}
