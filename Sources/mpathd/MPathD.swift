import ArgumentParser
import CommandSupport
import LinuxNet
import PathBroker

struct MPathD: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "mpathd",
        abstract: "Steer the MPTCP connections of programs that may not.",
        discussion: """
            Steering the subflows of a connection takes CAP_NET_ADMIN. mpathd has it, and lends two levers to \
            every program of this network namespace, for that program's own connections alone: a socket of \
            its own gets the userspace path manager, and its subflows are made, preferred and given up as it \
            says. A program shows that a connection is its own by passing the socket. Programs that use \
            swift-multipath find mpathd by themselves.

            A service manager passes it a listening socket (LISTEN_FDS), as mpathd.socket does for systemd; \
            without one it takes --listen.

            EXAMPLES
              mpathd --listen /run/mpathd.sock     serve, under any service manager or none
              mpathd --status                      what it is doing; as root with every user's clients
              mpathd --status --json | jq .refusals
              MPATHD_SOCKET=/run/lab.sock mpconnect example.org:443

            EXIT STATUS
              0  done; also after SIGTERM and SIGINT
              1  it can't listen, or may not steer; with --status, no mpathd answers: the reason is told
              2  usage

            ENVIRONMENT
              MPATHD_SOCKET  where --status, and programs, look for it instead of \(BrokerProtocol.path)
            """,
        version: projectVersion)

    @Option(
        help: ArgumentHelp(
            "Listen at this path, for every user. Make its folder closed to others to have fewer.",
            valueName: "path"))
    var listen: String?

    @Flag(help: "Tell what a running mpathd is doing.")
    var status = false

    @Flag(help: "With --status: one JSON object.")
    var json = false

    func validate() throws {
        if status, listen != nil {
            throw ValidationError("--status asks a running mpathd; --listen starts one")
        }
        if json, !status { throw ValidationError("--json belongs to --status") }
    }

    func run() async throws {
        if status { return try tell() }
        TerminationSignal.install()
        do {
            try await serve()
        } catch let error as SystemError {
            throw MessageError("\(error)")
        }
    }

    private func serve() async throws {
        guard let listener = try takeListener() else {
            throw ValidationError(
                "there is no socket to listen on: a service manager passed none; use --listen")
        }
        let broker: Broker
        do throws(SystemError) {
            broker = try Broker(journal: .ofService) { ServiceLog.shared.write($0) }
        } catch {
            if let listen { LocalPackets.remove(listen) }
            throw error
        }
        let socket = Shared(listener)
        let failure = Locked<SystemError?>(nil)
        let (failures, continuation) = AsyncStream.makeStream(of: SystemError.self)
        try OwnThread.start("accept") {
            do throws(SystemError) { try broker.serve(socket.descriptor) } catch { continuation.yield(error) }
        }
        ServiceManager.notify("READY=1\nSTATUS=Steers for every process that connects")
        // Of what the start has read little is needed again, and it may be long until then.
        ProgramPages.release()
        await withTaskGroup(of: Void.self) { group in
            group.addTask { _ = await TerminationSignal.first() }
            group.addTask {
                for await error in failures {
                    failure.withLock { $0 = error }
                    return
                }
            }
            await group.next()
            group.cancelAll()
        }
        ServiceManager.notify("STOPPING=1")
        broker.close()
        if let listen { LocalPackets.remove(listen) }
        if let error = failure.withLock({ $0 }) { throw error }
        CommandExit.done.leave()
    }

    private func takeListener() throws -> Descriptor? {
        if let listen { return try LocalPackets.listen(at: listen, mode: 0o666) }
        return try ServiceManager.takeListener()
    }

    private func tell() throws {
        let path = BrokerClient.standardPath
        do {
            let status = try BrokerInquiry.status(at: path)
            let text = json ? status.jsonLine : StatusText.lines(status).joined(separator: "\n")
            try Diagnostics.tryWrite(text, to: .output)
        } catch BrokerInquiry.Failure.system(let error) {
            throw MessageError("mpathd does not answer at \(path): \(error.words)")
        } catch BrokerInquiry.Failure.refused(let failure) {
            throw MessageError("mpathd refused: \(failure.refusal.text)")
        } catch BrokerInquiry.Failure.notUnderstood {
            throw MessageError("what answers at \(path) is no mpathd of this version")
        }
    }

    private final class Shared: Sendable {
        let descriptor: Descriptor
        init(_ descriptor: consuming Descriptor) { self.descriptor = descriptor }
    }
}
