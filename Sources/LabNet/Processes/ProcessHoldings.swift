import CLab
import Glibc
import LinuxNet

/// What this process holds of the machine, for those who look for leaks.
package struct ProcessHoldings: Sendable, CustomStringConvertible {
    package var descriptors: Int
    package var threads: Int
    /// In KiB.
    package var resident: Int
    /// What malloc has given out, in KiB.
    package var heap: Int

    package init() {
        descriptors = Self.entries("/proc/self/fd")
        threads = Self.entries("/proc/self/task")
        let words = (InputFile.line("/proc/self/statm") ?? "").split(separator: " ")
        resident = words.count > 1 ? (Int(words[1]) ?? 0) * sysconf(CInt(_SC_PAGESIZE)) / 1024 : 0
        heap = Int(mp_heap_in_use()) / 1024
    }

    private static func entries(_ path: String) -> Int {
        var count = 0
        Folder.forEachName(in: path) { _ in
            count += 1
            return true
        }
        return count
    }

    package var description: String {
        "descriptors \(descriptors), threads \(threads), resident \(resident) KiB, heap \(heap) KiB"
    }
}
