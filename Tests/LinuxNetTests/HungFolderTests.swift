import Glibc
import PathCore
import TestSupport
import Testing

@testable import LinuxNet

/// A folder on a file system whose server never says a word: each call on it waits for ever, until this goes.
private final class HungFolder {
    let folder: TemporaryFolder
    private let server: CInt

    init() throws {
        folder = try TemporaryFolder()
        server = open("/dev/fuse", O_RDWR | O_CLOEXEC)
        try #require(server >= 0, "/dev/fuse: \(SystemError.words(errno))")
        let status = mount("hung", path, "fuse", 0, "fd=\(server),rootmode=40000,user_id=0,group_id=0")
        try #require(status == 0, "mount: \(SystemError.words(errno))")
    }

    deinit {
        close(server)
        umount2(path, CInt(MNT_DETACH))
    }

    var path: String { folder.path }
}

/// Each test has a process of its own, whose threads may hang.
@Suite("Of a folder that doesn't answer", .needsNamespaces, .needs("unshare"))
struct HungFolderTests {
    private static let wire = LinkFact(index: 2, name: "eth0")

    /// Asks on the event thread, which has to be free.
    private func ask<Value: Sendable>(_ body: @escaping @Sendable () -> Value) throws -> Value {
        try EventThread.shared.perform { () throws(SystemError) in body() }
    }

    private struct Kept<Object>: @unchecked Sendable { let object: Object }

    @Test("no fact of a device is waited for, and one thread hangs", .inNamespace)
    func devices() async throws {
        let hung = try HungFolder()
        let files = Kept(object: DeviceFiles(on: .shared, folder: hung.path))
        let calls = Locked(0)
        try ask {
            files.object.start { calls.withLock { $0 += 1 } }
            for _ in 0..<100 { #expect(files.object.completed(Self.wire) == Self.wire) }
            #expect(!files.object.isSettled)
        }
        try await Program.wait("the end of patience") { try ask { files.object.isSettled } }
        #expect(calls.withLock { $0 } == 1)
        // Another interface comes: it is asked about after the first, and not waited for.
        try ask {
            #expect(files.object.completed(LinkFact(index: 3, name: "eth1")).device == LinkFact.Device())
            #expect(files.object.isSettled)
        }
    }

    @Test("no wire's speed is waited for", .inNamespace)
    func speeds() async throws {
        let hung = try HungFolder()
        let speeds = Kept(object: WireSpeeds(on: .shared, folder: hung.path))
        try ask {
            speeds.object.start {}
            for _ in 0..<100 { #expect(speeds.object.read([Self.wire]) == [:]) }
        }
        try await Program.wait("the end of patience") { try ask { speeds.object.isSettled } }
        #expect(try ask { speeds.object.delays } == 1)
        try ask { speeds.object.stop() }
    }

    @Test("leases are not waited for, and what others say is told all the same", .inNamespace)
    func leases() async throws {
        let hung = try HungFolder()
        let folder = try TemporaryFolder()
        try folder.write("nameserver 192.0.2.1\n", to: "resolv.conf")
        try folder.write("expensive yes a", to: "paths.conf")
        let places = HintWatch.Places(
            settings: { folder.file("paths.conf") }, leases: hung.path, resolver: folder.file("resolv.conf"),
            resolved: folder.file("resolved"), devices: folder.file("devices"))
        let watch = Kept(object: try ask { Kept(object: HintWatch(places)) }.object)
        try ask { watch.object.start {} }
        try await Program.wait("the others' word") {
            let hints = try ask { watch.object.read(links: [Self.wire]) }
            return hints.nameServers == [IPAddress("192.0.2.1")] && hints.settings.entries["a"] != nil
        }
        #expect(try !ask { watch.object.isComplete })
        try ask { watch.object.stop() }
    }
}
