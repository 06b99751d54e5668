import LinuxNet

/// Where a monitor's snapshots come from: the kernel, unless the caller brings another source. Tests bring a
/// scripted one (`MultipathTesting`), `mppaths replay` a recording.
public protocol PathSource: Sendable {
    /// Starts telling snapshots. It is called once, at the monitor's first use, and returns soon.
    ///
    /// - Parameter sink: takes the snapshots: a first one as soon as there is one, then the whole again after
    ///   each change; from any thread.
    func start(_ sink: PathSink)

    /// Stops: the monitor and its iterators are gone. It is called once, after `start`.
    func stop()
}

/// Where a source puts its snapshots.
public struct PathSink: Sendable {
    let channel: PathChannel
    let run: Int
    private let state = Locked((published: PathSnapshot?.none, isEnded: false))

    init(_ channel: PathChannel) {
        self.channel = channel
        run = channel.run
    }

    /// The paths now. Before it returns, this is what the monitor tells; consumers that skip something are told
    /// what they missed.
    ///
    /// The sink counts generations and finds the changes: those that the snapshot brings are not looked at. One
    /// with the content of the one before wakes no consumer.
    public func send(_ snapshot: PathSnapshot) {
        state.withLock { state in
            guard !state.isEnded else { return }
            // Within the lock, so that two threads' snapshots arrive in the order of their generations.
            state.published = channel.deliver(snapshot, after: state.published)
        }
    }

    /// No snapshot follows: the streams end when their consumers have seen the last one.
    public func end() { end(because: nil) }

    /// No snapshot follows because of this error, which `currentPath()` throws from now on.
    public func fail(_ error: PathMonitorError) { end(because: error) }

    private func end(because failure: PathMonitorError?) {
        state.withLock { $0.isEnded = true }
        channel.end(run, because: failure)
    }
}

/// The kernel's paths.
final class KernelPaths: PathSource {
    private let configuration: PathMonitor.Configuration
    private let recorder: PathRecorder?
    private let watcher = Locked<PathWatcher?>(nil)

    init(_ configuration: PathMonitor.Configuration, recorder: PathRecorder? = nil) {
        self.configuration = configuration
        self.recorder = recorder
    }

    var counters: PathMonitor.Counters { watcher.withLock { $0 }?.counters ?? PathMonitor.Counters() }

    func start(_ sink: PathSink) {
        do throws(PathMonitorError) {
            let overrides = try overrides()
            recorder?.begin(overrides)
            let watcher = PathWatcher(
                overrides: overrides, configuration: configuration, channel: sink.channel, run: sink.run,
                recorder: recorder)
            self.watcher.withLock { $0 = watcher }
            watcher.start { sink.fail($0) }
        } catch {
            sink.fail(error)
        }
    }

    func stop() { watcher.withLock { $0 }?.stop() }

    private func overrides() throws(PathMonitorError) -> InterfaceOverrides {
        var overrides = InterfaceOverrides(configuration: configuration.overrides)
        let name = InterfaceOverrides.environmentVariable
        if configuration.readsEnvironment, let text = ProcessEnvironment.value(name) {
            do throws(InterfaceOverrides.Malformed) {
                overrides.environment = try InterfaceOverrides.parse(text)
            } catch {
                throw PathMonitorError(error.description)
            }
        }
        return overrides
    }
}
