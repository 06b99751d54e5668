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
    func makeSocket(_ family: IPAddress.Family) throws(SystemError) -> SteeredSocket
}

/// An MPTCP socket, and how far its subflows can be steered.
package struct SteeredSocket: ~Copyable, Sendable {
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
/// The calling thread's network namespace counts. A call takes some tens of microseconds, and up to 250 ms
/// where others hold the setting.
package struct LocalSocketSource: SocketSource {
    package let level: ControlLevel
    private let selection: UserspaceSelection?

    /// Finds out what this process may, and puts back what a killed one left changed.
    package init() { self.init(journal: .standard) }

    package init(journal: SysctlJournal?, patience: Duration = .milliseconds(250)) {
        let facts = ControlLevel.Facts.found()
        level = ControlLevel(facts)
        selection = PathManagerSetting.current.map {
            UserspaceSelection($0, journal: journal, patience: patience)
        }
        // Where that fails the next socket tries again.
        if facts.selection == nil { _ = try? selection?.mend() }
    }

    package func makeSocket(_ family: IPAddress.Family) throws(SystemError) -> SteeredSocket {
        guard level == .perConnection, let selection else {
            return SteeredSocket(try StreamSocket(family, .mptcp), level)
        }
        var hasSocket = false
        let descriptor: Descriptor
        do throws(SystemError) {
            descriptor = try selection.during { () throws(SystemError) in
                let descriptor = try StreamSocket.makeDescriptor(family, .mptcp)
                hasSocket = true
                return descriptor
            }
        } catch {
            // What goes wrong around the socket costs the control, not the connection.
            guard let limit = ControlLimit(ofSelection: error, selection.setting, hasSocket: hasSocket) else {
                throw error
            }
            return SteeredSocket(try StreamSocket(family, .mptcp), .systemWide(because: limit))
        }
        return SteeredSocket(try StreamSocket(settingOptionsOf: descriptor), .perConnection)
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

    /// nil where the socket itself was what failed.
    fileprivate init?(ofSelection error: SystemError, _ setting: PathManagerSetting, hasSocket: Bool) {
        switch error.errno {
        case EADDRINUSE: self = .settingBusy
        case EACCES, EPERM, EROFS: self = .settingReadOnly(path: setting.path, reason: error.words)
        default:
            guard hasSocket || error.operation != "make a socket" else { return nil }
            self = .failed("\(error)")
        }
    }
}
