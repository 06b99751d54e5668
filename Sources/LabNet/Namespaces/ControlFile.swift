import Glibc
import LinuxNet

/// Small files that are switches: sysctls, maps.
package enum ControlFile {
    package static func write(_ text: String, to path: String) throws(SystemError) {
        let file = Descriptor(
            owning: try systemCall("open \(path)") { open(path, O_WRONLY | O_CLOEXEC) })
        let bytes = Array(text.utf8)
        try systemCall("write '\(text)' to \(path)") { Glibc.write(file.number, bytes, bytes.count) }
    }

    /// Sets a sysctl of the network namespace this thread is in.
    package static func sysctl(_ name: String, _ value: String) throws(SystemError) {
        try write(value, to: "/proc/sys/" + name)
    }
}
