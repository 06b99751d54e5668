import CLab
import Glibc
import LinuxNet

/// What a network card would do for the kernel. Virtual links only pretend to: they pass packets of 64 KiB
/// with no checksum, and a capture would not show what a wire carries.
package enum Offloads {
    /// Switches them off for a link of the network namespace this thread is in.
    package static func switchOff(_ name: String) throws(SystemError) {
        let socket = Descriptor(
            owning: try systemCall("make a socket") {
                Glibc.socket(AF_INET, CInt(SOCK_DGRAM.rawValue) | CInt(SOCK_CLOEXEC.rawValue), 0)
            })
        for command in [ETHTOOL_STSO, ETHTOOL_SGSO, ETHTOOL_SGRO, ETHTOOL_STXCSUM] {
            do throws(SystemError) {
                try systemCall("switch off an offload of \(name)") {
                    mp_ethtool_set(socket.number, name, UInt32(command), 0)
                }
            } catch  where error.errno == EOPNOTSUPP {
                // It has none to switch off.
            }
        }
    }
}
