// Gives sockets of other processes the userspace path manager. Their owners can hold a socket's lock for as long as they
// like (setsockopt whose argument faults), and disconnecting waits for it. So the setting is not put back by the thread
// that waits, but by whichever comes first: that thread, or a watchdog 2 ms after the change.
//
//     worker     gate ─► lock ─► journal ─► write userspace ─► connect(AF_UNSPEC) … ─► put back (the first of the two)
//     watchdog                                    └───────── 2 ms ─────────► put back ──┘
//
// One change is under way in this process at a time (the gate), and one on the machine (`SettingLock`).

import CLinux
import Dispatch
import Glibc
import PathCore

/// The setting of one network namespace, changed around calls that may be held up. For one process, all of its threads.
package final class GuardedSelection: Sendable {
    /// A change that is under way.
    private struct Change: ~Copyable {
        let lock: SettingLock.Held
        /// What to put back; nil where the administrator has chosen the userspace path manager.
        let original: String?
        let number: UInt64
        let begun = MonotonicTime.now
    }

    private struct State: ~Copyable {
        var entry: SysctlJournal.OpenEntry
        var change: Change?
        var last: UInt64 = 0
        /// For how long the changes were made that the watchdog has put back, until their threads hear of it.
        var lengths: [UInt64: Duration] = [:]
        var heldUp: UInt64 = 0

        init(_ entry: SysctlJournal.Entry) { self.entry = SysctlJournal.OpenEntry(entry) }
    }

    private let setting: PathManagerSetting
    private let file: OpenSetting
    /// What `SettingLock` locks, open for as long as this is: the gate lets one thread in.
    private let lockFile: Descriptor
    private let state: Locked<State>
    private let gate = DispatchSemaphore(value: 1)
    private let alarm: Descriptor

    /// How long the setting may stay changed.
    package static let limit = Duration.milliseconds(2)
    /// How long to wait for other processes and threads that change it: each needs some microseconds, or `limit`.
    package static let patience = Duration.milliseconds(20)

    /// Puts back what a killed process left changed.
    ///
    /// - Throws: ENOENT on a kernel without the setting; EACCES, EPERM or EROFS where it can't be written; an error of
    ///   `SysctlJournal.operation` where no entry could be kept.
    package init(journal: SysctlJournal) throws(SystemError) {
        guard let setting = PathManagerSetting.current else {
            throw SystemError("find net.mptcp.path_manager", errno: ENOENT)
        }
        self.setting = setting
        file = try setting.open()
        lockFile = try SettingLock.open()
        state = Locked(State(try journal.entry(of: try LocalSocket.make())))
        guard journal.isWritable else { throw SystemError(SysctlJournal.operation, errno: EACCES) }
        alarm = Descriptor(
            owning: try systemCall("make a timer") { timerfd_create(CLOCK_MONOTONIC, CInt(TFD_CLOEXEC)) })
        _ = try UserspaceSelection(setting, journal: journal, patience: Self.patience).mend()
        let failure = BlockingCalls.makeThread { [weak self, number = alarm.number] in
            Self.watch(number) { self?.alarmRang() ?? false }
        }
        if failure != 0 { throw SystemError("make the watchdog's thread", errno: failure) }
    }

    /// How often the watchdog had to put the setting back.
    package var heldUp: UInt64 { state.withLock { $0.heldUp } }

    /// What became of a socket.
    package struct Outcome: Sendable {
        /// nil where it has the userspace path manager. ETIMEDOUT where its owner held it up: it then has the path manager it
        /// had, or any. EWOULDBLOCK where others changed the setting for longer than `patience`, or this thread got no
        /// processor. What else the kernel says.
        package var failure: SystemError?
        /// For how long the setting was changed, as it was measured; zero where the administrator has chosen the userspace path
        /// manager.
        package var changed = Duration.zero
    }

    /// Gives a socket of MPTCP that is not connected the userspace path manager.
    package func select(for socket: borrowing Descriptor) throws(SystemError) {
        if let failure = tryToSelect(for: socket).failure { throw failure }
    }

    /// - Parameter deadline: from then on the socket is left alone, for its owner may connect it: ETIME.
    package func tryToSelect(for socket: borrowing Descriptor, by deadline: MonotonicTime? = nil) -> Outcome {
        tryToSelect(for: socket) { number in
            if let deadline, MonotonicTime.now >= deadline {
                errno = ETIME
                return -1
            }
            return mp_disconnect(number)
        }
    }

    /// - Parameter disconnect: has the kernel look at the setting; errno where it is negative.
    func tryToSelect(for socket: borrowing Descriptor, _ disconnect: (CInt) -> CInt) -> Outcome {
        var outcome = Outcome()
        for _ in 0..<Self.attempts {
            do throws(SystemError) {
                guard try attempt(socket.number, disconnect, &outcome.changed) else { continue }
                return outcome
            } catch {
                outcome.failure = error
                return outcome
            }
        }
        outcome.failure = SystemError("get a processor while \(setting.path) is changed", errno: EWOULDBLOCK)
        return outcome
    }

    /// How often a socket is tried whose thread got no processor in time.
    private static let attempts = 3

    /// - Returns: false where this thread was not run for so long that the watchdog was first: the socket's owner has no part
    ///   in that.
    private func attempt(
        _ number: CInt, _ disconnect: (CInt) -> CInt, _ changed: inout Duration
    ) throws(SystemError) -> Bool {
        let change = try begin()
        // A thread that waits for a lock gives its processor up; one that is preempted doesn't.
        let pauses = mp_voluntary_pauses()
        let result = disconnect(number)
        let failure = result < 0 ? errno : 0
        let hasWaited = mp_voluntary_pauses() != pauses
        let (isOurs, length) = end(change)
        changed += length
        guard isOurs else {
            guard hasWaited else { return false }
            throw SystemError(
                "select the path manager of a socket", errno: ETIMEDOUT, detail: "the socket is held")
        }
        // Not `systemCall`: the descriptor is another process's choice.
        if failure != 0 { throw SystemError("disconnect a socket", errno: failure) }
        return true
    }

    /// Waits until no change is under way, and lets no other begin: before the process ends.
    package func close() {
        guard gate.wait(timeout: .now() + .milliseconds(100)) == .success else { return }
        state.withLock { $0.entry.close() }
    }

    private func begin() throws(SystemError) -> UInt64 {
        let (seconds, attoseconds) = Self.patience.components
        let deadline =
            DispatchTime.now() + .nanoseconds(Int(seconds * 1_000_000_000 + attoseconds / 1_000_000_000))
        guard gate.wait(timeout: deadline) == .success else {
            throw SystemError("change \(setting.path)", errno: EWOULDBLOCK)
        }
        do throws(SystemError) {
            // Under the lock of the state: the watchdog has nothing to put back before this is done.
            return try state.withLock { state throws(SystemError) in
                let lock = try SettingLock.claim(by: lockFile, patience: Self.patience)
                let original = try prepare(&state)
                state.last += 1
                state.change = Change(lock: lock, original: original, number: state.last)
                arm(Self.limit)
                if original != nil { try changeOrForget(&state) }
                return state.last
            }
        } catch {
            gate.signal()
            throw error
        }
    }

    /// - Returns: what to put back, which the journal has from now on; nil where nothing is to be changed.
    private func prepare(_ state: inout State) throws(SystemError) -> String? {
        let before = try file.read()
        guard before == setting.userspace else {
            try state.entry.write(before)
            return before
        }
        // Chosen by the administrator, or left behind by a process that was killed.
        guard let journalled = state.entry.read(), journalled != setting.userspace else { return nil }
        return journalled
    }

    private func changeOrForget(_ state: inout State) throws(SystemError) {
        do throws(SystemError) {
            try file.write(setting.userspace)
        } catch {
            state.change = nil
            state.entry.remove()
            throw error
        }
    }

    /// - Returns: false where the watchdog was first; and for how long the setting was changed.
    private func end(_ number: UInt64) -> (isOurs: Bool, length: Duration) {
        let (isOurs, length) = state.withLock { state in
            guard state.change?.number == number else {
                return (false, state.lengths.removeValue(forKey: number) ?? .zero)
            }
            return (true, putBack(&state))
        }
        if isOurs { gate.signal() }
        return (isOurs, length)
    }

    /// Under the lock. Only our own value is put back; the entry outlives a failure, for the next process to try.
    ///
    /// - Returns: for how long the setting was changed.
    private func putBack(_ state: inout State) -> Duration {
        arm(.zero)
        guard let change = state.change.take(), let original = change.original else { return .zero }
        if (try? file.selectsUserspace) == true {
            // Once more where it fails: what stays there stays for every program.
            guard (try? file.write(original)) != nil || (try? file.write(original)) != nil else {
                return change.begun.duration(to: .now)
            }
        }
        defer { state.entry.remove() }
        return change.begun.duration(to: .now)
    }

    // MARK: The watchdog

    private func arm(_ limit: Duration) {
        var time = itimerspec()
        time.it_value.tv_nsec = Int(limit.components.attoseconds / 1_000_000_000)
        _ = timerfd_settime(alarm.number, 0, &time, nil)
    }

    /// - Returns: whether to go on.
    private func alarmRang() -> Bool {
        let wasHeldUp = state.withLock { state in
            // An alarm of the change before may be heard late; this one's is to come.
            guard let begun = state.change?.begun, let number = state.change?.number,
                begun.duration(to: .now) >= Self.limit
            else { return false }
            state.heldUp += 1
            state.lengths[number] = putBack(&state)
            return true
        }
        if wasHeldUp { gate.signal() }
        return true
    }

    private static func watch(_ alarm: CInt, _ body: () -> Bool) {
        mp_name_this_thread("watchdog")
        while true {
            var times: UInt64 = 0
            guard read(alarm, &times, 8) == 8 || errno == EINTR, body() else { return }
        }
    }
}
