import CLinux

/// Ends a connection at once, whatever other descriptors of its socket there are.
package enum ConnectionAbort {
    /// What was not sent is dropped, the peer gets a reset (RFC 9293 section 3.10.5; MPTCP: MP_FASTCLOSE, RFC 8684 section
    /// 3.5), and each reader and writer gets an error. A socket that is not connected stays as it is.
    package static func perform(_ descriptor: CInt) { _ = mp_disconnect(descriptor) }
}
