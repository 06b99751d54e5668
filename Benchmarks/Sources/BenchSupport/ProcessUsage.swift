import Glibc

/// What this process uses of the machine.
public enum ProcessUsage {
    /// Its time on a CPU so far, in seconds.
    public static var cpu: Double {
        var time = timespec()
        clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time)
        return Double(time.tv_sec) + Double(time.tv_nsec) / 1e9
    }

    /// Its resident memory in KiB; 0 where /proc can't be read.
    public static var residentKiB: Double {
        guard let file = fopen("/proc/self/statm", "r") else { return 0 }
        defer { fclose(file) }
        var line = [CChar](repeating: 0, count: 128)
        guard fgets(&line, CInt(line.count), file) != nil else { return 0 }
        let words = String(decoding: line.prefix { $0 != 0 }.map(UInt8.init(bitPattern:)), as: UTF8.self)
            .split(separator: " ")
        let pages = words.count > 1 ? Double(words[1]) ?? 0 : 0
        return pages * Double(sysconf(CInt(_SC_PAGESIZE))) / 1024
    }

    /// How many descriptors are open.
    public static var descriptors: Int {
        guard let folder = opendir("/proc/self/fd") else { return 0 }
        defer { closedir(folder) }
        var count = -3  // The folder's own, "." and "..".
        while readdir(folder) != nil { count += 1 }
        return count
    }

    /// Allows as many descriptors as the limit can be raised to without a privilege.
    /// - Returns: how many that are.
    public static func raiseDescriptorLimit() -> Int {
        var limit = rlimit()
        let resource = __rlimit_resource_t(RLIMIT_NOFILE.rawValue)
        getrlimit(resource, &limit)
        limit.rlim_cur = limit.rlim_max
        setrlimit(resource, &limit)
        return Int(clamping: limit.rlim_cur)
    }
}
