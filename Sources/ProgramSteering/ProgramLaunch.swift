import CTrap
import LinuxNet
import PathCore

/// Runs a program with its calls trapped, and waits for its end.
package struct ProgramLaunch {
    private let argumentCount: Int
    private let tcpPrograms: [String]
    private let keepsError: Bool
    private let awaitsReport: Bool
    private let configuration: ProgramPolicy.Configuration
    private let console: any ProgramConsole

    /// - Parameters:
    ///   - argumentCount: how many of this process's arguments, the last ones, are the program, which is looked for in PATH, and
    ///     what it is given: as they are, whatever their bytes.
    ///   - tcpPrograms: patterns of programs whose sockets stay TCP.
    ///   - keepsError: whether the policy writes to standard error.
    ///   - awaitsReport: whether the end waits for the policy's report.
    package init(
        argumentCount: Int, tcpPrograms: [String], keepsError: Bool, awaitsReport: Bool,
        _ configuration: ProgramPolicy.Configuration, _ console: any ProgramConsole
    ) {
        (self.argumentCount, self.tcpPrograms) = (argumentCount, tcpPrograms)
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
        let first = Int(CommandLine.argc) - argumentCount
        var launch = trap_launch()
        launch.arguments = UnsafePointer(CommandLine.unsafeArgv + first)
        let shown = CStringList([
            SafeText.line(CommandLine.unsafeArgv[first].map { String(cString: $0) } ?? "")
        ])
        launch.shown = UnsafePointer(shown.pointers[0])
        launch.tcp_programs = UnsafePointer(programs.pointers)
        launch.traps_connect = 1
        launch.is_strict = configuration.isStrict ? 1 : 0
        launch.keeps_error = keepsError ? 1 : 0
        launch.awaits_report = awaitsReport ? 1 : 0
        launch.patience = CInt((configuration.patience + Self.margin).wholeNanoseconds / 1_000_000)
        launch.blocking_patience = CInt(
            (configuration.blockingPatience + Self.margin).wholeNanoseconds / 1_000_000)
        launch.context = Unmanaged.passUnretained(context).toOpaque()
        launch.policy = { channel, page, context in
            guard let context, let page else { return }
            let known = Unmanaged<Context>.fromOpaque(context).takeUnretainedValue()
            do throws(SystemError) {
                try ForkedProcess.goOn {
                    ProgramPolicy(channel: channel, page: page, known.configuration, console: known.console)
                        .run()
                }
            } catch {
                // The trap goes on without.
                return
            }
        }
        var failure: CInt = 0
        let status = trap_run(&launch, &failure)
        extendLifetime((context, programs, shown))
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
