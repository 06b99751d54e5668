import LinuxNet
import Multipath
import NetworkLab

/// A stream that is being played: 5,000 bytes every 10 ms, as the lab's port 20 sends them.
final class Stream: Sendable {
    static let request = "5000 10\n"

    let playback = Locked(Playback())
    private let socket: StreamSocket
    private let follower: ConnectionFollower?
    private let received = Locked(0)
    private let bytesByPath = Locked<[PathID: UInt64]>([:])

    private init(_ socket: consuming StreamSocket, _ follower: ConnectionFollower?) {
        self.socket = socket
        self.follower = follower
    }

    deinit { follower?.stop() }

    /// A connection of this library.
    static func multipath(to remote: IPEndpoint) async throws -> Stream {
        let connected = try await Connector.shared.connect(host: "\(remote.address)", port: Int(remote.port))
        {
            $0.mode = .handover
        }
        let follower = try connected.follow(hasHints: true)
        return Stream(StreamSocket(owning: Descriptor(owning: connected.takeDescriptor())), follower)
    }

    /// A connection of the kernel's own path manager, as any program opens one.
    static func kernel(to remote: IPEndpoint) async throws -> Stream {
        let socket = try StreamSocket(remote.address.family, .mptcp)
        if try !socket.connect(to: remote) {
            _ = await EventThread.shared.ready(socket.descriptor.number, for: .writable)
            if let error = socket.consumeError() { throw error }
        }
        return Stream(socket, nil)
    }

    func start() {
        _ = Array(Self.request.utf8).withUnsafeBytes { socket.write($0) }
        follower?.didSend(Self.request.utf8.count)
    }

    /// Plays until it is cancelled, or the connection ends.
    func play(since begun: MonotonicTime) async {
        while !Task.isCancelled {
            guard await EventThread.shared.ready(socket.descriptor.number, for: .readable) != nil else {
                return
            }
            guard read(since: begun) else {
                playback.withLock { $0.breakOff() }
                return
            }
        }
    }

    private func read(since begun: MonotonicTime) -> Bool {
        withUnsafeTemporaryAllocation(byteCount: 64 * 1024, alignment: 16) { buffer in
            withUnsafeTemporaryAllocation(byteCount: 64 * 1024, alignment: 16) { expected in
                while true {
                    switch socket.read(into: buffer) {
                    case .wouldBlock: return true
                    case .moved(0), .broken: return false
                    case .moved(let count):
                        follower?.didReceive(count)
                        let offset = received.withLock { received in
                            defer { received += count }
                            return received
                        }
                        let sent = UnsafeMutableRawBufferPointer(rebasing: expected.prefix(count))
                        SourceData.fill(sent, from: UInt64(offset), seed: SourceData.defaultSeed)
                        let isAsSent = buffer.prefix(count).elementsEqual(sent)
                        playback.withLock {
                            $0.take(count, isAsSent: isAsSent, at: begun.duration(to: .now))
                        }
                    }
                }
            }
        }
    }

    /// Asks the kernel which path the latest bytes came over.
    func noteCarrier(in snapshot: PathSnapshot, at time: Duration) {
        guard let inspection = SocketInspection(of: socket.descriptor.number, in: snapshot) else { return }
        let new = Dictionary(
            inspection.paths.map { ($0.path, $0.bytesReceived) }, uniquingKeysWith: max)
        let old = bytesByPath.withLock { bytes in
            defer { bytes = new }
            return bytes
        }
        let most = new.max { $0.value &- (old[$0.key] ?? 0) < $1.value &- (old[$1.key] ?? 0) }
        guard let most, most.value > old[most.key] ?? 0 else { return }
        playback.withLock { $0.noteCarrier(most.key == "wlan0" ? .wifi : .cellular, at: time) }
    }
}
