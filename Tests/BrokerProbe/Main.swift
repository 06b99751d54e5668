// Clients of a broker that tests and measurements need as processes of their own.
//
//   abuse SOCKET             sends everything that is refused; a line for each answer
//   elsewhere SOCKET         passes a socket of this process's network namespace
//   prepare SOCKET COUNT     has so many sockets prepared; prints µs at p50, p99 and the most, and what was refused
//   plain COUNT              makes so many plain MPTCP connections over loopback; prints how many the userspace path
//                            manager got (as an administrator), and whether all carried data
//   setting MILLISECONDS     prints for how long the setting was changed without a break at the most, in µs
//   flood SOCKET SECONDS     sends garbage and requests as fast as it can
//   unread SOCKET COUNT      connects so often, asks each time until it is dropped, reads nothing and keeps the sockets;
//                            prints how many have more to read than a refusal, how many that, and the KiB of all
//   own-end SOCKET COUNT     so many clients that read nothing pass their own socket in a packet that the daemon does not come
//                            to, and go
//   stop SOCKET              takes a connection of the daemon's and stops in the middle

import CLinux
import Glibc
import LinuxNet
import PathBroker
import PathCore

@main
enum Main {
    static func main() throws {
        let arguments = Array(CommandLine.arguments.dropFirst())
        StandardStream.ignoreBrokenPipes()
        switch (arguments.first, arguments.count) {
        case ("abuse", 2): try Abuse.run(arguments[1])
        case ("elsewhere", 2):
            let socket = try StreamSocket(.ipv4, .mptcp)
            say(try ProbeClient(arguments[1]).request(.prepare, passing: socket.descriptor.number))
        case ("prepare", 3): try prepare(arguments[1], Int(arguments[2]) ?? 1)
        case ("plain", 2): try plain(Int(arguments[1]) ?? 1)
        case ("setting", 2): try setting(.milliseconds(Int(arguments[1]) ?? 1))
        case ("flood", 3): try flood(arguments[1], .seconds(Int(arguments[2]) ?? 1))
        case ("unread", 3): try unread(arguments[1], Int(arguments[2]) ?? 1)
        case ("own-end", 3): try passOwnEnds(arguments[1], Int(arguments[2]) ?? 1)
        case ("stop", 2):
            let client = try ProbeClient(arguments[1])
            _ = client.transmit(BrokerRequest.status.packet(id: 1), [])
            say("stopped")
            raise(SIGSTOP)
        default: fatalError("see Tests/BrokerProbe/Main.swift")
        }
    }

    private static func prepare(_ path: String, _ count: Int) throws {
        let client = try ProbeClient(path)
        var times: [Int64] = []
        var others: [String: Int] = [:]
        while times.count < count {
            let socket = try StreamSocket(.ipv4, .mptcp)
            let begun = MonotonicTime.now
            let answer = client.request(.prepare, passing: socket.descriptor.number)
            let time = begun.duration(to: .now).wholeNanoseconds
            if answer == "done" {
                times.append(time)
            } else {
                others[answer, default: 0] += 1
                guard answer == "too_fast" || answer == "setting_busy" || answer == "socket_held" else {
                    break
                }
                usleep(2_000)
            }
        }
        times.sort()
        guard let last = times.last else { return say("none: \(others)") }
        func at(_ part: Double) -> Double { Double(times[Int(Double(times.count - 1) * part)]) / 1_000 }
        say(
            "\(times.count) prepared, p50 \(at(0.5)) p99 \(at(0.99)) most \(Double(last) / 1_000) µs, else \(others)"
        )
    }

    private static func plain(_ count: Int) throws {
        let commands = try SubflowCommands()
        var (caught, broken) = (0, 0)
        for _ in 0..<count {
            guard let connection = try? ProbeConnection() else {
                broken += 1
                continue
            }
            if (try? commands.addresses(connection.token)) != nil { caught += 1 }
        }
        say("\(count) plain connections, \(caught) with the userspace path manager, \(broken) broken")
    }

    private static func setting(_ duration: Duration) throws {
        let path = "/proc/sys/net/mptcp/path_manager"
        let file = open(path, O_RDONLY)
        let end = MonotonicTime.now.advanced(by: duration)
        var (since, longest): (MonotonicTime?, Duration) = (nil, .zero)
        var byte: UInt8 = 0
        while MonotonicTime.now < end {
            guard pread(file, &byte, 1, 0) == 1 else { break }
            if byte == UInt8(ascii: "u") {
                let begun = since ?? .now
                since = begun
                longest = max(longest, begun.duration(to: .now))
            } else {
                since = nil
            }
        }
        say("changed for \(longest.wholeNanoseconds / 1_000) µs at most; now \(InputFile.line(path) ?? "")")
    }

    private static func unread(_ path: String, _ count: Int) throws {
        var clients: [ProbeClient] = []
        while clients.count < count {
            // As many wait to be accepted as may.
            guard let client = try? ProbeClient(path, greets: false) else { continue }
            clients.append(client)
            var request = BrokerRequest.hello
            while true {
                if client.transmit(request.packet(id: 1), []) {
                    request = .status
                } else {
                    guard errno == EAGAIN else { break }
                    usleep(100)
                }
            }
        }
        // What is refused takes one packet.
        let sizes = clients.map { client in
            var size: CInt = 0
            return ioctl(client.socket.number, UInt(FIONREAD), &size) == 0 ? Int(size) : 0
        }
        let (long, short) = (sizes.count { $0 > 1_000 }, sizes.count { (1...1_000).contains($0) })
        say("\(long) unread, \(short) refusals, \(sizes.reduce(0, +) / 1_024) KiB")
        raise(SIGSTOP)
    }

    private static func passOwnEnds(_ path: String, _ count: Int) throws {
        var passed = 0
        while passed < count {
            guard let client = try? ProbeClient(path) else { continue }
            // They keep the daemon busy. To a packet without bytes it takes the client for gone: what follows stays unreceived.
            let asked = (2...33).allSatisfy { client.transmit(BrokerRequest.status.packet(id: $0), []) }
            if asked, client.transmit([], []), client.transmit([1], [client.socket.number]) { passed += 1 }
        }
        say("\(passed) passed their own end")
    }

    private static func flood(_ path: String, _ duration: Duration) throws {
        let end = MonotonicTime.now.advanced(by: duration)
        var (sent, clients) = (0, 0)
        while MonotonicTime.now < end {
            guard let client = try? ProbeClient(path) else { continue }
            clients += 1
            while MonotonicTime.now < end {
                let bytes =
                    sent % 3 == 0
                    ? BrokerRequest.status.packet(id: 1) : [UInt8](repeating: 7, count: sent % 900)
                guard client.transmit(bytes, []) || errno == EAGAIN else { break }
                sent += 1
                var rest: UInt64 = 0
                while recv(client.socket.number, &rest, 8, CInt(MSG_DONTWAIT)) > 0 {}
            }
        }
        say("\(sent) packets from \(clients) clients")
    }
}

/// At once: print keeps it back when it isn't for a terminal.
func say(_ line: String) {
    Array("\(line)\n".utf8).withUnsafeBytes { try? StandardStream.output.write($0) }
}
