import Foundation
import TestSupport
import Testing

@testable import LinuxNet

@Suite("The settings file")
struct SettingsFileTests {
    private func mode(_ path: String) throws -> Int {
        let attributes = try FileManager.default.attributesOfItem(atPath: path)
        return try #require(attributes[.posixPermissions] as? Int)
    }

    @Test(
        "stands where MULTIPATH_HOME or the XDG specification says, or below the home directory",
        arguments: [
            (["XDG_CONFIG_HOME": "/x", "HOME": "/home/a"], "/x/multipath/paths.conf"),
            (["XDG_CONFIG_HOME": "/x//"], "/x/multipath/paths.conf"),
            (["HOME": "/home/a"], "/home/a/.config/multipath/paths.conf"),
            (["XDG_CONFIG_HOME": "", "HOME": "/home/a/"], "/home/a/.config/multipath/paths.conf"),
            (["XDG_CONFIG_HOME": "relative", "HOME": "/h"], "/h/.config/multipath/paths.conf"),
            (["MULTIPATH_HOME": "/lab/", "XDG_CONFIG_HOME": "/x"], "/lab/paths.conf"),
            (["MULTIPATH_HOME": "lab", "XDG_CONFIG_HOME": "/x"], "/x/multipath/paths.conf"),
            (["HOME": ""], "/root/.config/multipath/paths.conf"),
            ([:], "/root/.config/multipath/paths.conf"),
        ])
    func place(environment: [String: String], expected: String) {
        #expect(SettingsFile.path(variable: { environment[$0] }, homeInUserDatabase: { "/root" }) == expected)
    }

    @Test("stands nowhere for a user without a home")
    func nowhere() {
        #expect(SettingsFile.path(variable: { _ in nil }, homeInUserDatabase: { nil }) == nil)
    }

    @Test("is made with its folders, for its owner alone")
    func makes() throws {
        let folder = try TemporaryFolder()
        let file = SettingsFile(folder.file("a/b/paths.conf"))
        #expect(try file.read() == nil)
        try file.update { old in
            #expect(old == nil)
            return "text"
        }
        #expect(try file.read() == "text")
        #expect(try mode(folder.file("a")) == 0o700)
        #expect(try mode(folder.file("a/b")) == 0o700)
        #expect(try mode(folder.file("a/b/paths.conf")) == 0o600)
    }

    @Test("is replaced whole, keeps its rights, and leaves nothing beside it")
    func replaces() throws {
        let folder = try TemporaryFolder()
        try folder.write("old", to: "paths.conf")
        try FileManager.default.setAttributes(
            [.posixPermissions: 0o644], ofItemAtPath: folder.file("paths.conf"))
        let file = SettingsFile(folder.file("paths.conf"))
        try file.update { ($0 ?? "") + " and new" }
        #expect(try folder.text("paths.conf") == "old and new")
        #expect(try mode(folder.file("paths.conf")) == 0o644)
        #expect(try FileManager.default.contentsOfDirectory(atPath: folder.path) == ["paths.conf"])
    }

    @Test("is not written where nothing changes")
    func unchanged() throws {
        let folder = try TemporaryFolder()
        try folder.write("old", to: "paths.conf")
        func number() throws -> Int? {
            try FileManager.default.attributesOfItem(atPath: folder.file("paths.conf"))[.systemFileNumber]
                as? Int
        }
        let before = try number()
        try SettingsFile(folder.file("paths.conf")).update { $0 ?? "" }
        #expect(try number() == before)
        try SettingsFile(folder.file("none")).update { $0 ?? "" }
        #expect(try FileManager.default.contentsOfDirectory(atPath: folder.path) == ["paths.conf"])
    }

