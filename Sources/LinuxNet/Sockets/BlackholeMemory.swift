import PathCore

extension StreamSocket {
    /// Whether this kernel leaves MP_CAPABLE out of SYNs now, although a socket asks for MPTCP: it does so for a
    /// while after it met a middlebox that drops them (`net.mptcp.blackhole_timeout`), for every connection of
    /// the network namespace.
    ///
    /// The kernel decides when the SYN leaves, and has fallen back then. A connection to port 0 of loopback, which
    /// has no listener, shows it: the refusal that answers it is no fallback. Its counters would tell too, but
    /// reading them before each connection takes longer than all the rest of connecting.
    package static var kernelWithholdsMPTCP: Bool {
        do throws(SystemError) {
            let probe = try StreamSocket(.ipv4, .mptcp)
            _ = try probe.connect(to: IPEndpoint(IPAddress(ipv4: 0x7F00_0001), port: 0))
            return !TransportSample.isMPTCP(probe.descriptor.number)
        } catch {
            return false
        }
    }
}
