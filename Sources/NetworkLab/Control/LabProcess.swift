// A lab's two processes. The outer one stays in the machine's namespaces, waits, and passes signals on; the
// inner one is the first of the lab's own process namespace, and everything in the lab ends with it.

import LabNet
import LinuxNet
import PathCore

/// Runs a command in a lab of its own.
public enum LabProcess {
    /// How a lab is run.
    public struct Options: Sendable {
        /// Where to write the trace; nil for none.
        public var trace: String?
        /// Whether a line for each link may be shown on the terminal.
        public var isWatched = false

        /// No trace, and nothing on the terminal.
        public init() {}
    }

    /// Why the command could not be run.
    public struct Failure: Error, Sendable, CustomStringConvertible {
        /// What went wrong.
        public let description: String
    }

    /// Runs a command in a new lab's client host, and ends when the command does.
    ///
    /// Call it on a process's only thread: namespaces can't be changed for a process that has more.
    ///
    /// - Returns: the command's status, as a shell counts it; 127 where it could not be started.
    public static func run(_ plan: LabPlan, command: [String], options: Options) throws -> Int32 {
        let control = try LabControl.listen()
        let trace = try options.trace.map { path throws(SystemError) in try TraceFile(path) }
        let folder = try LabFolder.make()
        WaitingSignals.block()
        defer { folder.remove() }
        try LabSettings.begin(plan, in: folder.settings)
        let child = try split { begin(plan, folder, control, command, trace, options) }
        // The lab answers at this name; this process must not keep it when the lab has ended.
        _ = consume control
        return wait(for: child)
    }

    /// The inner process, from its beginning to its end.
    private static func begin(
        _ plan: LabPlan, _ folder: LabFolder, _ control: LabControl.Listener, _ command: [String],
        _ trace: TraceFile?, _ options: Options
    ) -> Never {
        do {
            let lab = try Lab(plan, LabSettings(folder: folder.settings))
            LabControl.serve(lab, outside: control)
            ProcessEnvironment.exit(try run(lab, command, trace, options))
        } catch let error as Unstartable {
            StandardError.write("mplab: \(error.error)")
            ProcessEnvironment.exit(127)
        } catch {
            StandardError.write("mplab: \(error)")
            ProcessEnvironment.exit(1)
        }
    }

    private struct Unstartable: Error {
        var error: SystemError
    }

    private static func split(_ inner: @escaping () -> Never) throws -> ProcessNumber {
        do {
            return try Isolation.split(inner)
        } catch let error as Isolation.Forbidden {
            throw Failure(description: error.description)
        } catch let error as SystemError {
            throw Failure(description: "\(error)")
        }
    }

    /// The outer process: its only work is to be where others look for the lab.
    private static func wait(for child: ProcessNumber) -> Int32 {
        while true {
            switch WaitingSignals.next() {
            case .childEnded:
                while let ended = ChildProcess.reap() { if ended.process == child { return ended.status } }
            case .termination(let number, let fromTerminal):
                // A terminal tells all of its processes; another sender tells only this one.
                if !fromTerminal { ChildProcess.signal(child, number) }
            }
        }
    }

    /// The inner process: it reaps what ends in the lab, until the command does.
    private static func run(
        _ lab: Lab, _ command: [String], _ trace: TraceFile?, _ options: Options
    ) throws -> Int32 {
        if !lab.plan.server.command.isEmpty { _ = try lab.startServer(lab.plan.server.command) }
        let process: ProcessNumber
        do throws(SystemError) {
            process = try lab.startInClient(command)
        } catch {
            throw Unstartable(error: error)
        }
        let watch = LabWatch(lab, trace: trace, isShown: options.isWatched)
        watch.start()
        TimelineRunner(lab).start()
        while true {
            switch WaitingSignals.next() {
            case .childEnded:
                while let ended = ChildProcess.reap() {
                    guard ended.process == process else { continue }
                    watch.finish()
                    return ended.status
                }
            case .termination(let number, let fromTerminal):
                if !fromTerminal { ChildProcess.signal(process, number) }
            }
        }
    }
}

/// Lines on standard error.
enum StandardError {
    static func write(_ line: String) {
        var text = SafeText.line(line) + "\n"
        // Where standard error itself is gone, there is no place left to say so.
        text.withUTF8 { try? StandardStream.error.write(UnsafeRawBufferPointer($0)) }
    }
}
