import LabNet
import PathCore
import TestSupport
import Testing

@testable import LinuxNet

@Suite("The hint watch")
struct HintWatchTests {
    private static let eth0 = LinkFact(index: 2, name: "eth0")

    @Test("is empty and silent where nothing exists")
    func nothing() throws {
        let watched = try WatchedHints(in: TemporaryFolder())
        #expect(try watched.read() == InterfaceHints())
        #expect(try watched.counters == HintWatch.Counters())
        #expect(watched.changes == 0)
    }

    @Test("reads the settings that are there, and counts the lines it can't read")
    func settings() throws {
        let folder = try TemporaryFolder()
        try folder.makeFolder("config/multipath")
        try folder.write("expensive yes a\ntypo\nexpensive yes\n", to: "config/multipath/paths.conf")
        let watched = try WatchedHints(in: folder)
        #expect(try watched.read().settings.entries == ["a": .init(isExpensive: true)])
        #expect(try watched.counters == HintWatch.Counters(malformed: 2))
    }

    @Test("sees the settings edited in place, replaced, given up and made again")
    func live() async throws {
        let folder = try TemporaryFolder()
        let file = "config/multipath/paths.conf"
        let watched = try WatchedHints(in: folder)
        try await watched.expectExpensive("a", after: "the folders are made, and the file") {
            try folder.makeFolder("config/multipath")
            try folder.write("expensive yes a", to: file)
        }
        try await watched.expectExpensive("b", after: "the file is edited") {
            try folder.write("expensive yes b", to: file)
        }
        try await watched.expectExpensive("c", after: "the file is replaced") {
            try folder.replace(file, with: "expensive yes c")
        }
        try await watched.expectExpensive(after: "the file is deleted") { try folder.remove(file) }
        try await watched.expectExpensive("d", after: "the file is made again") {
            try folder.write("expensive yes d", to: file)
        }
        try await watched.expectExpensive(after: "the file is moved away") {
            try folder.move(file, to: "elsewhere")
        }
        try await watched.expectExpensive("e", after: "a file is moved there") {
            try folder.write("expensive yes e", to: "other")
            try folder.move("other", to: file)
        }
        try await watched.expectExpensive(after: "the folder is deleted") {
            try folder.remove("config/multipath")
        }
        try await watched.expectExpensive("f", after: "the folder is made again") {
            try folder.makeFolder("config/multipath")
            try folder.write("expensive yes f", to: file)
        }
        try await watched.expectExpensive(after: "a folder above is moved away") {
            try folder.move("config", to: "old")
        }
        try await watched.expectExpensive("g", after: "a whole tree is moved there") {
            try folder.write("expensive yes g", to: "old/multipath/paths.conf")
            try folder.move("old", to: "config")
        }
        #expect(try watched.counters == HintWatch.Counters())
    }

    @Test(
        "follows symbolic links: the file's, a folder's, relative ones, those that change and those in a loop"
    )
    func links() async throws {
        let folder = try TemporaryFolder()
        try folder.makeFolder("dotfiles/multipath")
        try folder.link("config", to: "dotfiles")
        let file = "config/multipath/paths.conf"
        let watched = try WatchedHints(in: folder)
        try await watched.expectExpensive("a", after: "a file is made behind a linked folder") {
            try folder.write("expensive yes a", to: "dotfiles/multipath/paths.conf")
        }
        try await watched.expectExpensive("b", after: "the file is replaced by a link") {
            try folder.write("expensive yes b", to: "real")
            try folder.link("dotfiles/multipath/new", to: "../../real")
            try folder.move("dotfiles/multipath/new", to: file)
        }
        try await watched.expectExpensive("c", after: "the link's target is edited") {
            try folder.write("expensive yes c", to: "real")
        }
        try await watched.expectExpensive("d", after: "the link's target is replaced") {
            try folder.replace("real", with: "expensive yes d")
        }
        try await watched.expectExpensive("e", after: "the folder's link leads elsewhere") {
            try folder.makeFolder("other/multipath")
            try folder.write("expensive yes e", to: "other/multipath/paths.conf")
            try folder.link("new", to: folder.file("other"))
            try folder.move("new", to: "config")
        }
        try await watched.expectExpensive(after: "the link leads to itself") {
            try folder.link("loop", to: "loop")
            try folder.move("loop", to: "config")
            try folder.link("config2", to: "config2")
        }
        try await watched.expectExpensive("f", after: "the loop is gone") {
            try folder.remove("config")
            try folder.makeFolder("config/multipath")
            try folder.write("expensive yes f", to: file)
        }
    }

