import LinuxNet

// Reading the kernel's tables, and reading them again. All of them are read by another thread; the routes alone, which the
// kernel gives without a lock, by the event thread itself, so that a loss is told at once.
extension PathWatcher {
    /// - Returns: whether nothing is out of date any more. If not, that is told later.
    func refresh() -> Bool {
        guard !reader.isReading else { return false }
        if stale.contains(.links) {
            beginReading()
            return false
        }
        do {
            if stale.contains(.routes) {
                shared.withLock { $0.readings += 1 }
                try readRoutes()
            }
            stale = []
            return true
        } catch {
            readingFailed()
            return false
        }
    }

    func readingFailed() {
        shared.withLock { $0.failures += 1 }
        stale = .all
        readLater(after: Self.retryInterval)
    }

    func readLater(after delay: Duration) {
        guard retry == nil else { return }
        retry = thread.schedule(at: MonotonicTime.now.advanced(by: delay)) { [unowned self] in
            self.assumeIsolated { watcher in
                watcher.retry = nil
                watcher.stale = .all
                if watcher.notifications == nil {
                    guard (try? watcher.openSockets()) != nil else { return watcher.readingFailed() }
                    watcher.shared.withLock { $0.reopened += 1 }
                }
                watcher.deliver()
            }
        }
    }

    /// Has all tables read. What is announced meanwhile waits: applied before, it would be undone by what was read.
    func beginReading() {
        stopListening()
        (lastResync, stale) = (.now, .all)
        shared.withLock { $0.readings += 1 }
        guard let tables else { return readingFailed() }
        do throws(SystemError) {
            try reader.read(tables, keepsMessages: recorder != nil)
        } catch {
            ingest(.failure(error))
        }
    }

    func ingest(_ result: Result<TableReader.Tables, SystemError>) {
        let opening = opening
        self.opening = nil
        do {
            try listen()
            let tables = try result.get()
            reducer.replaceLinks(tables.links.map(devices.completed))
            recorder?.read(.links, tables.linkMessages)
            reducer.replaceAddresses(tables.addresses)
            recorder?.read(.addresses, tables.addressMessages)
            stale = .routes
            guard opening != nil else { return look() }
            try readRoutes()
            stale = []
            opened()
        } catch  where opening == nil || (error as? SystemError)?.isPassing == true {
            readingFailed()
        } catch {
            release()
            opening?(Self.error(error))
        }
    }

    func readRoutes() throws {
        guard let tables else { throw PathMonitorError("the netlink socket is closed") }
        let routes = try tables.internetRoutes(through: reducer.interfacesWorthAsking)
        reducer.replaceRoutes(routes.defaults, reach: routes.reach)
        recorder?.read(routes)
    }

    static let retryInterval = Duration.seconds(1)
}
