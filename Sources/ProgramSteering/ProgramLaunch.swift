import CTrap
import LinuxNet

/// Runs a program with its calls trapped, and waits for its end.
package struct ProgramLaunch {
    private let arguments: [String]
    private let tcpPrograms: [String]
    private let isStrict: Bool
    private let keepsError: Bool
    private let awaitsReport: Bool
    private let configuration: ProgramPolicy.Configuration
    private let console: any ProgramConsole

    /// - Parameters:
    ///   - arguments: the program, which is looked for in PATH, and what it is given.
    ///   - tcpPrograms: patterns of programs whose sockets stay TCP.
    ///   - isStrict: whether a connect fails where the policy can't be asked, because paths are prohibited.
    ///   - keepsError: whether the policy writes to standard error.
    ///   - awaitsReport: whether the end waits for the policy's report.
    package init(
        arguments: [String], tcpPrograms: [String], isStrict: Bool, keepsError: Bool, awaitsReport: Bool,
        _ configuration: ProgramPolicy.Configuration, _ console: any ProgramConsole
    ) {
        (self.arguments, self.tcpPrograms, self.isStrict) = (arguments, tcpPrograms, isStrict)
        (self.keepsError, self.awaitsReport) = (keepsError, awaitsReport)
        (self.configuration, self.console) = (configuration, console)
    }

    /// What the policy's process is started with, which may be more than once.
    private final class Context {
        let configuration: ProgramPolicy.Configuration
        let console: any ProgramConsole

        init(_ configuration: ProgramPolicy.Configuration, _ console: any ProgramConsole) {
            (self.configuration, self.console) = (configuration, console)
        }
    }

    /// Only a process with one thread may call it. Where a signal has ended the program this process ends by the same.
    ///
    /// - Returns: the program's exit status.
    package func run() throws(SystemError) -> CInt {
        let context = Context(configuration, console)
        let programs = CStringList(tcpPrograms)
        let words = CStringList(arguments)
        var launch = trap_launch()
        launch.arguments = UnsafePointer(words.pointers)
        launch.tcp_programs = UnsafePointer(programs.pointers)
        launch.traps_connect = 1
        launch.is_strict = isStrict ? 1 : 0
        launch.keeps_error = keepsError ? 1 : 0
        launch.awaits_report = awaitsReport ? 1 : 0
        launch.patience = CInt((configuration.patience + Self.margin).wholeNanoseconds / 1_000_000)
        launch.blocking_patience = CInt(
            (configuration.blockingPatience + Self.margin).wholeNanoseconds / 1_000_000)
        launch.context = Unmanaged.passUnretained(context).toOpaque()
        launch.policy = { channel, page, context in
            guard let context, let page else { return }
            let known = Unmanaged<Context>.fromOpaque(context).takeUnretainedValue()
            ProgramPolicy(channel: channel, page: page, known.configuration, console: known.console).run()
        }
        var failure: CInt = 0
        let status = trap_run(&launch, &failure)
        extendLifetime((context, programs, words))
        if failure != 0 { throw SystemError("start the program", errno: failure) }
        return status
    }

    /// What the trap waits longer than a probe may take.
    private static let margin = Duration.milliseconds(10)
}

/// Strings as C wants a list of them, with nothing at its end.
private final class CStringList {
    let pointers: UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>
    private let count: Int

    init(_ strings: [String]) {
        count = strings.count
        pointers = .allocate(capacity: count + 1)
        for (place, string) in strings.enumerated() {
            let bytes = string.utf8CString
            let copy = UnsafeMutablePointer<CChar>.allocate(capacity: bytes.count)
            bytes.withUnsafeBufferPointer { copy.initialize(from: $0.baseAddress!, count: bytes.count) }
            (pointers + place).initialize(to: copy)
        }
        (pointers + count).initialize(to: nil)
    }

    deinit {
        for place in 0..<count { pointers[place]?.deallocate() }
        pointers.deallocate()
    }
}
