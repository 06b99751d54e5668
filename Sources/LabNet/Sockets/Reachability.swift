import CLab
import Glibc
import LinuxNet
import PathCore

extension StreamSocket {
    /// Waits for an answer from an endpoint, over one interface of the network namespace this thread is in: from a
    /// listener, or from a host that refuses.
    ///
    /// - Returns: true as soon as there was an answer; false where there was none by the deadline.
    package static func waitForAnswer(
        from endpoint: IPEndpoint, over interface: InterfaceIndex, by deadline: MonotonicTime
    ) -> Bool {
        while MonotonicTime.now < deadline {
            if (try? attempt(endpoint, interface)) == true { return true }
            // Nothing tells when an address or a route becomes usable: ask again soon.
            usleep(2000)
        }
        return false
    }

    private static func attempt(
        _ endpoint: IPEndpoint, _ interface: InterfaceIndex
    ) throws(SystemError) -> Bool {
        let socket = try StreamSocket(endpoint.address.family, .tcp)
        try socket.bind(toInterface: interface)
        do throws(SystemError) {
            if try socket.connect(to: endpoint) { return true }
        } catch {
            if error.errno == ECONNREFUSED { return true }
            throw error
        }
        var state = pollfd(fd: socket.descriptor.number, events: Int16(POLLOUT), revents: 0)
        guard poll(&state, 1, 500) == 1 else { return false }
        guard let error = socket.consumeError() else { return true }
        return error.errno == ECONNREFUSED
    }
}