    @Test("is not woken by what stands beside its files, and tells of no change that changes nothing")
    func beside() async throws {
        let folder = try TemporaryFolder()
        let file = "config/multipath/paths.conf"
        try folder.makeFolder("config/multipath")
        try folder.write("expensive yes a", to: file)
        let watched = try WatchedHints(in: folder)
        for number in 0..<50 { try folder.write("expensive yes x", to: "config/multipath/\(number)") }
        // Replaced and not edited: a reading that the first sets off must not see the second half done.
        try folder.replace(file, with: "# new\nexpensive yes a\n")
        // Order is kept: once this is told, what came before has been seen.
        try await watched.expectExpensive("b", after: "the file is replaced") {
            try folder.replace(file, with: "expensive yes b")
        }
        #expect(watched.changes == 1)
    }

    @Test("tells a storm of changes in few words, and ends with the last of them")
    func storm() async throws {
        let folder = try TemporaryFolder()
        let file = "config/multipath/paths.conf"
        try folder.makeFolder("config/multipath")
        let watched = try WatchedHints(in: folder)
        let start = MonotonicTime.now
        try await watched.expectExpensive("last", after: "the storm") {
            for number in 0..<5_000 {
                try folder.replace(file, with: "expensive yes \(number)")
                if number % 100 == 0 {
                    try folder.remove("config")
                    try folder.makeFolder("config/multipath")
                }
            }
            try folder.replace(file, with: "expensive yes last")
        }
        let seconds = start.duration(to: .now) / .seconds(1)
        // One each 50 ms, and some on a machine whose timers run late.
        #expect(Double(watched.changes) <= 25 * seconds + 5)
    }

    @Test("reads leases, live, and keeps those of links that are there")
    func leases() async throws {
        let folder = try TemporaryFolder()
        let metered = "ADDRESS=192.0.2.7\nVENDOR_SPECIFIC=414e44524f49445f4d455445524544\n"
        let watched = try WatchedHints(in: folder, links: [Self.eth0])
        try await watched.expect("a lease") {
            try folder.makeFolder("leases")
            try folder.write(metered, to: "leases/7")
            try folder.replace("leases/2", with: metered)
        } until: {
            $0.leases == [2: LeaseHint(isAndroidMetered: true, address: IPAddress("192.0.2.7"))]
        }
        try await watched.expect("its renewal") {
            try folder.replace("leases/2", with: "ADDRESS=192.0.2.8\n")
            try folder.write("x", to: "leases/9")
        } until: {
            $0.leases == [2: LeaseHint(address: IPAddress("192.0.2.8"))]
        }
        try await watched.expect("its end") {
            try folder.remove("leases/2")
        } until: {
            $0.leases == [:]
        }
        #expect(try watched.read([LinkFact(index: 7, name: "usb0")]).leases.keys.sorted() == [7])
        try await watched.expect("networkd's end") {
            try folder.remove("leases")
        } until: { _ in
            true
        }
        #expect(try watched.read([LinkFact(index: 7, name: "usb0")]).leases == [:])
    }

    @Test("reads the name servers, live, and systemd-resolved's own where it stands between")
    func nameServers() async throws {
        let folder = try TemporaryFolder()
        let watched = try WatchedHints(in: folder, links: [Self.eth0])
        func expect(_ servers: String..., after what: String, _ change: () throws -> Void) async throws {
            try await watched.expect(what, change) { $0.nameServers.map(\.description) == servers }
        }
        try await expect("192.0.2.1", "fe80::1%2", after: "a file of the user's") {
            try folder.write("nameserver 192.0.2.1\nnameserver fe80::1%eth0\n", to: "resolv.conf")
        }
        try await expect("127.0.0.53", after: "the stub, without the list behind it") {
            try folder.replace("resolv.conf", with: "nameserver 127.0.0.53\n")
        }
        try await expect("198.51.100.53", after: "the list behind the stub") {
            try folder.makeFolder("resolve")
            try folder.write("nameserver 198.51.100.53\n", to: "resolve/resolv.conf")
        }
        try await expect("2001:db8::53", after: "another network") {
            try folder.replace("resolve/resolv.conf", with: "nameserver 2001:db8::53\n")
        }
        try await expect("192.0.2.1", after: "no stub any more") {
            try folder.replace("resolv.conf", with: "nameserver 192.0.2.1\nnameserver 127.0.0.53%x\n")
        }
    }

