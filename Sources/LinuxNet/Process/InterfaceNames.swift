import CLinux
import Glibc

/// The names of this machine's interfaces, for a command that has no thread yet to watch them.
package enum InterfaceNames {
    package static func all() -> [String] {
        guard let list = if_nameindex() else { return [] }
        defer { if_freenameindex(list) }
        var names: [String] = []
        var place = list
        while place.pointee.if_index != 0, let name = place.pointee.if_name {
            names.append(String(cString: name))
            place += 1
        }
        return names
    }
}
