import Glibc

/// What is in a folder.
package enum Folder {
    /// Calls a closure with one name after the other, but for `.` and `..`, until it returns false. A folder that can't be
    /// read has none.
    package static func forEachName(in path: String, _ body: (String) -> Bool) {
        guard let list = opendir(path) else { return }
        defer { closedir(list) }
        while let entry = readdir(list) {
            // By its address: an entry ends with its name, and the structure does not.
            guard let offset = MemoryLayout<dirent>.offset(of: \.d_name) else { return }
            let bytes = UnsafeRawPointer(entry) + offset
            let name = String(cString: bytes.assumingMemoryBound(to: CChar.self))
            if name == "." || name == ".." { continue }
            guard body(name) else { return }
        }
    }
}
