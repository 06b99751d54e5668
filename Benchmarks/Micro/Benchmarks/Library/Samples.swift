import Benchmark
import Glibc
import LinuxNet
import PathCore

/// A connection of this process with itself over loopback, which it has not accepted.
private struct Loop: ~Copyable {
    let listener: StreamSocket
    let client: StreamSocket
}

private func connect(_ transport: TransportProtocol) throws -> Loop {
    let listener = try StreamSocket(.ipv4, transport)
    try listener.listen(on: IPEndpoint(IPAddress(ipv4: 0x7F00_0001), port: 0))
    let client = try StreamSocket(.ipv4, transport)
    if try !client.connect(to: listener.localEndpoint!) {
        var wait = pollfd(fd: client.descriptor.number, events: Int16(POLLOUT), revents: 0)
        precondition(poll(&wait, 1, 1_000) == 1)
    }
    return Loop(listener: listener, client: client)
}

func samples() {
    for transport in [TransportProtocol.mptcp, .tcp] {
        Benchmark(
            "sample-of-\(transport.rawValue)", configuration: Count.configuration()
        ) { benchmark in
            let loop = try connect(transport)
            let sample = benchmark.measured { TransportSample.read(loop.client.descriptor.number) }
            precondition(sample?.subflows.count == 1)
        }
    }
}
