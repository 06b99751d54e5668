public import ArgumentParser
import CCommandStartup
import LinuxNet
import Multipath
import PathCore

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
    /// Parses the arguments, runs the command, and ends the process with this project's statuses. An error of
    /// usage takes one line, which points to the help of the subcommand it is about.
    public static func runAsProcess() async -> Never {
        var command: any ParsableCommand = parsedOrLeave()
        do {
            if var asynchronous = command as? any AsyncParsableCommand {
                try await asynchronous.run()
            } else {
                try command.run()
            }
            CommandExit.done.leave()
        } catch {
            leave(after: error, of: type(of: command))
        }
    }
}

extension ParsableCommand {
    /// The same for a command that must stay on the process's one thread.
    ///
    /// - Parameters:
    ///   - arguments: nil for the process's own.
    ///   - needsOutput: whether the command writes to standard output itself.
    public static func runOnOneThread(_ arguments: [String]? = nil, needsOutput: Bool = true) -> Never {
        var command = parsedOrLeave(arguments, needsOutput: needsOutput)
        do {
            try command.run()
            CommandExit.done.leave()
        } catch {
            leave(after: error, of: type(of: command))
        }
    }

    /// The command as the arguments ask for it, in a process that is safe to run it in.
    fileprivate static func parsedOrLeave(
        _ arguments: [String]? = nil, needsOutput: Bool = true
    ) -> any ParsableCommand {
        StandardStream.ignoreBrokenPipes()
        do {
            let command = try parseAsRoot(arguments)
            if needsOutput, command_closed_streams() & 1 << 1 != 0 {
                throw MessageError("standard output is closed")
            }
            return command
        } catch {
            leave(after: error, of: nil)
        }
    }

    /// - Parameter command: the subcommand that was running; nil where the arguments could not be parsed.
    fileprivate static func leave(after error: any Error, of command: (any ParsableCommand.Type)?) -> Never {
        do {
            throw error
        } catch let exit as CommandExit {
            exit.leave()
        } catch let error as MessageError {
            Diagnostics.write("\(_commandName): \(TerminalText.safe(error.message))")
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
                Diagnostics.write("\(_commandName): \(message)")
                CommandExit.failed.leave()
            }
            let (words, help) = usageError(error, message, of: command)
            Diagnostics.write("\(_commandName): \(words) (see \(help))")
            CommandExit.usage.leave()
        }
    }

    /// What to say of an error of usage, and the command that shows the help for it.
    private static func usageError(
        _ error: any Error, _ message: String, of command: (any ParsableCommand.Type)?
    ) -> (words: String, help: String) {
        if let command { return (message, helpCommand(of: command)) }
        if let word = misspeltSubcommand {
            let names = configuration.subcommands.map { $0._commandName }
            let list = names.joined(separator: ", ")
            return (
                "'\(TerminalText.safe(word))' is none of the commands \(list)"
                    + Suggestion.hint(for: word, among: names), "\(_commandName) --help"
            )
        }
        // The parser knows which subcommand it was about, and says so only in its last line.
        let line = fullMessage(for: error).split(separator: "\n").last ?? ""
        let quoted = line.split(separator: "'", omittingEmptySubsequences: false)
        let isHelp = quoted.count == 3 && quoted[1].hasPrefix(_commandName)
        return (message, isHelp ? String(quoted[1]) : "\(_commandName) --help")
    }

    private static func helpCommand(of command: any ParsableCommand.Type) -> String {
        command == Self.self ? "\(_commandName) --help" : "\(_commandName) \(command._commandName) --help"
    }

    /// The first argument, where a subcommand's name should stand and none does.
    private static var misspeltSubcommand: String? {
        let names = configuration.subcommands.map { $0._commandName }
        guard !names.isEmpty, let word = CommandLine.arguments.dropFirst().first, !word.hasPrefix("-"),
            !names.contains(word), word != "help"
        else { return nil }
        return word
    }
}

/// An error that is told to the user as it stands.
public struct MessageError: Error, Sendable {
    public var message: String

    public init(_ message: String) { self.message = message }
}

/// Lines for people and programs, written whole, and safe for a terminal whatever they hold.
public enum Diagnostics {
    public static func write(_ line: String, to stream: StandardStreamName = .error) {
        // Where standard error itself is gone there is no place left for a message.
        try? tryWrite(line, to: stream)
    }

    /// Writes text as it is, for a line that is drawn again. What is in it from outside has to be safe already.
    public static func draw(_ text: String) {
        var text = text
        text.withUTF8 { try? StandardStream.error.write(UnsafeRawBufferPointer($0)) }
    }

    /// - Throws: where the stream's reader has gone.
    public static func tryWrite(_ line: String, to stream: StandardStreamName = .error) throws {
        var text = SafeText.lines(line.hasSuffix("\n") ? line : line + "\n")
        try text.withUTF8 { try stream.stream.write(UnsafeRawBufferPointer($0)) }
    }

    /// Writes as it stands. What is in it from outside has to be safe already.
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
