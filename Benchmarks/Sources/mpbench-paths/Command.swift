import Glibc
import Synchronization

enum Command {
    /// Runs a command to its end, on a thread of its own: the consumer needs those of the tasks.
    static func run(_ command: [String]) async {
        await withCheckedContinuation { (continuation: CheckedContinuation<Void, Never>) in
            let box = Unmanaged.passRetained(Job(command.joined(separator: " "), continuation))
            var thread = pthread_t()
            pthread_create(
                &thread, nil,
                { context in
                    let job = Unmanaged<Job>.fromOpaque(context!).takeRetainedValue()
                    _ = system(job.command)
                    job.continuation.resume()
                    return nil
                }, box.toOpaque())
            pthread_detach(thread)
        }
    }

    private final class Job: Sendable {
        let command: String
        let continuation: CheckedContinuation<Void, Never>
        init(_ command: String, _ continuation: CheckedContinuation<Void, Never>) {
            (self.command, self.continuation) = (command, continuation)
        }
    }
}

final class Counter: Sendable {
    private let count = Mutex(0)
    var value: Int { count.withLock { $0 } }
    func add() { count.withLock { $0 += 1 } }
}
