/// The place of a file or a folder below the folder that is kept the same: `photos/2026/a.jpg`. It has no empty part, no `.` and no
/// `..`, and neither begins nor ends with a slash.
///
/// Two paths are equal where their bytes are: Swift's own strings count Unicode's two forms of `é` as one, and Linux keeps
/// them as two files.
public struct SyncPath: Sendable, Hashable, Comparable, CustomStringConvertible {
    /// Why a text is no path.
    public enum Malformed: Error, Sendable, Hashable, CustomStringConvertible {
        case empty
        case relativePart
        case containsZero
        case partTooLong
        case pathTooLong

        public var description: String {
            switch self {
            case .empty: "a part of the name is empty"
            case .relativePart: "'.' or '..' is no name"
            case .containsZero: "a NUL byte is in the name"
            case .partTooLong:
                "a name is longer than \(SyncPath.longestPart) bytes, which Linux does not keep"
            case .pathTooLong: "the path is longer than \(SyncPath.longestPath) bytes"
            }
        }
    }

    /// NAME_MAX (include/uapi/linux/limits.h).
    public static let longestPart = 255
    /// PATH_MAX is 4,096 with all that stands before.
    public static let longestPath = 3_500

    /// The path as it is shown and opened.
    public let text: String

    /// Checks a path.
    ///
    /// - Throws: `Malformed`.
    public init(_ text: String) throws(Malformed) {
        var whole = text
        whole.makeContiguousUTF8()
        guard whole.utf8.count <= Self.longestPath else { throw .pathTooLong }
        for part in whole.utf8.split(separator: UInt8(ascii: "/"), omittingEmptySubsequences: false) {
            if part.isEmpty { throw .empty }
            if part.count > Self.longestPart { throw .partTooLong }
            if part.contains(0) { throw .containsZero }
            if part.elementsEqual([0x2E]) || part.elementsEqual([0x2E, 0x2E]) { throw .relativePart }
        }
        self.text = whole
    }

    private init(checked text: String) { self.text = text }

    /// What lies in this folder under a name.
    ///
    /// - Throws: `Malformed`, also for a name with a slash.
    public func appending(_ name: String) throws(Malformed) -> SyncPath {
        guard !name.utf8.contains(UInt8(ascii: "/")) else { throw .relativePart }
        return try SyncPath(text + "/" + name)
    }

    /// The folder that this lies in; nil for what lies at the top.
    public var parent: SyncPath? {
        guard let slash = text.utf8.lastIndex(of: UInt8(ascii: "/")) else { return nil }
        return SyncPath(checked: String(text[..<slash]))
    }

    /// The folders that this lies in, the nearest first.
    public var ancestors: [SyncPath] {
        var found: [SyncPath] = []
        var next = parent
        while let folder = next {
            found.append(folder)
            next = folder.parent
        }
        return found
    }

    /// The last part.
    public var name: String {
        guard let slash = text.utf8.lastIndex(of: UInt8(ascii: "/")) else { return text }
        return String(text[text.utf8.index(after: slash)...])
    }

    /// Whether this lies in a folder, at any depth.
    public func isInside(_ folder: SyncPath) -> Bool {
        text.utf8.count > folder.text.utf8.count + 1 && text.utf8.starts(with: folder.text.utf8)
            && text.utf8[text.utf8.index(text.utf8.startIndex, offsetBy: folder.text.utf8.count)]
                == UInt8(ascii: "/")
    }

    /// The same place below another folder, where this lies in the first one or is it.
    func moved(from old: SyncPath, to new: SyncPath) -> SyncPath? {
        if self == old { return new }
        guard isInside(old) else { return nil }
        return try? SyncPath(
            new.text + String(decoding: text.utf8.dropFirst(old.text.utf8.count), as: UTF8.self))
    }

    public static func == (left: SyncPath, right: SyncPath) -> Bool {
        left.text.utf8.elementsEqual(right.text.utf8)
    }

    public static func < (left: SyncPath, right: SyncPath) -> Bool {
        left.text.utf8.lexicographicallyPrecedes(right.text.utf8)
    }

    public func hash(into hasher: inout Hasher) {
        var text = text
        text.withUTF8 { hasher.combine(bytes: UnsafeRawBufferPointer($0)) }
    }

    public var description: String { text }
}

extension SyncPath {
    /// The name that the loser of a conflict gets: `a (conflict of LABEL).jpg`, with a number where that is taken. It is cut where it
    /// would be too long.
    ///
    /// - Parameters:
    ///   - label: says whose version it is, and when it lost.
    ///   - isTaken: whether a name can't be used.
    func conflictName(_ label: String, isTaken: (SyncPath) -> Bool) -> SyncPath {
        let name = name
        let dot = name.lastIndex(of: ".").flatMap { $0 == name.startIndex ? nil : $0 }
        var (stem, ending) = (String(name[..<(dot ?? name.endIndex)]), dot.map { String(name[$0...]) } ?? "")
        if ending.utf8.count > 32 { (stem, ending) = (name, "") }
        for number in 1... {
            let suffix = " (conflict of \(label)\(number == 1 ? "" : " \(number)"))"
            var cut = stem
            while cut.utf8.count + suffix.utf8.count + ending.utf8.count > Self.longestPart, !cut.isEmpty {
                cut.removeLast()
            }
            let full = cut + suffix + ending
            let path = parent.map { $0.text + "/" + full } ?? full
            if let candidate = try? SyncPath(path), !isTaken(candidate) { return candidate }
            // A path that is too long has no room for a suffix: then at the top.
            if number > 10_000, let candidate = try? SyncPath(full), !isTaken(candidate) { return candidate }
        }
        preconditionFailure("some number is free")
    }
}
