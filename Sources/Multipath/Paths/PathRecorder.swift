import LinuxNet

/// Writes down what a monitor is told, as `PathCore/Recording/RecordingFormat.swift` describes it.
package final class PathRecorder: Sendable {
    private struct State {
        var start: MonotonicTime?
        /// Notifications that were received but not yet applied.
        var notifications: [[UInt8]] = []
        var hints: [UInt8] = []
    }

    private let state = Locked(State())
    private let write: @Sendable ([UInt8]) -> Void

    /// - Parameter write: takes the recording's bytes, whole records at a time and in their order. It is
    ///   called on the event thread, and must not wait for anything.
    package init(write: @escaping @Sendable ([UInt8]) -> Void) { self.write = write }

    /// The monitor starts.
    func begin(_ overrides: InterfaceOverrides) {
        write(PathRecord.header)
        put(.overrides, overrides.recorded)
    }

    func listen(to devices: DeviceFiles, _ notifications: RouteNotifications) {
        // What an earlier socket told and the watcher has not applied is lost.
        state.withLock { $0.notifications = [] }
        devices.tap = { [weak self] traffic in
            if case .device(let link) = traffic { self?.put(.device, link.recordedDevice) }
        }
        notifications.tap = { [weak self] traffic in
            self?.state.withLock { state in
                switch traffic {
                case .datagram(let bytes): state.notifications.append(Array(bytes))
                case .lost: state.notifications = []
                case .dump, .device: break
                }
            }
        }
    }

    /// The notifications so far were applied, or, after a loss, count for nothing.
    func took(_ events: [KernelEvent]) {
        let isLost = events == [.lost]
        let notifications = state.withLock { state in
            defer { state.notifications = [] }
            return isLost ? [] : state.notifications
        }
        guard isLost || !notifications.isEmpty else { return }
        for notification in notifications { put(.notification, notification) }
        put(.taken, [isLost ? 1 : 0])
    }

    /// A table was read, and replaced what was known of it.
    func read(_ table: KernelTables, _ messages: [UInt8]) {
        put(table == .links ? .links : .addresses, messages)
    }

    /// The kernel was asked about the Internet.
    func read(_ routes: InternetRoutes) {
        put(.routes, RecordedRoutes(defaults: routes.defaults, reach: routes.reach).recorded)
    }

    /// The monitor makes a snapshot, and tells it if it differs from the one before.
    func told(_ hints: InterfaceHints) {
        let recorded = hints.recorded
        let areNew = state.withLock { state in
            defer { state.hints = recorded }
            return state.hints != recorded
        }
        if areNew { put(.hints, recorded) }
        put(.told, [])
    }

    private func put(_ kind: PathRecord.Kind, _ payload: [UInt8]) {
        let now = MonotonicTime.now
        let start = state.withLock { state in
            let start = state.start ?? now
            state.start = start
            return start
        }
        write(PathRecord(kind, at: start.duration(to: now), payload).bytes)
    }
}
