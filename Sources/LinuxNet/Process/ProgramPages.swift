import Glibc
import PathCore

/// The pages of this process's program and libraries that are in memory because something has read them once.
package enum ProgramPages {
    /// Gives them back: for a service, after its start, of which most is not needed again. What is needed is read anew, from the
    /// page cache as a rule. Pages that were changed stay.
    package static func release() {
        guard let map = try? InputFile.text("/proc/self/smaps", limit: 1 << 20) else { return }
        for range in unchanged(in: map) {
            _ = madvise(
                UnsafeMutableRawPointer(bitPattern: range.lowerBound), range.count, CInt(MADV_DONTNEED))
        }
    }

    /// The parts of files that are mapped, can't be written and have no page of the process's own (proc_pid_smaps(5)).
    static func unchanged(in map: String) -> [Range<UInt>] {
        var ranges: [Range<UInt>] = []
        var candidate: Range<UInt>?
        for line in map.split(separator: "\n") {
            let words = line.split(separator: " ", omittingEmptySubsequences: true)
            if words.first == "Anonymous:", words.count > 1 {
                if let candidate, words[1] == "0" { ranges.append(candidate) }
                candidate = nil
            } else if words.count >= 6, let range = range(words[0]) {
                candidate = !words[1].contains("w") && words[5].hasPrefix("/") ? range : nil
            } else if words.first?.last != ":" {
                // Another mapping, of no file.
                candidate = nil
            }
        }
        return ranges
    }

    private static func range(_ text: Substring) -> Range<UInt>? {
        let ends = text.split(separator: "-")
        guard ends.count == 2, let start = UInt(ends[0], radix: 16), let end = UInt(ends[1], radix: 16),
            start < end
        else { return nil }
        return start..<end
    }
}
