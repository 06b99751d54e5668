import Glibc

/// A value behind a lock.
///
/// Not Synchronization's Mutex: on Linux that is a futex inside the standard library, where ThreadSanitizer
/// can't see it, and takes every use of it for a race.
///
/// Public, though this module is no product: what is `package` is not inlined into other modules, and would be called
/// unspecialised.
public final class Locked<Value: ~Copyable>: @unchecked Sendable {
    /// The mutex, and behind it the value: inside the object every use of it would be checked for exclusivity, which
    /// the lock sees to.
    @usableFromInline let memory: UnsafeMutableRawPointer

    @inlinable
    public init(_ value: consuming sending Value) {
        memory = LockMemory.make(MemoryLayout<Value>.size, alignment: MemoryLayout<Value>.alignment)
        pointer.initialize(to: value)
    }

    @inlinable
    deinit {
        pointer.deinitialize(count: 1)
        LockMemory.destroy(memory)
    }

    @inlinable var pointer: UnsafeMutablePointer<Value> {
        (memory + LockMemory.place).assumingMemoryBound(to: Value.self)
    }

    /// Runs `body` alone. It must not take the same lock again.
    @inlinable
    public func withLock<Result: ~Copyable, Failure: Error>(
        _ body: (inout Value) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        LockMemory.lock(memory)
        defer { LockMemory.unlock(memory) }
        return try body(&pointer.pointee)
    }
}

/// A mutex with room for a value behind it.
@usableFromInline
enum LockMemory {
    /// Where the value stands.
    @usableFromInline static var place: Int { 64 }

    @usableFromInline
    static func make(_ size: Int, alignment: Int) -> UnsafeMutableRawPointer {
        precondition(MemoryLayout<pthread_mutex_t>.size <= place && alignment <= place)
        let memory = UnsafeMutableRawPointer.allocate(
            byteCount: place + size, alignment: max(alignment, MemoryLayout<pthread_mutex_t>.alignment))
        let mutex = memory.bindMemory(to: pthread_mutex_t.self, capacity: 1)
        mutex.initialize(to: pthread_mutex_t())
        let status = pthread_mutex_init(mutex, nil)
        precondition(status == 0, "no mutex: \(SystemError.words(status))")
        return memory
    }

    @usableFromInline
    static func destroy(_ memory: UnsafeMutableRawPointer) {
        pthread_mutex_destroy(mutex(memory))
        memory.deallocate()
    }

    @usableFromInline
    static func lock(_ memory: UnsafeMutableRawPointer) { pthread_mutex_lock(mutex(memory)) }

    @usableFromInline
    static func unlock(_ memory: UnsafeMutableRawPointer) { pthread_mutex_unlock(mutex(memory)) }

    private static func mutex(_ memory: UnsafeMutableRawPointer) -> UnsafeMutablePointer<pthread_mutex_t> {
        memory.assumingMemoryBound(to: pthread_mutex_t.self)
    }
}
