import Foundation
import LinuxNet

/// A program that runs, in a process group of its own, which ends when this goes.
///
/// Foundation's Process notices an end by a socket that the program inherits. OpenSSH's programs close what
/// they inherit, and its one thread then waits for them and for no other program: hence posix_spawn.
public final class Running: Sendable {
    public let identifier: pid_t
    private let name: String
    private let inputEnd: Locked<CInt?>
    private let output = Collector()
    private let errors = Collector()
    private let status = ExitStatus()
    private let writer = DispatchQueue(label: "input of a program under test")

    public init(_ command: [String], environment: [String: String] = [:]) throws {
        // A program that ends before it has read its input is a result, not the end of the tests.
        _ = Foundation.signal(SIGPIPE, SIG_IGN)
        guard let path = command[0].hasPrefix("/") ? command[0] : Program.find(command[0]) else {
            throw Program.TimedOut(description: "no program \(command[0])")
        }
        name = command[0]
        let input = try Self.pipe()
        let (outputEnds, errorEnds) = (try Self.pipe(), try Self.pipe())

        var actions = posix_spawn_file_actions_t()
        posix_spawn_file_actions_init(&actions)
        defer { posix_spawn_file_actions_destroy(&actions) }
        for (number, end) in [input.read, outputEnds.write, errorEnds.write].enumerated() {
            posix_spawn_file_actions_adddup2(&actions, end, CInt(number))
        }
        var attributes = posix_spawnattr_t()
        posix_spawnattr_init(&attributes)
        defer { posix_spawnattr_destroy(&attributes) }
        posix_spawnattr_setflags(
            &attributes, Int16(POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSIGMASK))
        posix_spawnattr_setpgroup(&attributes, 0)
        var signals = sigset_t()
        sigfillset(&signals)
        posix_spawnattr_setsigdefault(&attributes, &signals)
        sigemptyset(&signals)
        posix_spawnattr_setsigmask(&attributes, &signals)

        var inherited = ProcessInfo.processInfo.environment
        // What a test runs may run a server itself, which an ordinary user's PATH does not find.
        inherited["PATH"] = (inherited["PATH"] ?? "/usr/bin:/bin") + ":/usr/sbin:/sbin"
        let variables = inherited.merging(environment) { $1 }.map { "\($0)=\($1)" }
        var process = pid_t()
        let failure = Self.withStrings(command) { arguments in
            Self.withStrings(variables) { posix_spawn(&process, path, &actions, &attributes, arguments, $0) }
        }
        for end in [input.read, outputEnds.write, errorEnds.write] { close(end) }
        guard failure == 0 else {
            for end in [input.write, outputEnds.read, errorEnds.read] { close(end) }
            throw Program.TimedOut(description: "can't start \(path): \(String(cString: strerror(failure)))")
        }
        identifier = process
        inputEnd = Locked(input.write)
        output.start(outputEnds.read)
        errors.start(errorEnds.read)
        Thread { [status, process] in
            var code: Int32 = 0
            while waitpid(process, &code, 0) < 0, errno == EINTR {}
            // What a program said, or minus the signal that killed it.
            status.value = code & 0x7F == 0 ? code >> 8 & 0xFF : -(code & 0x7F)
        }.start()
    }

    deinit {
        kill()
        if let end = inputEnd.withLock({ $0 }) { close(end) }
    }

    public var isRunning: Bool { status.value == nil }
    public var outputText: String { String(decoding: output.data, as: UTF8.self) }
    /// How many bytes it has written so far.
    public var outputCount: Int { output.data.count }
    public var errorText: String { String(decoding: errors.data, as: UTF8.self) }

    /// Writes without waiting; the order is kept.
    public func write(_ data: Data) {
        writer.async { [self] in
            guard let end = inputEnd.withLock({ $0 }) else { return }
            data.withUnsafeBytes { bytes in
                var rest = bytes[...]
                while !rest.isEmpty {
                    let count = Foundation.write(
                        end, UnsafeRawBufferPointer(rebasing: rest).baseAddress, rest.count)
                    guard count > 0 else { return }
                    rest = rest.dropFirst(count)
                }
            }
        }
    }

    public func endInput() {
        writer.async { [self] in
            let end = inputEnd.withLock { end in
                defer { end = nil }
                return end
            }
            if let end { close(end) }
        }
    }

    /// Stops reading its output, as `head` does.
    public func closeOutput() { output.stop() }

    public func signal(_ number: Int32) { _ = Foundation.kill(identifier, number) }

    /// Ends it, and all that it started.
    public func kill() { _ = Foundation.kill(-identifier, SIGKILL) }

    /// Waits for its end, and for the end of what it says.
    public func result(within limit: Duration = .seconds(30)) async throws -> Program.Result {
        do {
            try await Program.wait("the end of \(name)", within: limit) {
                !isRunning && output.isAtEnd && errors.isAtEnd
            }
        } catch {
            kill()
            throw Program.TimedOut(
                description: "\(error); it had said: \(errorText) \(outputText.suffix(2_000))")
        }
        // What a watchdog found is worth seeing wherever it was found.
        if Self.isWatched {
            let lines = (outputText + errorText).split(separator: "\n")
            if let first = lines.firstIndex(where: { $0.hasPrefix("watchdog: ") }) {
                print(lines[first...].prefix(60).joined(separator: "\n"))
            }
        }
        return Program.Result(status: status.value ?? -1, output: output.data, errors: errorText)
    }

    private static let isWatched = ProcessInfo.processInfo.environment["MULTIPATH_WATCHDOG"] != nil

    private static func pipe() throws -> (read: CInt, write: CInt) {
        var ends: [CInt] = [0, 0]
        guard Foundation.pipe(&ends) == 0 else { throw Program.TimedOut(description: "no pipe") }
        for end in ends { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
        return (ends[0], ends[1])
    }

    private static func withStrings<Result>(
        _ strings: [String], _ body: (UnsafePointer<UnsafeMutablePointer<CChar>?>) -> Result
    ) -> Result {
        let copies = strings.map { strdup($0) } + [nil]
        defer { for copy in copies { free(copy) } }
        return copies.withUnsafeBufferPointer { body($0.baseAddress!) }
    }

    private final class ExitStatus: Sendable {
        private let state = Locked<Int32?>(nil)
        var value: Int32? {
            get { state.withLock { $0 } }
            set { state.withLock { $0 = newValue } }
        }
    }

    /// Reads a pipe to its end, on a thread of its own.
    private final class Collector: Sendable {
        private let state = Locked((data: Data(), isAtEnd: false, end: CInt(-1)))

        var data: Data { state.withLock { $0.data } }
        var isAtEnd: Bool { state.withLock { $0.isAtEnd } }

        func start(_ end: CInt) {
            state.withLock { $0.end = end }
            Thread { [self] in
                var chunk = [UInt8](repeating: 0, count: 1 << 16)
                while true {
                    var ready = pollfd(fd: end, events: Int16(POLLIN), revents: 0)
                    // Looks up now and then, so that `stop` is heard.
                    guard poll(&ready, 1, 50) >= 0, !isAtEnd else { break }
                    guard ready.revents != 0 else { continue }
                    let count = read(end, &chunk, chunk.count)
                    guard count > 0 else { break }
                    state.withLock { $0.data.append(contentsOf: chunk[..<count]) }
                }
                close(end)
                state.withLock { $0.isAtEnd = true }
            }.start()
        }

        func stop() { state.withLock { $0.isAtEnd = true } }
    }
}
