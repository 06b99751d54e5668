import LinuxNet

/// Asks the kernel how packets would go, over one socket for all races. Only the event thread may use it.
final class RouteLookup: @unchecked Sendable {
    private var tables: RouteTables?

    func route(to address: IPAddress, through interface: InterfaceIndex?) -> RouteAnswer {
        do throws(SystemError) {
            if tables == nil { tables = try RouteTables() }
            return try tables?.route(to: address, through: interface) ?? .unreachable("no answer")
        } catch {
            // The next lookup gets a new socket.
            tables = nil
            return .unreachable("\(error)")
        }
    }
}
