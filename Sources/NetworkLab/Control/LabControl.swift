// How a running lab is told to change: one line of text to a local socket, one line back.
//
//     set LINK ACTION      -> ok, or error: WHY
//     links                -> a line for each link
//
// The socket is there twice: where the lab was started, under the lab's process number, and in the client
// host, for the command itself.

import LabNet
import LinuxNet
import PathCore

/// Changes the links of a lab that runs, from another process.
public enum LabControl {
    static let namePrefix = "mplab-"

    /// Why a lab could not be told.
    public struct Failure: Error, Sendable, CustomStringConvertible {
        /// What went wrong.
        public let description: String
    }

    /// The labs that can be told from here, by the numbers of their processes. Names that other users' processes have taken
    /// are not among them.
    public static func labs() -> [Int32] { reachable(nil).labs }

    /// Does something to a link of a running lab, and returns when it is done.
    ///
    /// - Parameters:
    ///   - link: its name, such as `wlan0`.
    ///   - action: conditions or a word, as `mplab set` takes them.
    ///   - lab: its process number; nil where there is only one.
    public static func set(_ link: String, _ action: String, lab: Int32? = nil) throws(Failure) {
        // The lab may run in another folder.
        let action = RateTrace.withAbsolutePaths(action, in: WorkingFolder.path)
        let answer = try ask("set \(link) \(action)", lab: lab)
        guard answer == "ok" else { throw Failure(description: answer) }
    }

    /// What a running lab's links are like, one a line.
    public static func links(lab: Int32? = nil) throws(Failure) -> String { try ask("links", lab: lab) }

    private static func ask(_ question: String, lab: Int32?) throws(Failure) -> String {
        var reached = reachable(lab)
        if reached.labs.count > 1 {
            let list = reached.labs.map(String.init).joined(separator: ", ")
            throw Failure(description: "there are several labs (\(list)); name one with --lab")
        }
        guard let socket = reached.socket.take() else {
            switch (lab, reached.isForeign) {
            case (nil, _):
                throw Failure(description: "no lab is running here; start one with mplab run")
            case (let number?, true):
                throw Failure(description: "the lab \(number) is another user's")
            case (let number?, false):
                throw Failure(description: "no lab has the process number \(number)")
            }
        }
        do throws(SystemError) {
            return try LocalSocket.ask(socket, question)
        } catch {
            throw Failure(description: error.description)
        }
    }

    /// The labs whose processes are this user's, and a connection to the first.
    private struct Reached: ~Copyable {
        var labs: [Int32] = []
        var socket: Descriptor?
        /// Whether another user's process answers to the name.
        var isForeign = false
    }

    /// Any user's process can take any of the names, and any number of them. So each is connected to before it counts, none is
    /// waited for that can't be this user's, and all together for two seconds at most.
    private static func reachable(_ lab: Int32?) -> Reached {
        var reached = Reached()
        let deadline = MonotonicTime.now.advanced(by: .seconds(2))
        var names = LocalSocket.names(startingWith: namePrefix).filter { name in
            number(of: name).map { lab == nil || lab == $0 } ?? false
        }
        while true {
            var busy: [String] = []
            for name in names {
                guard let number = number(of: name), !reached.labs.contains(number) else { continue }
                do throws(SystemError) {
                    let socket = try LocalSocket.connect(name)
                    let owner = LocalSocket.peerUser(socket)
                    guard [0, owner].contains(ChildProcess.userNumber) || owner == 0 else {
                        reached.isForeign = true
                        continue
                    }
                    reached.labs.append(number)
                    if reached.socket == nil { reached.socket = consume socket }
                } catch {
                    let mayBeOurs = [0, ChildProcess.userNumber].contains(
                        ChildProcess.user(of: number) ?? .max)
                    if error.isPassing, mayBeOurs || ChildProcess.userNumber == 0 { busy.append(name) }
                }
            }
            guard !busy.isEmpty, MonotonicTime.now < deadline else { return reached }
            names = busy
            ThreadTimers.sleep(.milliseconds(10))
        }
    }

