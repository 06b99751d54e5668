#if DEBUG
    import CLinux
    import Glibc
    import PathCore
    import Synchronization

    /// One system call that fails, for tests of what follows, in debug builds: where the environment's `MULTIPATH_FAULT` is
    /// `NUMBER:ERRNO`, the call of that number through `systemCall` fails with that error instead of being made. A test of
    /// this process arms it again and again.
    enum InjectedFault {
        private struct Plan {
            var number: Int
            var errno: CInt
            var count = 0
            /// The call that failed.
            var struck: String?
            var isTold: Bool
        }

        private static let plan = Locked<Plan?>(given)
        /// Whether there is a plan: calls are many.
        private static let isArmed = Atomic(given != nil)

        private static var given: Plan? {
            guard let text = mp_trusted_environment("MULTIPATH_FAULT").map({ String(cString: $0) }) else {
                return nil
            }
            let parts = text.split(separator: ":")
            guard parts.count == 2, let number = Int(parts[0]), let errno = CInt(parts[1]) else { return nil }
            return Plan(number: number, errno: errno, isTold: true)
        }

        /// Has the call of that number from now on fail.
        static func arm(_ number: Int, errno: CInt) {
            plan.withLock { $0 = Plan(number: number, errno: errno, isTold: false) }
            isArmed.store(true, ordering: .releasing)
        }

        /// - Returns: the call that failed; nil for none.
        static func disarm() -> String? {
            isArmed.store(false, ordering: .releasing)
            return plan.withLock { plan in
                defer { plan = nil }
                return plan?.struck
            }
        }

        /// - Returns: the error with which this call fails; nil for none.
        static func strikes(_ operation: () -> String) -> CInt? {
            guard isArmed.load(ordering: .acquiring) else { return nil }
            let struck = plan.withLock { plan -> Plan? in
                plan?.count += 1
                guard let now = plan, now.count == now.number else { return nil }
                return now
            }
            guard let struck else { return nil }
            let operation = operation()
            plan.withLock { $0?.struck = operation }
            if struck.isTold {
                let line = "fault: \(operation)\n"
                _ = line.withCString { write(2, $0, strlen($0)) }
            }
            return struck.errno
        }
    }
#endif
