import Foundation
import TestSupport
import Testing

extension Labs {
    @Suite("mplab run")
    struct Processes {
        @Test("ends with its command's status")
        func status() throws {
            #expect(try LabCommand.lab([], "exit 7").status == 7)
            #expect(try LabCommand.lab([], "kill -9 $$").status == 137)
            let missing = try LabCommand.run([LabCommand.program("mplab"), "run", "--", "no-such-program"])
            #expect(missing.status == 127)
            #expect(missing.errors == "mplab: start 'no-such-program': No such file or directory\n")
        }

        @Test("finds a program, or none, behind a folder of PATH that it may not read", .needsRoot)
        func unreadableFolder() throws {
            let folder = FileManager.default.temporaryDirectory.appendingPathComponent("\(UUID())").path
            try FileManager.default.createDirectory(
                atPath: folder, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
            defer { try? FileManager.default.removeItem(atPath: folder) }
            func run(_ command: String...) throws -> Outcome {
                try LabCommand.run(
                    ["/usr/bin/setpriv", "--reuid", "65534", "--regid", "65534", "--clear-groups"]
                        + ["/usr/bin/env", "PATH=\(folder):/usr/bin:/bin"]
                        + [LabCommand.program("mplab"), "run", "--"] + command)
            }
            let missing = try run("no-such-program")
            #expect(missing.status == 127)
            #expect(missing.errors == "mplab: start 'no-such-program': No such file or directory\n")
            #expect(try run("echo", "found").output == "found\n")
        }

        @Test("leaves input and output to its command")
        func streams() throws {
            let outcome = try LabCommand.run(
                [LabCommand.program("mplab"), "run", "--", "tr", "a-z", "A-Z"], input: "hello\n")
            #expect(outcome.output == "HELLO\n")
            #expect(outcome.errors == "")
            #expect(outcome.status == 0)
        }

        @Test("passes a termination signal on")
        func termination() throws {
            let running = try RunningCommand(
                [LabCommand.program("mplab"), "run", "--", "bash", "-c"]
                    + ["trap 'echo told; exit 5' TERM; echo ready; while :; do read -t 1; done"])
            // The lab is there when it can be told something.
            #expect(try eventually { try Self.set(running, "wlan0", "rtt=1ms") == 0 })
            #expect(eventually { running.process.isRunning })
            // The trap is set before 'ready' is printed, but that can't be seen yet: ask until it ends.
            let ended = eventually(.seconds(20)) {
                running.signal(SIGTERM)
                return !running.process.isRunning
            }
            #expect(ended)
            let outcome = running.wait()
            #expect(outcome.output.hasSuffix("told\n") || outcome.status == 128 + SIGTERM)
        }

        /// Tells a running lab something, from outside.
        static func set(_ running: RunningCommand, _ words: String...) throws -> Int32 {
            try LabCommand.run(
                [LabCommand.program("mplab"), "set", "--lab", "\(running.process.processIdentifier)"] + words
            ).status
        }

        @Test("leaves nothing behind when it is killed")
        func killed() throws {
            let marker = "\(UInt32.random(in: 100_000...999_999))"
            let running = try RunningCommand(
                [LabCommand.program("mplab"), "run", "--", "sleep", marker])
            #expect(eventually { Self.isRunning("sleep", marker) })
            running.signal(SIGKILL)
            #expect(running.wait().status == 128 + SIGKILL)
            #expect(eventually { !Self.isRunning("sleep", marker) })
            #expect(
                try LabCommand.run([
                    LabCommand.program("mplab"), "set", "--lab", "\(running.process.processIdentifier)",
                ]).status == 1)
        }

        /// Whether a process has exactly these arguments.
        static func isRunning(_ arguments: String...) -> Bool {
            let processes = (try? FileManager.default.contentsOfDirectory(atPath: "/proc")) ?? []
            return processes.contains { number in
                guard Int32(number) != nil,
                    let line = FileManager.default.contents(atPath: "/proc/\(number)/cmdline")
                else { return false }
                return line.split(separator: 0).map { String(decoding: $0, as: UTF8.self) } == arguments
            }
        }

