// A process that makes steered sockets, for tests which look at it from outside, or end it.
//
//   level               what it may do, and why no more
//   level standard      the same with the journal where the library keeps it
//   order               what the kernel says to a command for no connection
//   make COUNT FOLDER   makes sockets one after the other; with FOLDER for the journal, - for none, or standard
//   hold FOLDER         stays between the two writes of the setting
//   time COUNT          makes sockets as the library does; prints how many are steered, and the slowest one's µs
//   claim               takes every name and lock that a lock of the setting could be, as far as this user can
//   squat NAME…         listens under names of Unix sockets, takes no connection, and leaves no room for any
//   stall               holds the event thread for a tenth of a second
//   forge FOLDER        writes a journal's entry: "kernel"
//   forked              has two threads of a forked child want a lock at once
//   flood SECONDS       has the first connection that is accepted announce addresses, take them back, and say which subflow
//                       is to carry, without a pause; prints how many addresses

import CLab
import CLinux
import Glibc
import LinuxNet
import PathCore
import Synchronization

@main
enum SubflowProbe {
    static func main() throws {
        let arguments = Array(CommandLine.arguments.dropFirst())
        func journal(_ place: Int) -> SysctlJournal? {
            switch arguments[place] {
            case "-": nil
            case "standard": .standard
            case let folder: SysctlJournal(folder: folder)
            }
        }
        switch arguments.first {
        case "level":
            let level = LocalSocketSource(journal: arguments.count > 1 ? journal(1) : nil).level
            print(level.name, level, separator: "\n")
        case "order":
            do throws(SystemError) {
                try SubflowCommands().remove(ConnectionToken(1), localID: 1)
                print("done")
            } catch {
                print(error.errno)
            }
        case "make":
            let source = LocalSocketSource(journal: journal(2), patience: .seconds(20))
            let count = Int(arguments[1])!
            var steered = 0
            let start = MonotonicTime.now
            for number in 0..<count {
                if try source.makeSocket(.ipv4).level == .perConnection { steered += 1 }
                if number == 0 { say("begun") }
            }
            print(steered, start.duration(to: .now).wholeNanoseconds / Int64(1_000 * count))
        case "hold":
            let selection = UserspaceSelection(PathManagerSetting.current!, journal: journal(1))
            try selection.during { () throws(SystemError) in
                say("held")
                _ = readLine()
            }
        case "time":
            let source = LocalSocketSource()
            var (steered, slowest) = (0, Duration.zero)
            for _ in 0..<Int(arguments[1])! {
                let start = MonotonicTime.now
                if try source.makeSocket(.ipv4).level == .perConnection { steered += 1 }
                slowest = max(slowest, start.duration(to: .now))
            }
            print(steered, slowest.wholeNanoseconds / 1_000)
        case "claim": claim()
        case "squat": squat(arguments.dropFirst())
        case "stall":
            try EventThread.shared.perform { () throws(SystemError) in _ = usleep(500_000) }
            print("done")
        case "forge": forge(arguments[1])
        case "forked": try forked()
        case "flood": try flood(.seconds(Int(arguments[1])!))
        default:
            fatalError(
                "usage: subflow-probe level | order | make COUNT FOLDER | hold FOLDER | time COUNT | claim | squat NAME… | forge FOLDER | forked | flood SECONDS"
            )
        }
    }

    private static func claim() -> Never {
        let name = socket(AF_UNIX, CInt(SOCK_STREAM.rawValue), 0)
        try? LocalSocket.withAddress("swift-multipath/path-manager") { address, length in
            _ = bind(name, address, length)
        }
        for path in ["mptcp/path_manager", "mptcp/pm_type", "ipv4/tcp_fastopen_key"] {
            let file = open("/proc/sys/net/" + path, O_RDONLY)
            if file >= 0 { _ = mp_lock_exclusively(file) }
        }
        say("claimed")
        while true { pause() }
    }

    private static func squat(_ names: ArraySlice<String>) -> Never {
        func make() -> CInt { socket(AF_UNIX, CInt(SOCK_STREAM.rawValue) | CInt(SOCK_NONBLOCK.rawValue), 0) }
        for name in names {
            try? LocalSocket.withAddress(name) { address, length in
                let listener = make()
                guard bind(listener, address, length) == 0, listen(listener, 0) == 0 else { return }
                while connect(make(), address, length) == 0 {}
            }
        }
        say("taken")
        while true { pause() }
    }

    private static func flood(_ duration: Duration) throws {
        let accepted = Locked<(token: ConnectionToken, facts: SubflowFacts)?>(nil)
        // Used on the event thread alone.
        nonisolated(unsafe) let events = SubflowEvents(on: .shared)
        _ = try EventThread.shared.perform { () throws(SystemError) in
            events.start { event in
                guard case .established(let token, let facts, isServer: true, _) = event else { return }
                accepted.withLock { $0 = $0 ?? (token, facts) }
            }
        }
        say("listens")
        while accepted.withLock({ $0 == nil }) { _ = usleep(10_000) }
        guard let (token, facts) = accepted.withLock({ $0 }) else { return }
        let commands = try SubflowCommands()
        var count = 0
        let start = MonotonicTime.now
        while start.duration(to: .now) < duration {
            // 198.18.0.0/15 is for tests like this one (RFC 2544).
            let number = UInt32(count % 250 + 1)
            let address = IPAddress(ipv4: 0xC612_0000 + number)
            if (try? commands.announce(token, .init(address, id: UInt8(number)))) != nil { count += 1 }
            try? commands.remove(token, localID: UInt8(number))
            try? commands.setBackup(
                token, local: facts.local, remote: facts.remote, count.isMultiple(of: 2))
        }
        say("\(count)")
    }

    private static func forked() throws -> Never {
        // Swift's own lock: Locked is the C library's.
        let count = Mutex(0)
        // From its first lock on this thread has a number, as Swift knows it.
        count.withLock { $0 += 1 }
        let child = mp_fork()
        guard child == 0 else {
            var status: CInt = 0
            while waitpid(child, &status, 0) < 0, errno == EINTR {}
            exit(status == 0 ? 0 : 1)
        }
        try ForkedProcess.goOn {
            let isHeld = Locked(false)
            do throws(SystemError) {
                try OwnThread.start("other") {
                    while !isHeld.withLock({ $0 }) { _ = usleep(1_000) }
                    count.withLock { $0 += 1 }
                }
            } catch {
                say("\(error)")
                exit(1)
            }
            // Long enough for the other to wait in the kernel.
            count.withLock { _ in
                isHeld.withLock { $0 = true }
                _ = usleep(100_000)
            }
            while count.withLock({ $0 }) < 2 { _ = usleep(1_000) }
            say("both")
            exit(0)
        }
    }

    private static func forge(_ folder: String) {
        var cookie: UInt64 = 0
        var length = socklen_t(MemoryLayout<UInt64>.size)
        let any = socket(AF_UNIX, CInt(SOCK_STREAM.rawValue), 0)
        _ = getsockopt(any, SOL_SOCKET, CInt(MP_SO_NETNS_COOKIE), &cookie, &length)
        _ = mkdir(folder, 0o700)
        let entry = open("\(folder)/path-manager-\(cookie)", O_WRONLY | O_CREAT, 0o600)
        _ = write(entry, "kernel", 6)
    }

    /// At once: print keeps it back when it isn't for a terminal.
    private static func say(_ line: String) {
        Array("\(line)\n".utf8).withUnsafeBytes { try? StandardStream.output.write($0) }
    }
}
