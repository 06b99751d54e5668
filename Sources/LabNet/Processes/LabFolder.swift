import CLab
import CLinux
import Glibc
import LinuxNet

/// A folder for a lab's files, its user's alone. Its lock is held while a process of the lab lives: one whose lock is free was
/// left by a lab that was killed, and the next lab removes it.
package final class LabFolder: Sendable {
    package let path: String
    /// For the settings, whose file has a lock of its own on the folder that it is in.
    package var settings: String { path + "/settings" }
    private let descriptor: Descriptor

    private static let prefix = "mplab-"

    private init(_ path: String, _ descriptor: consuming Descriptor) {
        self.path = path
        self.descriptor = descriptor
    }

    /// - Throws: the kernel's error, where neither TMPDIR nor `/tmp` can hold it.
    package static func make() throws(SystemError) -> LabFolder {
        let told = ProcessEnvironment.value("TMPDIR").flatMap { $0.hasPrefix("/") ? $0 : nil }
        // What root writes below another user's folder it writes with that user's rights (`SettingsFile`).
        let parents = geteuid() == 0 ? ["/tmp", told] : [told, "/tmp"]
        var failure = SystemError("make a folder for the lab", errno: ENOENT)
        for parent in parents.compactMap({ $0 }) {
            removeAbandoned(in: parent)
            do throws(SystemError) {
                return try make(in: parent)
            } catch {
                failure = error
            }
        }
        throw failure
    }

    private static func make(in parent: String) throws(SystemError) -> LabFolder {
        var random = SystemRandomNumberGenerator()
        while true {
            let path = "\(parent)/\(prefix)\(getpid())-" + String(random.next(), radix: 36)
            try systemCall("make the folder \(path)") { mkdir(path, 0o700) }
            // Another lab may take it for an abandoned one until it is locked.
            if let descriptor = lock(path), isStill(path, descriptor) {
                return LabFolder(path, descriptor)
            }
        }
    }

    /// Removes it, with all that is in it. A lab's processes have ended by then.
    package func remove() { Self.remove(path) }

    // MARK: What was left behind

    private static func removeAbandoned(in parent: String) {
        for name in names(in: parent) where name.hasPrefix(prefix) {
            let path = "\(parent)/\(name)"
            guard let descriptor = lock(path) else { continue }
            var status = stat()
            // Into a folder that is this user's alone no other user has put a link.
            guard fstat(descriptor.number, &status) == 0, status.st_uid == geteuid(),
                status.st_mode & 0o777 == 0o700
            else { continue }
            remove(path)
        }
    }

    /// - Returns: nil where it is locked, or may not be opened.
    private static func lock(_ path: String) -> Descriptor? {
        let number = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)
        guard number >= 0 else { return nil }
        let descriptor = Descriptor(owning: number)
        guard mp_try_lock(number) == 0 else { return nil }
        return descriptor
    }

    private static func isStill(_ path: String, _ descriptor: borrowing Descriptor) -> Bool {
        var (named, opened) = (stat(), stat())
        return stat(path, &named) == 0 && fstat(descriptor.number, &opened) == 0
            && (named.st_dev, named.st_ino) == (opened.st_dev, opened.st_ino)
    }

    private static func remove(_ path: String) {
        for name in names(in: path) where unlink("\(path)/\(name)") != 0 && errno == EISDIR {
            // Never through a symbolic link: unlink does not say that of one.
            remove("\(path)/\(name)")
        }
        _ = rmdir(path)
    }

    private static func names(in folder: String) -> [String] {
        var names: [String] = []
        Folder.forEachName(in: folder) { name in
            names.append(name)
            return true
        }
        return names
    }
}