        @Test("leaves nothing behind after two hundred labs")
        func twoHundred() throws {
            // Other tests' labs come and go beside these: a mark in their surroundings tells whose a process is.
            let mark = "MPLAB_TEST=\(UUID())"
            var labs: Set<Int32> = []
            let before = Self.traces(of: labs, mark)
            for _ in 0..<200 {
                let lab = try RunningCommand(
                    ["/usr/bin/env", mark, LabCommand.program("mplab"), "run", "--", "true"])
                labs.insert(lab.process.processIdentifier)
                let outcome = lab.wait()
                try #require(outcome.status == 0, "\(outcome.errors)")
            }
            // The kernel takes its time with what is no longer used.
            // What was there before, of this machine's other business, may have gone meanwhile.
            func left() -> [String: Set<String>] {
                Self.traces(of: labs, mark).merging(before) { $0.subtracting($1) }
                    .filter { !$0.value.isEmpty }
            }
            var last: [String: Set<String>] = [:]
            _ = eventually(.seconds(30)) {
                last = left()
                return last.isEmpty
            }
            #expect(last == [:])
        }

        @Test("is seen by its traces while it runs")
        func traces() throws {
            let mark = "MPLAB_TEST=\(UUID())"
            let before = Self.traces(of: [], mark)
            let lab = try RunningCommand(
                ["/usr/bin/env", mark, LabCommand.program("mplab"), "run", "--"]
                    + ["sh", "-c", "echo ready; read line"])
            let labs: Set = [lab.process.processIdentifier]
            func left() -> Set<String> {
                Set(
                    Self.traces(of: labs, mark).merging(before) { $0.subtracting($1) }
                        .filter { !$0.value.isEmpty }.keys)
            }
            #expect(eventually { left().isSuperset(of: ["processes", "names", "files"]) })
            lab.write("\n")
            #expect(lab.wait().status == 0)
            #expect(eventually { left().isEmpty })
        }

        /// What labs, known by their process numbers and by a mark in their environment, could leave behind: processes,
        /// mounts, files and sockets' names, and interfaces outside of any lab.
        private static func traces(of labs: Set<Int32>, _ mark: String) -> [String: Set<String>] {
            func list(_ folder: String) -> Set<String> {
                Set((try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? [])
            }
            // (`FileManager.contents` reads one page of a file of /proc.)
            func contents(_ path: String) -> Data {
                (try? FileHandle(forReadingAtPath: path)?.readToEnd()) ?? Data()
            }
            func text(_ path: String) -> Set<String> {
                Set(String(decoding: contents(path), as: UTF8.self).split(separator: "\n").map(String.init))
            }
            // A lab's name and its folder have its process number: mplab-4711, mplab-4711-x9.
            func isOurs(_ name: String) -> Bool {
                guard let found = name.firstRange(of: "mplab-") else { return false }
                return Int32(name[found.upperBound...].prefix(while: \.isNumber)).map(labs.contains) ?? false
            }
            return [
                // A network namespace lives by its processes, descriptors and mounts: a lab's own, and what ran in it.
                "processes": list("/proc").filter { number in
                    Int32(number) != nil
                        && contents("/proc/\(number)/environ").split(separator: 0).contains(Data(mark.utf8))
                },
                "interfaces": list("/sys/class/net"), "mounts": text("/proc/self/mountinfo"),
                "named namespaces": list("/run/netns"),
                "names": text("/proc/net/unix").filter(isOurs),
                "files": list("/tmp").union(list(FileManager.default.temporaryDirectory.path)).filter(isOurs),
            ]
        }

        @Test("works for an ordinary user", .enabled(if: geteuid() == 0, "only root can become another user"))
        func ordinaryUser() throws {
            let outcome = try LabCommand.run(
                ["/usr/bin/setpriv", "--reuid", "65534", "--regid", "65534", "--clear-groups"]
                    + [LabCommand.program("mplab"), "run", "--wifi", "rtt=20ms", "--"]
                    + ["bash", "-c", "id -u; ping -q -c 2 -i 0.2 server | tail -1"])
            #expect(outcome.lines.first == "65534", "\(outcome.errors)")
            #expect(outcome.lines.last?.hasPrefix("rtt min/avg/max") == true)
        }

        @Test("works in a lab")
        func nested() throws {
            let outcome = try LabCommand.lab([], "'\(LabCommand.program("mplab"))' run -- echo inside")
            #expect(outcome.output == "inside\n", "\(outcome.errors)")
        }
    }
}
