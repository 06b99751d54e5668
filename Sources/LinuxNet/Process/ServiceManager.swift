// What systemd and its like agree on with a service (sd_listen_fds(3), sd_notify(3), systemd.journal-fields(7)), without
// their library.

import CLinux
import Glibc

/// The service manager that started this process, where one did.
package enum ServiceManager {
    /// The socket that it listens on for this process: the first that was passed.
    ///
    /// - Returns: nil where none was passed.
    /// - Throws: EINVAL where it is no listening socket of sequenced packets.
    package static func takeListener() throws(SystemError) -> Descriptor? {
        guard ProcessEnvironment.value("LISTEN_PID") == "\(getpid())",
            let count = ProcessEnvironment.value("LISTEN_FDS").flatMap({ Int($0) }), count > 0
        else { return nil }
        // SD_LISTEN_FDS_START
        guard LocalPackets.isListener(3) else {
            throw SystemError(
                "take the service manager's socket", errno: EINVAL,
                detail: "it does not listen for sequenced packets (ListenSequentialPacket=)")
        }
        let listener = try Descriptor(duplicating: 3)
        _ = close(3)
        return listener
    }

    /// Tells it something: `READY=1`.
    package static func notify(_ text: String) {
        guard let path = ProcessEnvironment.value("NOTIFY_SOCKET") else { return }
        send(Array(text.utf8), to: path)
    }

    /// Writes to the journal where this service's standard error goes there, and to standard error otherwise.
    ///
    /// - Parameters:
    ///   - priority: as syslog(3) counts: 6 is informational, 4 a warning, 3 an error.
    ///   - fields: for programs, by their names in capitals. A value has no line break.
    package static func log(_ message: String, priority: Int, _ fields: [(name: String, value: String)] = [])
    {
        if ProcessEnvironment.value("JOURNAL_STREAM") != nil {
            var text = "MESSAGE=\(message)\nPRIORITY=\(priority)\nSYSLOG_IDENTIFIER=mpathd\n"
            for field in fields { text += "\(field.name)=\(field.value)\n" }
            if send(Array(text.utf8), to: "/run/systemd/journal/socket") { return }
        }
        Array("mpathd: \(message)\n".utf8).withUnsafeBytes { try? StandardStream.error.write($0) }
    }

    @discardableResult
    private static func send(_ bytes: [UInt8], to path: String) -> Bool {
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        var name = Array(path.utf8)
        // An abstract name is written with an at sign.
        if name.first == UInt8(ascii: "@") { name[0] = 0 }
        let fits = withUnsafeMutableBytes(of: &address.sun_path) { place in
            guard name.count < place.count else { return false }
            place.copyBytes(from: name)
            return true
        }
        let number = Glibc.socket(AF_UNIX, CInt(SOCK_DGRAM.rawValue) | CInt(SOCK_CLOEXEC.rawValue), 0)
        guard fits, number >= 0 else { return false }
        let socket = Descriptor(owning: number)
        let length = socklen_t(2 + name.count)
        return withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { address in
                bytes.withUnsafeBytes {
                    sendto(
                        socket.number, $0.baseAddress, $0.count, CInt(MSG_NOSIGNAL) | CInt(MSG_DONTWAIT),
                        address, length)
                } == bytes.count
            }
        }
    }
}
