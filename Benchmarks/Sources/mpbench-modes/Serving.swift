import BenchSupport
import Glibc
import Multipath
import MultipathNIO
import NIOConcurrencyHelpers
import NIOCore
import NIOPosix

/// The server host's program in rows that look at the receiving end, or that need a listener of this library:
/// port 9 takes everything and notes when it came, port 21 answers segments.
struct Serving {
    enum Listener: String {
        /// This library's, steered: it takes the namespace's path manager in user space.
        case ours
        /// SwiftNIO's with `enableMPTCP`.
        case kernel
    }

    static let sinkPort = 9
    static let segmentPort = 21

    var listener = Listener.kernel
    var congestion: String?
    /// Where the sink notes its arrivals.
    var log: String?

    static let usage = "usage: mpbench-modes serve ours|kernel [--congestion NAME] [--log FILE]\n"

    init?(_ arguments: ArraySlice<String>) {
        var words = arguments
        guard let listener = words.popFirst().flatMap(Listener.init(rawValue:)) else { return nil }
        self.listener = listener
        while let name = words.popFirst() {
            guard let value = words.popFirst() else { return nil }
            switch name {
            case "--congestion": congestion = value
            case "--log": log = value
            default: return nil
            }
        }
    }

    func run() async throws -> Never {
        let group = MultiThreadedEventLoopGroup(numberOfThreads: 1)
        let arrivals = try log.map(ArrivalLog.init)
        async let sink: Void = listen(on: Self.sinkPort, group) { Sink(arrivals) }
        async let segments: Void = listen(on: Self.segmentPort, group) { SegmentServer() }
        _ = try await (sink, segments)
        fatalError("a listener ended")
    }

    private func listen(
        on port: Int, _ group: any EventLoopGroup,
        _ make: @escaping @Sendable () -> any ChannelHandler & Sendable
    ) async throws {
        let congestion = congestion
        let initializer = { @Sendable (channel: any Channel) -> EventLoopFuture<Void> in
            channel.eventLoop.makeCompletedFuture {
                try channel.setCongestionControlHere(congestion)
                try channel.pipeline.syncOperations.addHandler(make())
            }
        }
        switch listener {
        case .kernel:
            let channel = try await ServerBootstrap(group: group).enableMPTCP(true)
                .serverChannelOption(.socketOption(.so_reuseaddr), value: 1)
                .childChannelOption(.tcpOption(.tcp_nodelay), value: 1)
                .childChannelInitializer(initializer).bind(host: "::", port: port).get()
            try await channel.closeFuture.get()
        case .ours:
            let server = try await MultipathServerBootstrap(group: group).bind(
                host: "::", port: port, childChannelInitializer: initializer)
            try await server.executeThenClose { connections in
                for try await _ in connections {}
            }
        }
    }
}

/// A file with the pauses between a sink's bytes, in seconds of the monotonic clock: `gap START LENGTH`, and now and then
/// `last TIME`.
final class ArrivalLog: Sendable {
    /// A pause that has not ended yet counts from the last line.
    private static let interval = 0.02

    private struct State {
        var last: Double?
        var noted = 0.0
    }

    private let descriptor: CInt
    private let state = NIOLockedValueBox(State())

    init(_ path: String) throws {
        descriptor = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_APPEND, 0o644)
        guard descriptor >= 0 else { throw IOError(errnoCode: errno, reason: "open \(path)") }
    }

    func note(_ now: Double) {
        state.withLockedValue { state in
            if let last = state.last, now - last > Flow.shortest { write("gap \(last) \(now - last)\n") }
            state.last = now
            if now - state.noted >= Self.interval {
                state.noted = now
                write("last \(now)\n")
            }
        }
    }

    private func write(_ line: String) {
        var line = line
        _ = line.withUTF8 { Glibc.write(descriptor, $0.baseAddress, $0.count) }
    }
}

/// Takes whatever comes, and notes when.
private final class Sink: ChannelInboundHandler, Sendable {
    typealias InboundIn = ByteBuffer

    private let arrivals: ArrivalLog?

    init(_ arrivals: ArrivalLog?) { self.arrivals = arrivals }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        arrivals?.note(Double(NIODeadline.now().uptimeNanoseconds) / 1e9)
    }
}

/// Answers requests one after the other: `D` and a number of eight bytes with so many bytes, `U`, a number and so many
/// bytes with one byte.
private final class SegmentServer: ChannelInboundHandler, Sendable {
    typealias InboundIn = ByteBuffer
    typealias OutboundOut = ByteBuffer

    private struct State {
        var input = ByteBuffer()
        /// Bytes of an upload that are still to come.
        var missing = 0
    }

    private let state = NIOLockedValueBox(State())

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        var new = unwrapInboundIn(data)
        let answers = state.withLockedValue { state in
            state.input.writeBuffer(&new)
            return Self.answers(&state)
        }
        for size in answers {
            context.write(
                wrapOutboundOut(ByteBuffer(repeating: UInt8(ascii: "s"), count: size)), promise: nil)
        }
        if !answers.isEmpty { context.flush() }
    }

    /// - Returns: how many bytes each request that is complete is answered with.
    private static func answers(_ state: inout State) -> [Int] {
        var answers: [Int] = []
        while true {
            if state.missing > 0 {
                let count = min(state.missing, state.input.readableBytes)
                state.input.moveReaderIndex(forwardBy: count)
                state.missing -= count
                guard state.missing == 0 else { break }
                answers.append(1)
            }
            guard state.input.readableBytes >= Segments.headLength,
                let kind = state.input.readInteger(as: UInt8.self),
                let size = state.input.readInteger(as: UInt64.self).flatMap(Int.init(exactly:))
            else { break }
            if kind == UInt8(ascii: "D") { answers.append(size) } else { state.missing = size }
        }
        state.input.discardReadBytes()
        return answers
    }
}
