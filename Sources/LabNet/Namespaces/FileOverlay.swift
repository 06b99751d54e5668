import CLab
import Glibc
import LinuxNet

/// Files of /etc that a lab's programs see instead of the machine's.
package enum FileOverlay {
    /// Puts texts over existing files, in this mount namespace alone.
    /// - Returns: the files that don't exist, and so could not be covered.
    package static func cover(_ texts: [(path: String, text: String)]) throws(SystemError) -> [String] {
        // A file system to hold the texts. No program sees it: what is bound from it stays when it is
        // unmounted.
        let place = "/tmp"
        try systemCall("mount a tmpfs") {
            mount("tmpfs", place, "tmpfs", UInt(MS_NOSUID | MS_NODEV), "mode=755")
        }
        defer { _ = umount2(place, CInt(MNT_DETACH)) }
        var missing: [String] = []
        for (number, entry) in texts.enumerated() {
            guard access(entry.path, F_OK) == 0 else {
                missing.append(entry.path)
                continue
            }
            let source = "\(place)/\(number)"
            let file = Descriptor(
                owning: try systemCall("make \(source)") {
                    open(source, O_WRONLY | O_CREAT | O_CLOEXEC, 0o644)
                })
            let bytes = Array(entry.text.utf8)
            try systemCall("write \(source)") { Glibc.write(file.number, bytes, bytes.count) }
            try systemCall("cover \(entry.path)") { mount(source, entry.path, nil, UInt(MS_BIND), nil) }
        }
        return missing
    }

    /// Shows the devices of the network namespace this thread is in under /sys, if that is allowed here.
    package static func showDevices() {
        _ = mount("sysfs", "/sys", "sysfs", UInt(MS_NOSUID | MS_NODEV | MS_NOEXEC | MS_RDONLY), nil)
    }
}
