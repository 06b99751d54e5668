import CLab
import Glibc
import LinuxNet

/// A network namespace, held open. It ends when no thread is in it and no descriptor holds it.
package struct NetworkNamespace: ~Copyable, Sendable {
    private let descriptor: Descriptor

    private init(_ descriptor: consuming Descriptor) { self.descriptor = descriptor }

    /// The namespace this thread is in.
    package static func current() throws(SystemError) -> NetworkNamespace {
        NetworkNamespace(
            Descriptor(
                owning: try systemCall("open this thread's network namespace") {
                    open("/proc/thread-self/ns/net", O_RDONLY | O_CLOEXEC)
                }))
    }

    /// Makes a new one. The thread stays where it is.
    package static func make() throws(SystemError) -> NetworkNamespace {
        let home = try current()
        try systemCall("make a network namespace") { mp_unshare(CLONE_NEWNET) }
        let made = try current()
        try home.enter()
        return made
    }

    /// Moves this thread into the namespace.
    private func enter() throws(SystemError) {
        try systemCall("enter a network namespace") { mp_setns(descriptor.number, CLONE_NEWNET) }
    }

    /// Runs a closure with this thread inside. What it opens and starts there stays there: a socket, a
    /// device, a child process.
    package func run<Value: ~Copyable>(
        _ body: () throws(SystemError) -> Value
    ) throws(SystemError) -> Value {
        let home = try NetworkNamespace.current()
        try enter()
        // A thread that can't go home would do its later work in the wrong network.
        defer { precondition((try? home.enter()) != nil, "this thread can't leave a network namespace") }
        return try body()
    }

    /// For a netlink attribute (IFLA_NET_NS_FD), during a call.
    var number: CInt { descriptor.number }
}

extension BinaryInteger {
    /// The number as the type most calls take.
    var signed: CInt { CInt(truncatingIfNeeded: self) }
}
