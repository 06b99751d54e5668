import Foundation
import LabNet
import PathCore
import TestSupport
import Testing

@testable import LinuxNet

@Suite("Making sockets with the userspace path manager", .needs("unshare"), .needsNamespaces)
struct SocketSourceTests {
    /// A folder for the journal, and the setting of this namespace.
    private struct World {
        let folder: TemporaryFolder
        let journal: SysctlJournal

        init() throws {
            folder = try TemporaryFolder()
            journal = SysctlJournal(folder: folder.file("journal"))
        }

        var setting: String { InputFile.line(PathManagerSetting.named.path) ?? "" }
        /// Of the files, an empty one is no entry.
        var entryCount: Int { files.count { (try? folder.text("journal/\($0)")) != "" } }
        var files: [String] {
            (try? FileManager.default.contentsOfDirectory(atPath: journal.folders[0])) ?? []
        }

        func source(patience: Duration = .seconds(20)) -> LocalSocketSource {
            LocalSocketSource(journal: journal, patience: patience)
        }

        /// A process that has selected it and is about to put back what was there.
        func holder() async throws -> Running {
            let holder = try Running([Program.product("subflow-probe"), "hold", journal.folders[0]])
            try await Program.wait("the other process") { holder.outputText == "held\n" }
            return holder
        }

        func kill(_ process: Running) async throws {
            process.kill()
            #expect(try await process.result().status == -SIGKILL)
        }
    }

