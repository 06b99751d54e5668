import Foundation

/// A folder that goes with its owner.
public final class TemporaryFolder: Sendable {
    /// Without symbolic links in it.
    public let path: String

    public init() throws {
        let folder = FileManager.default.temporaryDirectory.resolvingSymlinksInPath()
            .appendingPathComponent("multipath-tests-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        path = folder.path
    }

    deinit { try? FileManager.default.removeItem(atPath: path) }

    public func file(_ name: String) -> String { "\(path)/\(name)" }

    public func makeFolder(_ name: String) throws {
        try FileManager.default.createDirectory(atPath: file(name), withIntermediateDirectories: true)
    }

    /// Writes a file in its place, as `>` does in a shell.
    public func write(_ text: String, to name: String) throws {
        try Data(text.utf8).write(to: URL(fileURLWithPath: file(name)))
    }

    /// Puts a new file in the place of the old one, as programs do that mean it.
    public func replace(_ name: String, with text: String) throws {
        try write(text, to: "\(name).new")
        try move("\(name).new", to: name)
    }

    /// Renames, over what is there.
    public func move(_ name: String, to other: String) throws {
        guard rename(file(name), file(other)) == 0 else {
            throw Program.TimedOut(description: "can't rename \(name): \(String(cString: strerror(errno)))")
        }
    }

    public func remove(_ name: String) throws { try FileManager.default.removeItem(atPath: file(name)) }

    public func link(_ name: String, to target: String) throws {
        try FileManager.default.createSymbolicLink(atPath: file(name), withDestinationPath: target)
    }

    public func text(_ name: String) throws -> String {
        try String(contentsOfFile: file(name), encoding: .utf8)
    }
}
