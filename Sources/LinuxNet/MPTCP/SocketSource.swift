import CLinux
import Glibc
import PathCore

/// Makes the sockets of MPTCP connections, with as much control over their subflows as can be had. A process
/// that may not steer subflows could have another make them, and pass them on.
package protocol SocketSource: Sendable {
    /// What its sockets can be expected to have.
    var level: ControlLevel { get }

    /// Makes a socket, and tells what it got.
    /// - Throws: ENOPROTOOPT or EPROTONOSUPPORT where there is no MPTCP.
    func makeSocket(_ family: IPAddress.Family) throws(SystemError) -> ControlledSocket
}

/// An MPTCP socket, and how far its subflows can be steered.
package struct ControlledSocket: ~Copyable, Sendable {
    package let socket: StreamSocket
    package let level: ControlLevel

    package init(_ socket: consuming StreamSocket, _ level: ControlLevel) {
        self.socket = socket
        self.level = level
    }

    package consuming func releaseSocket() -> StreamSocket { socket }
}

/// Makes sockets in this process. Where it may, they have the userspace path manager, and nothing else in the
/// network namespace changes: see PathManagerSetting.swift.
///
/// The calling thread's network namespace counts. A call takes some tens of microseconds, and 300 more where another
/// process was stopped while it held the setting.
package struct LocalSocketSource: SocketSource {
    package let level: ControlLevel
    private let selection: UserspaceSelection?

    /// Finds out what this process may, and puts back what a killed one left changed.
    package init() { self.init(journal: .standard) }

    /// - Parameter isElevated: whether the program has more rights than its user. It then neither changes the setting
    ///   nor believes the journal: its user can end it at any moment, and write what the journal says.
    package init(
        journal: SysctlJournal?, patience: Duration = UserspaceSelection.shortPatience,
        isElevated: Bool = ProcessPrivileges.areMoreThanTheUsers
    ) {
        guard !isElevated else {
            level = .observeOnly(because: .elevatedProgram)
            selection = nil
            return
        }
        var facts = ControlLevel.Facts.found()
        if facts.selection == nil, let journal, !journal.isWritable { facts.selection = .settingUnjournalled }
        level = ControlLevel(facts)
        selection = PathManagerSetting.current.map {
            UserspaceSelection($0, journal: journal, patience: patience)
        }
        // Where that fails the next socket tries again.
        if facts.selection == nil { _ = try? selection?.mend() }
    }

    /// Makes sockets as they come.
    package init(observingBecause limit: ControlLimit) {
        level = .observeOnly(because: limit)
        selection = nil
    }

    package func makeSocket(_ family: IPAddress.Family) throws(SystemError) -> ControlledSocket {
        let descriptor = try StreamSocket.makeDescriptor(family, .mptcp)
        var reached = level
        if level == .perConnection, let selection {
            do throws(SystemError) {
                try selection.select(for: descriptor)
            } catch {
                // What goes wrong around the socket costs the control, not the connection.
                reached = .observeOnly(because: ControlLimit(ofSelection: error, selection.setting))
            }
        }
        return ControlledSocket(try StreamSocket(settingOptionsOf: descriptor), reached)
    }
}

extension ControlLevel.Facts {
    /// What this thread may do in its network namespace, found without changing anything.
    static func found() -> ControlLevel.Facts {
        var facts = ControlLevel.Facts()
        do throws(SystemError) {
            _ = try StreamSocket(.ipv4, .mptcp)
        } catch {
            facts.transport = ControlLimit(ofTransport: error)
        }
        do throws(SystemError) {
            // Joining its group needs the right that the commands need.
            _ = try GenericNotifications.subflowEvents()
        } catch {
            facts.commands = ControlLimit(ofCommands: error)
        }
        facts.selection = PathManagerSetting.current.map { $0.limit } ?? .oldKernel
        return facts
    }
}

extension ControlLimit {
    init(ofTransport error: SystemError) {
        switch error.errno {
        case ENOPROTOOPT: self = .mptcpDisabled
        case EPROTONOSUPPORT: self = .noMPTCP
        default: self = .failed("\(error)")
        }
    }

    fileprivate init(ofSelection error: SystemError, _ setting: PathManagerSetting) {
        switch error.errno {
        case _ where error.operation.hasPrefix(SysctlJournal.operation): self = .settingUnjournalled
        case EWOULDBLOCK: self = .settingBusy
        case EACCES, EPERM, EROFS: self = .settingReadOnly(path: setting.path, reason: error.words)
        default: self = .failed("\(error)")
        }
    }
}