    @Test("puts back what was there, also where making the socket fails", .inNamespace)
    func restores() throws {
        let world = try World()
        let selection = UserspaceSelection(.named, journal: world.journal)
        #expect(world.setting == "kernel")
        let seen = try selection.during { () throws(SystemError) in (world.setting, world.entryCount) }
        #expect(seen == ("userspace", 1))
        #expect((world.setting, world.entryCount) == ("kernel", 0))
        #expect(throws: SystemError("make a socket", errno: EMFILE)) {
            try selection.during { () throws(SystemError) in throw SystemError("make a socket", errno: EMFILE)
            }
        }
        #expect((world.setting, world.entryCount) == ("kernel", 0))
        #expect(try world.source().makeSocket(.ipv6).level == .perConnection)
        #expect((world.setting, world.entryCount) == ("kernel", 0))
        // By the older file, which other kernels have alone.
        let older = UserspaceSelection(.numbered, journal: world.journal)
        #expect(try older.during { () throws(SystemError) in world.setting } == "userspace")
        #expect((world.setting, world.entryCount) == ("kernel", 0))
    }

    @Test(
        "keeps its journal's file while it lasts, and leaves none, nor what killed processes have left",
        .inNamespace)
    func files() async throws {
        let world = try World()
        let namespace = try SysctlJournal.namespace(of: LocalSocket.make())
        let entry = world.journal.entry(of: namespace)
        try FileManager.default.createDirectory(
            atPath: world.journal.folders[0], withIntermediateDirectories: true)
        try world.folder.write("", to: "journal/path-manager-1")
        try world.folder.write("kernel", to: "journal/path-manager-2")
        do {
            let source = world.source()
            #expect(world.files == ["path-manager-2"])
            for isRemoved in [false, false, true, false] {
                if isRemoved { try world.folder.remove("journal/path-manager-\(namespace)") }
                #expect(try source.makeSocket(.ipv4).level == .perConnection)
                // One in use is not taken for one that was left.
                #expect(try world.source().makeSocket(.ipv4).level == .perConnection)
                #expect(world.files.count == 2)
            }
            let holder = try await world.holder()
            #expect(entry.read() == "kernel")
            holder.endInput()
            #expect(try await holder.result().status == 0)
            #expect(entry.read() == nil)
        }
        // Its owner, in another network namespace, may have been killed and may come again.
        #expect(world.files == ["path-manager-2"])
        #expect(world.setting == "kernel")
    }

    @Test("drops a killed process's entry in whichever folder that is", .inNamespace)
    func otherFolder() throws {
        let folder = try TemporaryFolder()
        let own = SysctlJournal(folder: folder.file("own"))
        let other = SysctlJournal(folder: folder.file("other"))
        let namespace = try SysctlJournal.namespace(of: LocalSocket.make())
        let source = LocalSocketSource(journal: SysctlJournal(folders: own.folders + other.folders))
        for _ in 0..<2 {
            var killed = SysctlJournal.OpenEntry(other.entry(of: namespace))
            try killed.write("kernel")
            try ControlFile.sysctl("net/mptcp/path_manager", "userspace")
            #expect(try source.makeSocket(.ipv4).level == .perConnection)
            #expect(InputFile.line(PathManagerSetting.named.path) == "kernel")
            #expect(own.entry(of: namespace).read() == nil && other.entry(of: namespace).read() == nil)
            killed.close()
        }
    }

    @Test("leaves an administrator's choice alone, also one made in between", .inNamespace)
    func choices() throws {
        let world = try World()
        try ControlFile.sysctl("net/mptcp/path_manager", "userspace")
        #expect(try world.source().makeSocket(.ipv4).level == .perConnection)
        #expect((world.setting, world.entryCount) == ("userspace", 0))
        try ControlFile.sysctl("net/mptcp/path_manager", "kernel")
        // The administrator writes within the window: what is not ours is not put back.
        let selection = UserspaceSelection(.named, journal: world.journal)
        try selection.during { () throws(SystemError) in
            try ControlFile.sysctl("net/mptcp/path_manager", "kernel")
        }
        #expect((world.setting, world.entryCount) == ("kernel", 0))
        // An entry of long ago says nothing about a setting that was changed since.
        try selection.during { () throws(SystemError) in }
    }

    @Test("mends what a process left that was killed in between", .inNamespace)
    func killed() async throws {
        let world = try World()
        try await world.kill(try await world.holder())
        #expect((world.setting, world.entryCount) == ("userspace", 1))
        // By the next process's start,
        _ = world.source()
        #expect((world.setting, world.entryCount) == ("kernel", 0))
        // or by the next socket of one that is there.
        let source = world.source()
        try await world.kill(try await world.holder())
        #expect(world.setting == "userspace")
        #expect(try source.makeSocket(.ipv4).level == .perConnection)
        #expect((world.setting, world.entryCount) == ("kernel", 0))
        // Where another process was quicker, the entry goes and the setting stays.
        try await world.kill(try await world.holder())
        try ControlFile.sysctl("net/mptcp/path_manager", "kernel")
        _ = world.source()
        #expect((world.setting, world.entryCount) == ("kernel", 0))
        try ControlFile.sysctl("net/mptcp/path_manager", "userspace")
        _ = world.source()
        #expect((world.setting, world.entryCount) == ("userspace", 0))
    }

    @Test(
        "distrusts journal entries that others could have written, or that name no path manager", .inNamespace
    )
    func distrustedEntries() async throws {
        let world = try World()
        try await world.kill(try await world.holder())
        let entry = try #require(
            FileManager.default.contentsOfDirectory(atPath: world.journal.folders[0]).first)
        for text in ["", "no such/name", "userspace", String(repeating: "k", count: 100)] {
            try world.folder.write(text, to: "journal/\(entry)")
            _ = world.source()
            #expect(world.setting == "userspace", "\(text)")
        }
        try world.folder.write("kernel", to: "journal/\(entry)")
        #expect(chmod(world.journal.folders[0], 0o777) == 0)
        _ = world.source()
        #expect(world.setting == "userspace")
        #expect(chmod(world.journal.folders[0], 0o700) == 0)
        _ = world.source()
        #expect(world.setting == "kernel")
    }

    @Test("waits for others, but not for ever, and goes on without control", .inNamespace)
    func busy() async throws {
        let world = try World()
        let source = world.source(patience: .milliseconds(30))
        let holder = try await world.holder()
        let made = try source.makeSocket(.ipv4)
        #expect(made.level == .observeOnly(because: .settingBusy))
        #expect((world.setting, world.entryCount) == ("userspace", 1))
        holder.endInput()
        #expect(try await holder.result().status == 0)
        #expect((world.setting, world.entryCount) == ("kernel", 0))
        #expect(try source.makeSocket(.ipv4).level == .perConnection)
    }

    @Test(
        "is safe among many processes and threads, some of which are killed",
        .inNamespace(within: .seconds(120)))
    func many() async throws {
        let world = try World()
        var random = SplitMix64(seed: 6_824)
        let probe = Program.product("subflow-probe")
        let count = 200
        var left = 0
        for round in 0..<5 {
            // These would go on for minutes.
            let victims = try (0..<4).map { _ in
                try Running([probe, "make", "10000000", world.journal.folders[0]])
            }
            try await Program.wait("the victims' first sockets") {
                victims.allSatisfy { $0.outputText == "begun\n" }
            }
            let processes = try (0..<4).map { _ in
                try Running([probe, "make", "\(count)", world.journal.folders[0]])
            }
            let source = world.source()
            let threads = (0..<3).map { _ in
                Task {
                    var steered = 0
                    for _ in 0..<count where try source.makeSocket(.ipv4).level == .perConnection {
                        steered += 1
                    }
                    return steered
                }
            }
            for victim in victims {
                // No moment is the right one: any is.
                usleep(UInt32(random.next() % 3_000))
                victim.kill()
            }
            for victim in victims { #expect(try await victim.result().status == -SIGKILL) }
            for process in processes {
                let result = try await process.result()
                #expect(result.status == 0 && result.outputText.hasPrefix("begun\n\(count) "), "\(result)")
            }
            for thread in threads { #expect(try await thread.value == count) }
            _ = world.source()
            #expect((world.setting, world.entryCount) == ("kernel", 0), "round \(round)")
        }
        // One alone, killed again and again: no other process is there to mend it, and every look is a test.
        for round in 0..<40 {
            let victim = try Running([probe, "make", "10000000", world.journal.folders[0]])
            try await Program.wait("the victim's first socket") { victim.outputText == "begun\n" }
            usleep(UInt32(random.next() % 3_000))
            try await world.kill(victim)
            if world.setting != "kernel" {
                left += 1
                #expect(world.entryCount == 1)
            }
            _ = world.source()
            #expect((world.setting, world.entryCount) == ("kernel", 0), "round \(round)")
        }
        print("measured: \(left) of 40 killed processes left the setting changed, and each was mended")
    }

    /// Where the library's own journal can be written, in a mount namespace where nothing else can.
    enum Writable: String, CaseIterable {
        case run = "/run", shm = "/dev/shm", runtimeDirectory = "RUNTIME_DIRECTORY"
    }

    /// A function of the shell: kills a process that makes sockets, somewhere in the middle.
    private static let killing = #"""
        kill_one() {
            "$probe" make 10000000 standard > "$work/begun" &
            victim=$!
            until grep -q begun "$work/begun"; do :; done
            sleep 0.00$((RANDOM % 9))
            kill -KILL $victim
            wait $victim 2> "$work/errors" || true
        }
        """#

    private static func withoutFolders(_ writable: Writable?, _ script: String) async throws -> Program.Result
    {
        let given = try TemporaryFolder()
        let mounts = Writable.allCases.filter { $0 != .runtimeDirectory }.map { place in
            "mount -t tmpfs \(place == writable ? "" : "-o ro ")none \(place.rawValue)"
        }
        return try await Program.run(
            [
                "unshare", "--mount", "bash", "-c",
                "set -eu\n\(mounts.joined(separator: "\n"))\n\(killing)\n\(script)",
            ],
            environment: [
                "probe": Program.product("subflow-probe"), "work": given.path,
                "RUNTIME_DIRECTORY": writable == .runtimeDirectory ? given.path : "",
            ], within: .seconds(100))
    }

    @Test(
        "leaves a journal entry in whichever folder a process may write, by which the next one mends what a kill left",
        .inNamespace(within: .seconds(120)), arguments: Writable.allCases)
    func standardFolders(_ writable: Writable) async throws {
        let result = try await Self.withoutFolders(
            writable,
            #"""
            left=0
            for round in $(seq 40); do
                kill_one
                [ "$(cat /proc/sys/net/mptcp/path_manager)" = kernel ] || left=$((left + 1))
                "$probe" make 1 standard > "$work/begun"
                cat /proc/sys/net/mptcp/path_manager
            done
            echo "$left were left" >&2
            """#)
        print(
            "measured: with \(writable.rawValue) alone,", result.errors.filter { $0 != "\n" },
            "changed of 40, and each was mended")
        #expect(result.status == 0, "\(result.errors)")
        #expect(result.outputText == String(repeating: "kernel\n", count: 40))
    }

    @Test("changes nothing where no folder can take a journal entry, and says so", .inNamespace)
    func noFolder() async throws {
        let result = try await Self.withoutFolders(
            nil,
            #"""
            "$probe" level standard
            for round in $(seq 20); do
                kill_one
                cat /proc/sys/net/mptcp/path_manager
            done
            """#)
        #expect(result.status == 0, "\(result.errors)")
        #expect(
            result.outputText
                == "observe_only\nonly observes: \(ControlLimit.settingUnjournalled)\n"
                + String(repeating: "kernel\n", count: 20))
    }

    @Test("keeps no journal entry in a folder that is another user's, or open to others", .inNamespace)
    func foreignFolder() throws {
        let folder = try TemporaryFolder()
        try folder.makeFolder("open")
        #expect(chmod(folder.file("open"), 0o777) == 0)
        try folder.link("link", to: folder.path)
        let journal = SysctlJournal(folders: ["open", "link", "own"].map(folder.file))
        let selection = UserspaceSelection(.named, journal: journal)
        try selection.during { () throws(SystemError) in
            #expect((try? FileManager.default.contentsOfDirectory(atPath: folder.file("own")))?.count == 1)
            #expect((try? FileManager.default.contentsOfDirectory(atPath: folder.file("open")))?.count == 0)
        }
        let none = UserspaceSelection(.named, journal: SysctlJournal(folder: folder.file("open")))
        let error = #expect(throws: SystemError.self) { try none.during {} }
        #expect(error?.operation == SysctlJournal.operation)
        #expect(InputFile.line(PathManagerSetting.named.path) == "kernel")
    }

    @Test("says what stands in the way: no MPTCP, or a setting that can't be written", .inNamespace)
    func levels() async throws {
        let world = try World()
        #expect(world.source().level == .perConnection)
        let probe = Program.product("subflow-probe")
        let readOnly = try await Program.run([
            "unshare", "--mount", "bash", "-c",
            "mount --bind /proc/sys /proc/sys && mount -o remount,bind,ro /proc/sys && exec \(probe) level",
        ])
        let reason = "/proc/sys/net/mptcp/path_manager can't be written: Read-only file system"
        #expect(
            readOnly.outputText == "observe_only\nonly observes: \(reason)\n", "\(readOnly.errors)")
        try ControlFile.sysctl("net/mptcp/enabled", "0")
        let off = world.source()
        #expect(off.level == .observeOnly(because: .mptcpDisabled))
        let error = #expect(throws: SystemError.self) { _ = try off.makeSocket(.ipv4).level }
        #expect(error?.errno == ENOPROTOOPT)
    }

    @Test("costs microseconds", .inNamespace)
    func cost() async throws {
        let world = try World()
        let probe = Program.product("subflow-probe")
        for (what, folder) in [("with a journal", world.journal.folders[0]), ("without", "-")] {
            let result = try await Program.run([probe, "make", "2000", folder])
            let words = result.outputText.split { $0 == " " || $0 == "\n" }
            print("measured: \(words.last ?? "") µs for a steered socket, \(what)")
            #expect(words.dropLast() == ["begun", "2000"])
        }
    }
}