    @Test("that is a symbolic link stays one, also where it leads to nothing yet")
    func links() throws {
        let folder = try TemporaryFolder()
        try folder.makeFolder("here")
        try folder.link("here/paths.conf", to: "../there/real.conf")
        let file = SettingsFile(folder.file("here/paths.conf"))
        for text in ["one", "two"] {
            try file.update { _ in text }
            #expect(try folder.text("there/real.conf") == text)
            #expect(
                try FileManager.default.destinationOfSymbolicLink(atPath: folder.file("here/paths.conf"))
                    == "../there/real.conf")
        }
    }

    @Test(
        "of another user is edited by root with that user's rights, wherever the user's links lead",
        .needsRoot)
    func ofAnotherUser() throws {
        let folder = try TemporaryFolder()
        try folder.makeFolder("home/config")
        try folder.makeFolder("system")
        try folder.write("root's\n", to: "system/paths.conf")
        chmod(folder.file("system/paths.conf"), 0o644)
        for name in ["home", "home/config"] { chown(folder.file(name), 65_534, 65_534) }
        try folder.link("home/file.conf", to: folder.file("system/paths.conf"))
        try folder.link("home/folder", to: folder.file("system"))
        for name in ["home/file.conf", "home/folder/paths.conf"] {
            let error = #expect(throws: SystemError.self) {
                try SettingsFile(folder.file(name)).update { ($0 ?? "") + "expensive no x\n" }
            }
            #expect(error?.errno == EACCES)
        }
        #expect(try folder.text("system/paths.conf") == "root's\n")
        #expect(try FileManager.default.contentsOfDirectory(atPath: folder.file("system")) == ["paths.conf"])

        // What is the user's own is written, and stays the user's.
        let own = folder.file("home/config/multipath/paths.conf")
        try SettingsFile(own).update { _ in "expensive no x\n" }
        var status = stat()
        #expect(lstat(own, &status) == 0 && status.st_uid == 65_534 && status.st_gid == 65_534)
        // Root has its own rights again.
        try SettingsFile(folder.file("system/paths.conf")).update { _ in "new" }
        #expect(try folder.text("system/paths.conf") == "new")
    }

    @Test("says what it was about to do, with the path, when that fails")
    func errors() throws {
        let folder = try TemporaryFolder()
        try folder.link("loop", to: "loop")
        #expect(throws: SystemError("write \(folder.file("loop"))", errno: ELOOP)) {
            try SettingsFile(folder.file("loop")).update { _ in "x" }
        }
        try folder.write("", to: "file")
        #expect(throws: SystemError("make the folder \(folder.file("file/x"))", errno: ENOTDIR)) {
            try SettingsFile(folder.file("file/x/paths.conf")).update { _ in "x" }
        }
        try folder.makeFolder("paths.conf")
        let path = folder.file("paths.conf")
        #expect(throws: SystemError("read \(path)", errno: EINVAL, detail: "it is no file")) {
            try SettingsFile(path).read()
        }
        try Data([0xFF, 0x0A]).write(to: URL(fileURLWithPath: folder.file("bytes")))
        #expect(throws: SystemError("edit \(folder.file("bytes"))", errno: EILSEQ, detail: "it is no UTF-8"))
        {
            try SettingsFile(folder.file("bytes")).update { _ in "x" }
        }
        try folder.write(String(repeating: "#", count: 300_000), to: "large")
        #expect(throws: SystemError("read \(folder.file("large"))", errno: EFBIG)) {
            try SettingsFile(folder.file("large")).read()
        }
    }

    @Test("does not wait for a pipe in its place")
    func pipe() throws {
        let folder = try TemporaryFolder()
        #expect(mkfifo(folder.file("paths.conf"), 0o600) == 0)
        #expect(throws: SystemError.self) { try SettingsFile(folder.file("paths.conf")).read() }
    }

    @Test("keeps what each of many writers at once has said")
    func concurrent() async throws {
        let folder = try TemporaryFolder()
        let file = SettingsFile(folder.file("new/paths.conf"))
        try await withThrowingTaskGroup(of: Void.self) { group in
            for number in 0..<20 {
                group.addTask { try file.update { ($0 ?? "") + "\(number)\n" } }
            }
            try await group.waitForAll()
        }
        let lines = try #require(try file.read()).split(separator: "\n").compactMap { Int($0) }
        #expect(lines.sorted() == Array(0..<20))
    }
}
