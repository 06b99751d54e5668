import CLinux
import Dispatch
import Glibc

extension EventThread {
    /// Runs a closure on the thread and waits for its result. Don't call it on the thread itself.
    package func perform<Value: Sendable>(
        _ body: @escaping @Sendable () throws(SystemError) -> Value
    ) throws(SystemError) -> Value {
        try start()
        let box = Box<Value>()
        submit {
            do throws(SystemError) {
                box.result = .success(try body())
            } catch {
                box.result = .failure(error)
            }
            box.done.signal()
        }
        box.done.wait()
        return try box.result!.get()
    }

    /// Written by the thread, then read by the caller; the semaphore is between them.
    private final class Box<Value: Sendable>: @unchecked Sendable {
        var result: Result<Value, SystemError>?
        let done = DispatchSemaphore(value: 0)
    }
}
