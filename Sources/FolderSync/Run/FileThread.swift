#if HTTP && Outbox
    import NIOPosix

    /// Runs what blocks on SwiftNIO's threads for that.
    func onFileThread<Value: Sendable>(_ body: @escaping @Sendable () throws -> Value) async throws -> Value {
        try await NIOThreadPool.singleton.runIfActive(body)
    }
#endif
