// Runs the built mplab, with what a test says, as a user would: the assertions look from outside.

import Dispatch
import Foundation
import Testing

/// What a program printed, and how it ended.
public struct Outcome {
    public var status: Int32
    public var output: String
    public var errors: String
    public var duration: Duration

    public var lines: [Substring] { output.split(separator: "\n") }
}

public enum LabCommand {
    /// Where the build put a program of this package.
    public static func program(_ name: String) -> String { Program.product(name) }

    /// Runs a program to its end. One that isn't over by the deadline is killed, and the test fails.
    public static func run(
        _ arguments: [String], input: String = "", deadline: Duration = .seconds(60)
    ) throws -> Outcome {
        let running = try RunningCommand(arguments)
        running.write(input)
        return running.wait(deadline)
    }

    /// Runs a shell's script in a lab's client host.
    public static func lab(
        _ options: [String] = [], _ script: String, deadline: Duration = .seconds(60)
    ) throws -> Outcome {
        try run(
            [program("mplab"), "run", "--quiet"] + options + ["--", "bash", "-c", script], deadline: deadline)
    }

    /// Whether a lab can run here, and why not.
    public static let obstacle: String? = {
        for tool in ["bash", "ping", "ip", "ss", "curl", "iperf3"] {
            let found = try? run(["/bin/sh", "-c", "command -v \(tool)"])
            if found?.status != 0 {
                return "\(tool) is missing: install bash iproute2 iputils-ping curl iperf3"
            }
        }
        guard let outcome = try? run([program("mplab"), "run", "--", "true"]) else {
            return "mplab can't be run"
        }
        return outcome.status == 0 ? nil : outcome.errors
    }()
}

extension Trait where Self == ConditionTrait {
    /// For tests that need a lab.
    public static var lab: ConditionTrait {
        if Requirement.isStrict { return .enabled(if: true) }
        return .enabled(if: LabCommand.obstacle == nil, "no lab can run here: \(LabCommand.obstacle ?? "")")
    }
}

/// A program that runs while the test does something else.
public final class RunningCommand: @unchecked Sendable {
    public let process = Process()
    private let input = Pipe()
    private let output = Pipe()
    private let errors = Pipe()
    private let begun = ContinuousClock.now
    private let readers = DispatchGroup()
    private let ended = DispatchSemaphore(value: 0)
    // Each is written by one reader before the group is left, and read after.
    private var outputData = Data()
    private var errorData = Data()

    public init(_ arguments: [String]) throws {
        process.executableURL = URL(fileURLWithPath: arguments[0])
        process.arguments = Array(arguments.dropFirst())
        process.standardInput = input
        process.standardOutput = output
        process.standardError = errors
        process.terminationHandler = { [ended] _ in ended.signal() }
        try process.run()
        DispatchQueue.global().async(group: readers) { [self] in
            outputData = output.fileHandleForReading.readDataToEndOfFile()
        }
        DispatchQueue.global().async(group: readers) { [self] in
            errorData = errors.fileHandleForReading.readDataToEndOfFile()
        }
    }

    /// Gives the program all its input.
    public func write(_ text: String) {
        try? input.fileHandleForWriting.write(contentsOf: Data(text.utf8))
        try? input.fileHandleForWriting.close()
    }

    public func signal(_ number: Int32) { kill(process.processIdentifier, number) }

    public func wait(_ deadline: Duration = .seconds(60)) -> Outcome {
        if ended.wait(timeout: .now() + Double(deadline.components.seconds)) == .timedOut {
            Issue.record("\(process.arguments ?? []) was not over after \(deadline)")
            kill(process.processIdentifier, SIGKILL)
            ended.wait()
        }
        readers.wait()
        for handle in [output.fileHandleForReading, errors.fileHandleForReading, input.fileHandleForWriting] {
            try? handle.close()
        }
        let duration = ContinuousClock.now - begun
        let status = process.terminationReason == .uncaughtSignal ? 128 : Int32(0)
        return Outcome(
            status: status + process.terminationStatus, output: String(decoding: outputData, as: UTF8.self),
            errors: String(decoding: errorData, as: UTF8.self), duration: duration)
    }
}

/// Waits until something is true; false at the deadline.
public func eventually(_ deadline: Duration = .seconds(30), _ condition: () throws -> Bool) rethrows -> Bool {
    let end = ContinuousClock.now + deadline
    while ContinuousClock.now < end {
        if try condition() { return true }
        usleep(10_000)
    }
    return false
}
