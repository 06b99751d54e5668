/// The kernel's MPTCP counters of this network namespace (/proc/net/netstat, `MPTcpExt`).
package enum MPTCPCounters {
    /// How many SYNs went out without MP_CAPABLE although the socket asked for MPTCP: the kernel does so for a
    /// while after it met a middlebox that drops them. 0 on kernels that don't count it.
    package static func withheldOptions() -> UInt64 {
        // Of the thread: threads of one process may be in different network namespaces.
        let lines = ((try? InputFile.text("/proc/thread-self/net/netstat")) ?? "").split(separator: "\n")
            .filter {
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
}
