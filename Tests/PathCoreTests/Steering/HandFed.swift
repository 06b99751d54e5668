import SteeringSimulation
import Testing

@testable import PathCore

/// A connection whose machine is fed by hand. Wi-Fi carries, cellular is expensive and not joined.
enum HandFed {
    static let token = ConnectionToken(7)
    static let remote = IPEndpoint(IPAddress(ipv4: 0x0A00_0001), port: 443)
    static let local = IPEndpoint(SimulatedPath.wifi().address, port: 40_001)

    static func snapshot(hasCellular: Bool = true) -> PathSnapshot {
        let paths: [SimulatedPath] = hasCellular ? [.wifi(), .cellular()] : [.wifi()]
        return Simulation(paths: paths, traffic: SimulatedTraffic([])).snapshot()
    }

    static func machine(isAcceptor: Bool = false, hasCellular: Bool = true) -> SteeringMachine {
        var machine = SteeringMachine(
            SteeringConfiguration(mode: .handover, isAcceptor: isAcceptor),
            ConnectionIdentity(token: token, local: local, remote: remote, interface: 3), at: .zero)
        #expect(machine.begin(snapshot(hasCellular: hasCellular), at: .zero).isEmpty)
        return machine
    }

    /// - Parameter since: how long ago that was sent which waits.
    static func sample(
        acknowledged: UInt64 = 100, waiting: UInt64 = 0, since: Duration = .zero, peerHasEnded: Bool = false
    ) -> TransportSample {
        var connection = ConnectionSample(token: token)
        connection.acknowledged = acknowledged
        connection.writeSequence = connection.firstUnacknowledged + waiting
        connection.peerHasEnded = peerHasEnded
        var subflow = SubflowSample(id: 0)
        (subflow.local, subflow.remote, subflow.state) = (local, remote, .established)
        (subflow.acknowledged, subflow.smoothedRTT) = (acknowledged, .milliseconds(20))
        subflow.unacknowledged = waiting > 0 ? 1 : 0
        (subflow.sinceDataSent, subflow.sinceAcknowledgement) = (since, since)
        return TransportSample(kind: .mptcp(token: token.value), subflows: [subflow], connection: connection)
    }

    /// One of a download.
    ///
    /// - Parameters:
    ///   - early: how many segments have come in that were behind a lost one.
    ///   - since: how long ago bytes came in that went on.
    static func download(received: UInt64, early: UInt32, since: Duration) -> TransportSample {
        var sample = sample()
        (sample.subflows[0].bytesReceived, sample.subflows[0].earlySegments) = (received, early)
        (sample.subflows[0].minimumRTT, sample.subflows[0].sinceDataReceived) = (.milliseconds(20), since)
        return sample
    }
}
