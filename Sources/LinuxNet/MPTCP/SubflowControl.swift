import CLinux
import Glibc
import PathCore

/// Does what the machines of the modes decide, as far as may be: the seam behind which the kernel is, or
/// another process that may do more than this one.
package protocol SubflowControl: AnyObject {
    /// Does one thing to a connection, and waits for the kernel's answer, but not for the peer's.
    /// - Throws: what the kernel says against it.
    func perform(
        _ action: SubflowAction, on connection: ConnectionToken
    ) throws(SystemError)
        -> SubflowOutcome

    /// What keeps this one connection from being steered; nil for nothing.
    func limit(of connection: ConnectionToken) -> ControlLimit?
}

extension SubflowControl {
    package func limit(of connection: ConnectionToken) -> ControlLimit? { nil }
}

/// Steers connections whose sockets have the userspace path manager, each on its own.
package final class ConnectionSubflowControl: SubflowControl {
    private let commands: SubflowCommands
    private let resets = SubflowResets()

    package init(_ commands: SubflowCommands) { self.commands = commands }

    package func limit(of connection: ConnectionToken) -> ControlLimit? {
        do throws(SystemError) {
            // A question that is only answered for sockets of the userspace path manager.
            _ = try commands.addresses(connection)
            return nil
        } catch {
            return error.errno == EINVAL ? .foreignSocket : .failed("\(error)")
        }
    }

    package func perform(
        _ action: SubflowAction, on connection: ConnectionToken
    ) throws(SystemError) -> SubflowOutcome {
        do throws(SystemError) {
            switch action {
            case .create(let local, let isBackup, let remote):
                try commands.createSubflow(connection, from: local, isBackup: isBackup, to: remote)
            case .withdraw(let local): try commands.remove(connection, localID: local.id)
            case .destroy(let local, let remote):
                try commands.destroySubflow(connection, local: local, remote: remote)
            case .reset(let local, let remote, let interface):
                let subflow = resets.find(
                    of: connection, local: local, remote: remote, interface: interface)
                // The path manager forgets it first: then its address has no id any more.
                try commands.destroySubflow(connection, local: local, remote: remote)
                if let subflow { resets.reset(subflow) }
            case .prioritize(let local, let remote, let isBackup):
                try commands.setBackup(connection, local: local, remote: remote, isBackup)
            case .announce(let local): try commands.announce(connection, local)
            }
            return .accepted
        } catch {
            // The peer, asked to by RM_ADDR, may have closed the subflow first.
            if error.errno == ESRCH { return .alreadyGone }
            // The kernel says EINVAL of all kinds of mistakes, and of this, which is none.
            if error.meansKernelPathManager { return .refused(.foreignSocket) }
            throw error
        }
    }
}

/// Steers the connections of the kernel's path manager, all at once: what is asked for one is done to the
/// endpoint of that address, for every connection of the network namespace.
///
/// Endpoints that were there before belong to the administrator or to another program. Steering all connections means to
/// change and delete those as well; `restore` puts them back.
package final class EndpointSubflowControl: SubflowControl {
    private let commands: SubflowCommands
    private let resets = SubflowResets()
    private let original: [PathManagerEndpoint]
    /// What connections have asked for while it was there.
    private var awaited: Set<Request> = []

    private struct Request: Hashable {
        var connection: ConnectionToken
        var address: IPAddress
    }

    package init(_ commands: SubflowCommands) throws(SystemError) {
        self.commands = commands
        original = try commands.endpoints().filter { !$0.flags.contains(.implicit) }
    }

    package func perform(
        _ action: SubflowAction, on connection: ConnectionToken
    ) throws(SystemError) -> SubflowOutcome {
        switch action {
        case .create(let local, let isBackup, _): return try create(local, isBackup, for: connection)
        case .withdraw(let local): return try delete(local.address)
        // By deleting the endpoint the kernel closes its subflows as well.
        case .destroy(let local, _): return try delete(local.address)
        case .reset(let local, let remote, let interface):
            let subflow = resets.find(of: connection, local: local, remote: remote, interface: interface)
            let outcome = try delete(local.address)
            if let subflow { resets.reset(subflow) }
            return outcome
        case .prioritize(let local, _, let isBackup): return try prioritize(local.address, isBackup)
        case .announce(let local):
            return try add(PathManagerEndpoint(local.address, flags: .signal, interface: local.interface))
        }
    }

    /// Puts the endpoints back that were there when this was made, and takes those away that were not.
    package func restore() throws(SystemError) {
        var failure: SystemError?
        func attempt(_ body: () throws(SystemError) -> Void) {
            do throws(SystemError) { try body() } catch { failure = failure ?? error }
        }
        let current = try commands.endpoints().filter { !$0.flags.contains(.implicit) }
        for endpoint in current where !original.contains(endpoint) {
            attempt { () throws(SystemError) in
                try commands.deleteEndpoint(id: endpoint.id, address: endpoint.address)
            }
        }
        for endpoint in original where !current.contains(endpoint) {
            attempt { () throws(SystemError) in try commands.add(endpoint) }
        }
        if let failure { throw failure }
    }

    /// An endpoint that was made for one connection serves the others too, as a rule: a connection that asks for it a
    /// second time got no subflow from it.
    private func create(
        _ local: SubflowAction.LocalAddress, _ isBackup: Bool, for connection: ConnectionToken
    ) throws(SystemError) -> SubflowOutcome {
        let request = Request(connection: connection, address: local.address)
        let isRepeated = !awaited.insert(request).inserted
        let endpoint = PathManagerEndpoint(
            local.address, flags: isBackup ? [.subflow, .backup] : .subflow, interface: local.interface)
        // Made anew it serves all: the connections that asked for it before wait for that.
        if isRepeated { awaited = awaited.filter { $0.address != local.address } }
        return try add(endpoint, isAnew: isRepeated)
    }

    /// An endpoint that is there already makes no subflow again by itself: it has to go first.
    private func add(
        _ endpoint: PathManagerEndpoint, isAnew: Bool = false
    ) throws(SystemError) -> SubflowOutcome {
        if let present = try known(endpoint.address) {
            var wanted = endpoint
            (wanted.id, wanted.port) = (present.id, present.port)
            if wanted == present, !isAnew { return .accepted }
            try commands.deleteEndpoint(id: present.id, address: present.address)
        }
        try commands.add(endpoint)
        return .accepted
    }

    private func delete(_ address: IPAddress) throws(SystemError) -> SubflowOutcome {
        awaited = awaited.filter { $0.address != address }
        if let present = try known(address) {
            try commands.deleteEndpoint(id: present.id, address: present.address)
            return .accepted
        }
        // Without an endpoint it can only be the address of first subflows, whose id is 0. The kernel doesn't
        // say whether there was one.
        try commands.deleteEndpoint(id: 0, address: address)
        return .accepted
    }

    private func prioritize(_ address: IPAddress, _ isBackup: Bool) throws(SystemError) -> SubflowOutcome {
        var endpoint: PathManagerEndpoint
        if let present = try known(address) {
            endpoint = present
        } else {
            // A first subflow's address needs an endpoint to have flags at all; one that does nothing else.
            endpoint = PathManagerEndpoint(address, flags: [])
            try commands.add(endpoint)
        }
        if isBackup { endpoint.flags.insert(.backup) } else { endpoint.flags.remove(.backup) }
        endpoint.flags.remove(.implicit)
        try commands.setFlags(endpoint)
        return .accepted
    }

    private func known(_ address: IPAddress) throws(SystemError) -> PathManagerEndpoint? {
        try commands.endpoints().first { $0.address == address }
    }
}
