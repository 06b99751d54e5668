public import ArgumentParser
import CCommandStartup
import LinuxNet

/// How a command of this project ends.
public struct CommandExit: Error, Sendable, Hashable {
    public var status: CInt

    public init(status: CInt) { self.status = status }

    public static let done = CommandExit(status: 0)
    /// The connection failed or broke; the work could not be done.
    public static let failed = CommandExit(status: 1)
    public static let usage = CommandExit(status: 2)
    public static let noAllowedPath = CommandExit(status: 3)
    /// Ended by a signal, as a shell counts it.
    public static func signal(_ number: CInt) -> CommandExit { CommandExit(status: 128 + number) }

    /// Ends the process, with whatever still waits in it: a read of standard input can't be cancelled.
    public func leave() -> Never { ProcessEnvironment.exit(status) }
}

extension AsyncParsableCommand {
    /// Parses the arguments, runs the command, and ends the process with this project's statuses. Errors of
    /// usage take one line and point to `--help`.
    public static func runAsProcess() async -> Never {
        do {
            var command = try prepared()
            if var asynchronous = command as? any AsyncParsableCommand {
                try await asynchronous.run()
            } else {
                try command.run()
            }
            CommandExit.done.leave()
        } catch {
            leave(after: error)
        }
    }
}

extension ParsableCommand {
    /// The same for a command that must stay on the process's one thread.
    public static func runOnOneThread() -> Never {
        do {
            var command = try prepared()
            try command.run()
            CommandExit.done.leave()
        } catch {
            leave(after: error)
        }
    }

    /// The command as the arguments ask for it, in a process that is safe to run it in.
    fileprivate static func prepared() throws -> any ParsableCommand {
        StandardStream.ignoreBrokenPipes()
        let command = try parseAsRoot()
        if command_closed_streams() & 1 << 1 != 0 { throw MessageError("standard output is closed") }
        return command
    }

    fileprivate static func leave(after error: any Error) -> Never {
        do {
            throw error
        } catch let exit as CommandExit {
            exit.leave()
        } catch let error as MessageError {
            Diagnostics.write("\(rootName): \(error.message)")
            CommandExit.failed.leave()
        } catch {
            let status = exitCode(for: error)
            if status.isSuccess {
                // --help and --version.
                Diagnostics.write(fullMessage(for: error), to: .output)
                CommandExit.done.leave()
            }
            let message = message(for: error).split(separator: "\n").joined(separator: " ")
            guard status == .validationFailure else {
                Diagnostics.write("\(rootName): \(message)")
                CommandExit.failed.leave()
            }
            Diagnostics.write("\(rootName): \(message) (see \(rootName) --help)")
            CommandExit.usage.leave()
        }
    }

    private static var rootName: String { configuration.commandName ?? String(describing: self).lowercased() }
}

/// An error that is told to the user as it stands.
public struct MessageError: Error, Sendable {
    public var message: String

    public init(_ message: String) { self.message = message }
}

/// Lines for people and programs, written whole.
public enum Diagnostics {
    public static func write(_ line: String, to stream: StandardStreamName = .error) {
        // Nobody is left to tell where standard error itself is gone.
        try? tryWrite(line, to: stream)
    }

    /// Writes text as it is, for a line that is drawn again.
    public static func draw(_ text: String) {
        var text = text
        text.withUTF8 { try? StandardStream.error.write(UnsafeRawBufferPointer($0)) }
    }

    /// - Throws: where nobody reads the stream any more.
    public static func tryWrite(_ line: String, to stream: StandardStreamName = .error) throws {
        var text = line.hasSuffix("\n") ? line : line + "\n"
        try text.withUTF8 { try stream.stream.write(UnsafeRawBufferPointer($0)) }
    }

    /// Writes as it stands.
    public static func tryWrite(raw text: String, to stream: StandardStreamName) throws {
        var text = text
        try text.withUTF8 { try stream.stream.write(UnsafeRawBufferPointer($0)) }
    }
}

/// The two streams a command writes to.
public enum StandardStreamName: Sendable {
    case output
    case error

    var stream: StandardStream { self == .output ? .output : .error }
}
