import Benchmark
import PathCore
import SteeringSimulation

/// A steered connection over Wi-Fi, with cellular beside it: requests and answers in simulated time.
private func world(_ changes: [(time: Duration, change: SimulatedChange)] = []) -> Simulation {
    let simulation = Simulation(
        paths: [.wifi(), .cellular()],
        traffic: SimulatedTraffic([(.zero, .requests(answers: 1, pause: .milliseconds(20)))]),
        changes: changes)
    simulation.steer(.client, SteeringConfiguration(mode: .handover))
    return simulation
}

/// What the kernel would say of the connection of `world` when everything is acknowledged.
private func quietSample(_ simulation: Simulation) -> TransportSample {
    var connection = ConnectionSample(token: ConnectionToken(7))
    connection.acknowledged = 100_000
    connection.writeSequence = 100_000
    connection.firstUnacknowledged = 100_000
    var subflow = SubflowSample(
        id: 0, local: IPEndpoint(simulation.paths[0].address, port: 40_001),
        remote: IPEndpoint(IPAddress(ipv4: 0x0A00_0001), port: 443), bytesSent: 100_000,
        bytesRetransmitted: 0,
        bytesReceived: 100_000, smoothedRTT: .milliseconds(20), rttVariation: .milliseconds(1),
        minimumRTT: .milliseconds(20))
    subflow.state = .established
    subflow.acknowledged = 100_000
    return TransportSample(kind: .mptcp(token: 7), subflows: [subflow], connection: connection)
}

func modes() {
    Benchmark("mode-quiet-sample", configuration: Count.configuration(Count.actions)) { benchmark in
        let simulation = world()
        simulation.run(until: .seconds(1))
        var machine = simulation.machine(.client)!
        let sample = quietSample(simulation)
        var now = MonotonicTime(nanoseconds: simulation.now)
        // The first says what the samples of the simulation had not said.
        for _ in 0..<3 {
            now = now.advanced(by: .milliseconds(2))
            _ = machine.sample(sample, at: now)
        }
        now = now.advanced(by: .milliseconds(2))
        let actions = benchmark.measured { machine.sample(sample, at: now) }
        precondition(!machine.isOver)
        benchmark.measurement(Count.actions, actions.count)
    }

    Benchmark(
        "mode-move", configuration: Count.configuration(Count.samples, Count.actions)
    ) { benchmark in
        let silence = Duration.milliseconds(1_010)
        let simulation = world([(silence, .open(0, upwards: false, downwards: false))])
        simulation.run(until: silence)
        let (samples, steps) = (simulation.samples, simulation.steps.count)
        // The simulation's own work is measured with it, and is the same in each run.
        benchmark.measured {
            while simulation.machine(.client)!.carrier != "wwan0", simulation.step(until: 5_000_000_000) {}
        }
        precondition(simulation.machine(.client)!.carrier == "wwan0")
        benchmark.measurement(Count.samples, simulation.samples - samples)
        benchmark.measurement(Count.actions, simulation.steps.count - steps)
    }
}
