import Benchmark
import LinuxNet
import PathCore

func netlink() {
    Benchmark("decode-rtnetlink", configuration: Count.configuration()) { benchmark in
        let datagrams = Recording.datagrams("rtnetlink")
        let events = benchmark.measured {
            var decoder = RouteDecoder()
            var events = 0
            for datagram in datagrams {
                events += datagram.withUnsafeBytes { decoder.events(in: $0).count }
            }
            precondition(decoder.malformed == 0)
            return events
        }
        precondition(events > 0)
    }
}