    @Test("reads a wire's speed of the link that has the index, a carrier and a device")
    func speeds() throws {
        let folder = try TemporaryFolder()
        func device(_ name: String, _ index: Int, speed: String, isHardware: Bool = true) throws {
            try folder.makeFolder("devices/\(name)" + (isHardware ? "/device" : ""))
            try folder.write("\(index)\n", to: "devices/\(name)/ifindex")
            try folder.write("\(speed)\n", to: "devices/\(name)/speed")
        }
        try device("eth0", 2, speed: "2500")
        try device("eth1", 3, speed: "-1")
        try device("eth2", 4, speed: "4294967295")
        try device("eth3", 55, speed: "1000")
        try device("dummy0", 6, speed: "1000", isHardware: false)
        try device("eth5", 7, speed: "1000")
        try device("wlan0", 8, speed: "1000")
        let watched = try WatchedHints(in: folder)
        let links = [
            Self.eth0, LinkFact(index: 3, name: "eth1"), LinkFact(index: 4, name: "eth2"),
            LinkFact(index: 5, name: "eth3"), LinkFact(index: 6, name: "dummy0"),
            LinkFact(index: 7, name: "eth5", flags: [.up]),
            LinkFact(index: 8, name: "wlan0", device: .init(devtype: "wlan", hasRadio: true)),
            LinkFact(index: 9, name: "../devices/eth0"),
        ]
        #expect(try watched.read(links).linkSpeeds == [2: 2_500])
        // It comes back from having had no carrier.
        var down = Self.eth0
        down.flags = [.up]
        #expect(try watched.read([down]).linkSpeeds == [:])
        try device("eth0", 2, speed: "100")
        #expect(try watched.read([Self.eth0]).linkSpeeds == [2: 100])
    }

    @Test("of the real machine holds what there is, and fails nowhere")
    func standard() throws {
        let links = try RouteTables().links()
        let read = Locked(InterfaceHints())
        try EventThread.shared.perform { () throws(SystemError) in
            let watch = HintWatch()
            watch.start {}
            read.withLock { $0 = watch.read(links: links) }
            watch.stop()
        }
        let hints = read.withLock { $0 }
        #expect(Set(hints.linkSpeeds.keys).isSubset(of: links.map(\.index)))
        #expect(hints.networkManager == [:])
        #expect(hints.resumes == 0)
    }

    @Test("looks for itself at each reading where nothing can be watched", .inNamespace)
    func unwatched() async throws {
        try ControlFile.sysctl("user/max_inotify_instances", "0")
        let folder = try TemporaryFolder()
        let watched = try WatchedHints(in: folder)
        #expect(try watched.counters == HintWatch.Counters(unwatched: 4))
        try folder.write("nameserver 192.0.2.1\n", to: "resolv.conf")
        try folder.makeFolder("config/multipath")
        try folder.write("expensive yes a", to: "config/multipath/paths.conf")
        try await Program.wait("both", within: .seconds(10)) {
            let hints = try watched.look()
            return hints.nameServers == [IPAddress("192.0.2.1")] && hints.settings.entries["a"] != nil
        }
        #expect(watched.changes >= 1)
    }

    @Test("closes all it opened, is silent then, and starts again")
    func stops() async throws {
        func open() -> [Int] { ["inotify", "[timerfd]"].map(WatchedHints.openDescriptors) }
        let folder = try TemporaryFolder()
        let watched = try WatchedHints(in: folder)
        try watched.stop()
        // Other tests' watches may be ending meanwhile. Swift's own sleep has timers of the kind.
        try await Program.wait("the others' end") { open()[0] == 0 }
        let before = open()
        try watched.start()
        // Settings, leases and name servers are each watched on a thread of their own.
        #expect(open() == [before[0] + 3, before[1] + 1])
        try watched.stop()
        try await Program.wait("the end of all") { open() == before }
        try folder.write("nameserver 192.0.2.1\n", to: "resolv.conf")
        #expect(try watched.look().nameServers == [])
        #expect(watched.changes == 0)
        try watched.start()
        try await watched.expectExpensive("a", after: "another start") {
            try folder.makeFolder("config/multipath")
            try folder.write("expensive yes a", to: "config/multipath/paths.conf")
        }
    }
}
