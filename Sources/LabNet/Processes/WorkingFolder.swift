import Glibc

package enum WorkingFolder {
    /// The folder that this process's relative paths begin in; empty where it has no path any more.
    package static var path: String {
        guard let path = getcwd(nil, 0) else { return "" }
        defer { free(path) }
        return String(cString: path)
    }
}