    /// The process number in a name: `mplab-4711`, or `mplab-4711-x9` where another process had taken that.
    private static func number(of name: String) -> Int32? {
        name.dropFirst(namePrefix.count).split(separator: "-").first.flatMap { Int32($0) }
    }

    /// Listens under a name with this process's number.
    static func listen() throws(SystemError) -> Listener {
        let name = "\(namePrefix)\(ChildProcess.ownNumber)"
        do throws(SystemError) {
            return Listener(try LocalSocket.listen(name))
        } catch  where error.isTaken {
            // Another user's: a process number is known before its process is there.
            var random = SystemRandomNumberGenerator()
            return Listener(try LocalSocket.listen("\(name)-\(String(random.next(), radix: 36))"))
        }
    }

    // MARK: Inside the lab

    /// Answers from now on, in the client host and where the lab was started.
    static func serve(_ lab: Lab, outside: Listener) {
        serve(lab, on: outside)
        // The first of the lab's processes has number 1 inside.
        if let inside = try? lab.hosts.client.run({ () throws(SystemError) in try listen() }) {
            serve(lab, on: inside)
        }
    }

    private static func serve(_ lab: Lab, on listener: Listener) {
        Lab.thread.submit {
            _ = try? Lab.thread.add(listener.descriptor.number, for: .readable) { _ in
                guard let socket = LocalSocket.accept(listener.descriptor) else { return }
                // A name has no owner or mode: the lab is its user's, and root's.
                let user = LocalSocket.peerUser(socket)
                guard user == ChildProcess.userNumber || user == 0 else { return }
                Question(lab, socket).start()
            }
        }
    }

    /// A socket that can be asked at, until this goes.
    final class Listener: Sendable {
        let descriptor: Descriptor
        init(_ descriptor: consuming Descriptor) { self.descriptor = descriptor }
    }

    /// One connection; its registration keeps it alive, then its answer. Only the lab's thread touches it.
    private final class Question: @unchecked Sendable {
        private let lab: Lab
        private let socket: StreamSocket
        private var text: [UInt8] = []
        private var token: EventThread.Token?

        init(_ lab: Lab, _ socket: consuming Descriptor) {
            self.lab = lab
            self.socket = StreamSocket(owning: socket)
        }

        func start() {
            token = try? Lab.thread.add(socket.descriptor.number, for: .readable) { [self] _ in receive() }
        }

        private func receive() {
            let transfer = withUnsafeTemporaryAllocation(byteCount: 4096, alignment: 1) { buffer in
                let transfer = socket.read(into: buffer)
                if case .moved(let count) = transfer { text += buffer.prefix(count) }
                return transfer
            }
            switch transfer {
            case .wouldBlock: return
            case .moved(let count) where count > 0 && text.count <= 4096: return
            case .moved:
                LabControl.answer(lab, String(decoding: text, as: UTF8.self)) { [self] answer in
                    // An answer is short: it fits the socket's buffer.
                    _ = Array(answer.utf8).withUnsafeBytes { socket.write($0) }
                }
            case .broken: break
            }
            if let token { Lab.thread.remove(token) }
            token = nil
        }
    }

    /// Answers a question, on the lab's thread, now or when it is done.
    private static func answer(
        _ lab: Lab, _ question: String, _ reply: @escaping @Sendable (String) -> Void
    ) {
        let words = question.split(separator: " ", maxSplits: 2).map(String.init)
        switch words.first {
        case "links":
            let conditions = lab.conditions
            lab.settings.read { settings in
                reply(
                    conditions.map { link in
                        let said = settings.words(of: link.name)
                        return ([link.name, link.conditions.text] + said).joined(separator: " ")
                    }.joined(separator: "\n"))
            }
        case "set" where words.count == 3:
            do throws(LabTextError) {
                let link = try lab.plan.link(words[1]).name
                lab.perform(try LinkAction(parsing: words[2]), on: link) { failure in
                    reply(failure.map { "\(link): \($0)" } ?? "ok")
                }
            } catch {
                reply(error.description)
            }
        default: reply("'\(question)' is no question a lab answers")
        }
    }
}
