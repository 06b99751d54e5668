import PathCore
import Testing

@Suite("A destination")
struct HostPortTests {
    @Test(
        "is a name or an address, and a port",
        arguments: [
            ("example.org:443", HostPort(host: "example.org", port: 443)),
            ("localhost:1", HostPort(host: "localhost", port: 1)),
            ("192.0.2.1:65535", HostPort(host: "192.0.2.1", port: 65535)),
            ("[::1]:80", HostPort(host: "::1", port: 80)),
            ("[2001:db8::1]:80", HostPort(host: "2001:db8::1", port: 80)),
            ("[fe80::1%2]:80", HostPort(host: "fe80::1%2", port: 80)),
            ("[fe80::1%eth0]:80", HostPort(host: "fe80::1%eth0", port: 80)),
            ("münchen.example:80", HostPort(host: "münchen.example", port: 80)),
            ("under_score:0080", HostPort(host: "under_score", port: 80)),
        ])
    func reads(text: String, expected: HostPort) {
        #expect(outcome(text) == .success(expected))
        // Both a connecting and a listening command take it.
        #expect(outcome(text, forListening: true) == .success(expected))
    }

    @Test(
        "is written so that it reads back",
        arguments: [
            HostPort(host: "example.org", port: 443), HostPort(host: "192.0.2.1", port: 1),
            HostPort(host: "::1", port: 80), HostPort(host: "fe80::1%eth0", port: 65535),
        ])
    func writes(destination: HostPort) {
        #expect(outcome(destination.description) == .success(destination))
    }

    @Test(
        "may be only a port, or port 0, where somebody listens",
        arguments: [
            (":8080", HostPort(host: "", port: 8080)), ("8080", HostPort(host: "", port: 8080)),
            (":0", HostPort(host: "", port: 0)), ("0", HostPort(host: "", port: 0)),
            ("localhost:0", HostPort(host: "localhost", port: 0)), ("[::]:0", HostPort(host: "::", port: 0)),
        ])
    func readsForListening(text: String, expected: HostPort) {
        #expect(outcome(text, forListening: true) == .success(expected))
    }

    @Test(
        "that can't be read says what is wrong and what to write instead",
        arguments: [
            ("", "'' has no port; write it as HOST:PORT"),
            ("example.org", "'example.org' has no port; write it as example.org:PORT"),
            ("::1", "'::1' looks like an IPv6 address without a port; write it as [::1]:PORT"),
            (
                "2001:db8::1:443",
                "'2001:db8::1:443' looks like an IPv6 address without a port; "
                    + "write it as [2001:db8::1:443]:PORT"
            ),
            ("[::1]", "'[::1]' has no port; write it as [::1]:PORT"),
            ("[::1]80", "'[::1]80' has no port; write it as [::1]:PORT"),
            ("[::1]]:80", "'[::1]]:80' has no port; write it as [::1]:PORT"),
            ("[::1", "'[::1' opens a bracket that nothing closes"),
            ("[::1:80", "'[::1:80' opens a bracket that nothing closes"),
            ("[example.org]:80", "'example.org' is no IPv6 address; brackets are only for those"),
            ("[]:80", "'' is no IPv6 address; brackets are only for those"),
            (":80", "':80' has no host; write it as HOST:80"),
            ("example.org:", "'' in 'example.org:' is no port; write a number from 1 to 65535"),
            ("example.org:http", "'http' in 'example.org:http' is no port; write a number from 1 to 65535"),
            ("example.org:-1", "'-1' in 'example.org:-1' is no port; write a number from 1 to 65535"),
            ("example.org:+1", "'+1' in 'example.org:+1' is no port; write a number from 1 to 65535"),
            ("example.org:８０", "'８０' in 'example.org:８０' is no port; write a number from 1 to 65535"),
            ("[::1]:", "'' in '[::1]:' is no port; write a number from 1 to 65535"),
            ("example.org:0", "port 0 is out of range; ports go from 1 to 65535"),
            ("example.org:65536", "port 65536 is out of range; ports go from 1 to 65535"),
            (
                "example.org:99999999999999999999",
                "port 99999999999999999999 is out of range; ports go from 1 to 65535"
            ),
            (
                "https://example.org",
                "'https://example.org' is no host name; write HOST:PORT, without a scheme or path"
            ),
            (
                "https://example.org:443",
                "'https://example.org:443' is no host name; write HOST:PORT, without a scheme or path"
            ),
            (
                "example.org:443/index.html",
                "'example.org:443/index.html' is no host name; write HOST:PORT, without a scheme or path"
            ),
            ("a b:80", "'a b' is no host name; write HOST:PORT, without a scheme or path"),
            ("a\0b:80", "'a\0b' is no host name; write HOST:PORT, without a scheme or path"),
        ])
    func explains(text: String, problem: String) {
        #expect(outcome(text) == .failure(problem))
    }

    @Test(
        "for listening has its own limits",
        arguments: [
            ("", "'' in '' is no port; write a number from 0 to 65535"),
            (":", "'' in ':' is no port; write a number from 0 to 65535"),
            ("localhost", "'localhost' in 'localhost' is no port; write a number from 0 to 65535"),
            ("65536", "port 65536 is out of range; ports go from 0 to 65535"),
        ])
    func explainsForListening(text: String, problem: String) {
        #expect(outcome(text, forListening: true) == .failure(problem))
    }
}

private enum Outcome: Equatable {
    case success(HostPort)
    case failure(String)
}

private func outcome(_ text: String, forListening: Bool = false) -> Outcome {
    do throws(HostPort.Malformed) {
        return .success(try HostPort(parsing: text, forListening: forListening))
    } catch {
        return .failure(error.description)
    }
}
