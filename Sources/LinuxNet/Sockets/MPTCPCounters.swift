import Glibc

/// The kernel's MPTCP counters of this network namespace (/proc/net/netstat, `MPTcpExt`).
package enum MPTCPCounters {
    /// How many SYNs went out without MP_CAPABLE although the socket asked for MPTCP: the kernel does so for a
    /// while after it met a middlebox that drops them. 0 on kernels that don't count it.
    package static func withheldOptions() -> UInt64 {
        // Of the thread: threads of one process may be in different network namespaces.
        let lines = contents("/proc/thread-self/net/netstat").split(separator: "\n").filter {
            $0.hasPrefix("MPTcpExt:")
        }
        guard lines.count == 2 else { return 0 }
        let names = lines[0].split(separator: " ")
        let values = lines[1].split(separator: " ")
        guard let place = names.firstIndex(of: "MPCapableSYNTXDisabled"), place < values.count else {
            return 0
        }
        return UInt64(values[place]) ?? 0
    }

    private static func contents(_ path: String) -> String {
        let file = open(path, O_RDONLY | O_CLOEXEC)
        guard file >= 0 else { return "" }
        let descriptor = Descriptor(owning: file)
        var bytes: [UInt8] = []
        var chunk = [UInt8](repeating: 0, count: 16_384)
        while true {
            let count = read(descriptor.number, &chunk, chunk.count)
            guard count > 0 else { return String(decoding: bytes, as: UTF8.self) }
            bytes += chunk[..<count]
        }
    }
}
