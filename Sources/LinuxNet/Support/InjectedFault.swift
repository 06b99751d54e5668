#if DEBUG
    import CLinux
    import Glibc
    import Synchronization

    /// One system call that fails, for tests of what follows: in debug builds, where the environment's `MULTIPATH_FAULT` is
    /// `NUMBER:ERRNO`, the call of that number through `systemCall` fails with that error instead of being made.
    enum InjectedFault {
        private static let plan: (number: Int, errno: CInt)? = {
            guard let text = mp_trusted_environment("MULTIPATH_FAULT").map({ String(cString: $0) }) else {
                return nil
            }
            let parts = text.split(separator: ":")
            guard parts.count == 2, let number = Int(parts[0]), let errno = CInt(parts[1]) else { return nil }
            return (number, errno)
        }()
        private static let count = Atomic(0)

        /// - Returns: the error with which this call fails; nil for none.
        static func strikes(_ operation: () -> String) -> CInt? {
            guard let plan, count.add(1, ordering: .relaxed).newValue == plan.number else { return nil }
            let line = "fault: \(operation())\n"
            _ = line.withCString { write(2, $0, strlen($0)) }
            return plan.errno
        }
    }
#endif
