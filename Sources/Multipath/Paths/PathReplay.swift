import LinuxNet

/// Turns a recording into the snapshots that were told while it was made: by the decoder and the reducer
/// that the monitor itself uses, without a network.
package struct PathReplay: Sendable {
    private var records: PathRecord.Reader
    private var reducer = SnapshotReducer()
    private var decoder = RouteDecoder()
    private var devices: [Device: LinkFact.Device] = [:]
    /// Notifications that are applied at the next `taken`: until then the devices they name may follow.
    private var notifications: [[UInt8]] = []
    private var told: PathSnapshot?

    private struct Device: Hashable {
        let index: InterfaceIndex
        let name: String
    }

    /// - Throws: `RecordingError` where these bytes are no recording.
    package init(_ bytes: [UInt8]) throws(RecordingError) { records = try PathRecord.Reader(bytes) }

    /// Messages of the recording that could not be read.
    package var malformed: Int { decoder.malformed }

    /// The next snapshot, numbered and with its changes, and when it was told; nil at the end.
    package mutating func next() throws(RecordingError) -> (time: Duration, snapshot: PathSnapshot)? {
        while let record = try records.next() {
            guard try ingest(record) else { continue }
            var snapshot = reducer.snapshot()
            if let told, told.hasSameContent(as: snapshot) { continue }
            snapshot.generation = (told?.generation ?? 0) + 1
            snapshot.changes = snapshot.changes(since: told)
            told = snapshot
            return (record.time, snapshot)
        }
        return nil
    }

    /// - Returns: whether the monitor told its consumers here.
    private mutating func ingest(_ record: PathRecord) throws(RecordingError) -> Bool {
        switch record.kind {
        case .overrides:
            let hints = reducer.hints
            reducer = SnapshotReducer(overrides: try InterfaceOverrides(record))
            reducer.hints = hints
        case .hints: reducer.hints = try InterfaceHints(record)
        case .device:
            let (index, name, device) = try LinkFact.Device.read(record)
            devices[Device(index: index, name: name)] = device
            // It may have been read after the link was announced.
            for link in reducer.allLinks where link.index == index && link.name == name {
                _ = reducer.apply(.link(completed(link)))
            }
        case .notification: notifications.append(record.payload)
        case .taken:
            // After a loss the tables follow.
            for datagram in notifications {
                for event in decoder.events(copying: datagram) { _ = reducer.apply(completed(event)) }
            }
            notifications = []
        case .links: reducer.replaceLinks(decoder.table(in: record.payload).links.map(completed))
        case .addresses: reducer.replaceAddresses(decoder.table(in: record.payload).addresses)
        case .routes:
            let routes = try RecordedRoutes(record)
            reducer.replaceRoutes(routes.defaults, reach: routes.reach)
        case .told: return true
        }
        return false
    }

    private func completed(_ link: LinkFact) -> LinkFact {
        var link = link
        link.device = devices[Device(index: link.index, name: link.name)] ?? link.device
        return link
    }

    private func completed(_ event: KernelEvent) -> KernelEvent {
        if case .link(let link) = event { .link(completed(link)) } else { event }
    }
}

/// A recording as a monitor's source: each snapshot is told as long after the start as it was then.
package final class RecordedPaths: PathSource {
    private let replay: PathReplay
    private let task = Locked<Task<Void, Never>?>(nil)

    package init(_ replay: PathReplay) { self.replay = replay }

    package func start(_ sink: PathSink) {
        let replay = replay
        let task = Task {
            var replay = replay
            let start = ContinuousClock.now
            do {
                while let (time, snapshot) = try replay.next() {
                    try await Task.sleep(until: start + time, clock: .continuous)
                    sink.send(snapshot)
                }
                sink.end()
            } catch let error as RecordingError {
                sink.fail(PathMonitorError(error.description))
            } catch {
                sink.end()
            }
        }
        self.task.withLock { $0 = task }
    }

    package func stop() { task.withLock { $0 }?.cancel() }
}
