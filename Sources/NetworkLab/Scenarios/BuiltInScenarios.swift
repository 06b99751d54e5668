extension Scenario {
    /// The built-in scenario of a name.
    public static func builtIn(_ name: String) -> Scenario? { builtIns.first { $0.name == name } }

    /// Its text, as a file would hold it.
    public static func builtInText(_ name: String) -> String? { texts.first { $0.name == name }?.text }

    /// Every built-in scenario, in the order in which they are shown.
    public static let builtIns: [Scenario] = texts.map { name, text in
        do {
            return try Scenario(parsing: text, name: name)
        } catch {
            preconditionFailure("the scenario \(name) is wrong: \(error)")
        }
    }

    private static let texts: [(name: String, text: String)] = [
        (
            "healthy",
            """
            about  Two good paths, Wi-Fi preferred: what everything else is measured against.
            link   wlan0 wifi rtt=20ms,rate=50mbit
            link   wwan0 cellular rtt=60ms,rate=20mbit
            """
        ),
        (
            "wifi-blackhole",
            """
            about  After 3 s Wi-Fi delivers nothing, and nothing says so: no carrier loss, no error.
            link   wlan0 wifi rtt=20ms,rate=50mbit
            link   wwan0 cellular rtt=60ms,rate=20mbit
            at 3s  wlan0 blackhole
            """
        ),
        (
            "wifi-walkout",
            """
            about  The user walks out of Wi-Fi's reach: it gets slower, later and lossy for 10 s, then is gone.
            link   wlan0 wifi rtt=20ms,rate=50mbit
            link   wwan0 cellular rtt=60ms,rate=20mbit
            from 2s to 12s wlan0 rtt=20ms..300ms,loss=0%..30%,rate=50mbit..1mbit
            at 12s wlan0 down
            """
        ),
        (
            "wifi-flapping",
            """
            about  Wi-Fi's carrier goes for 1 s in every 4.
            link   wlan0 wifi rtt=20ms,rate=50mbit
            link   wwan0 cellular rtt=60ms,rate=20mbit
            at 2s  wlan0 carrier off
            at 3s  wlan0 carrier on
            every  4s
            """
        ),
        (
            "bufferbloat",
            """
            about  Wi-Fi's box holds a whole second of packets: a transfer makes everything beside it slow.
            link   wlan0 wifi rtt=20ms,rate=10mbit,queue=1s
            link   wwan0 cellular rtt=60ms,rate=20mbit
            """
        ),
        (
            "one-way-loss",
            """
            about  Of what is sent over Wi-Fi a fifth is lost; what is received arrives whole.
            link   wlan0 wifi rtt=20ms,rate=50mbit,up.loss=20%
            link   wwan0 cellular rtt=60ms,rate=20mbit
            """
        ),
        (
            "elevator",
            """
            about  After 3 s all paths are gone for 20 s, in silence; then they are back.
            link   wlan0 wifi rtt=20ms,rate=50mbit
            link   wwan0 cellular rtt=60ms,rate=20mbit
            at 3s  all blackhole
            at 23s all blackhole=none
            """
        ),
        (
            "train",
            """
            about  Both paths change all the time, each at its own pace; now and then neither is good.
            link   wlan0 wifi rtt=30ms,rate=30mbit,jitter=5ms
            link   wwan0 cellular,expensive rtt=50ms,rate=30mbit,jitter=10ms
            from 0s to 4s   wlan0 rtt=30ms..200ms,rate=30mbit..2mbit,loss=0%..5%
            from 4s to 6s   wlan0 rtt=200ms..30ms,rate=2mbit..30mbit,loss=5%..0%
            at 8s           wlan0 blackhole
            at 10s          wlan0 blackhole=none
            from 2s to 7s   wwan0 rtt=50ms..400ms,rate=30mbit..1mbit
            from 7s to 9s   wwan0 rtt=400ms..50ms,rate=1mbit..30mbit
            every           12s
            """
        ),
        (
            "middlebox-strip",
            """
            about  A box behind Wi-Fi takes the MPTCP option out of every packet.
            link   wlan0 wifi rtt=20ms,rate=50mbit,middlebox=strip
            link   wwan0 cellular rtt=60ms,rate=20mbit
            """
        ),
        (
            "middlebox-drop",
            """
            about  A box behind Wi-Fi drops every SYN with the MPTCP option; TCP passes.
            link   wlan0 wifi rtt=20ms,rate=50mbit,middlebox=drop
            link   wwan0 cellular rtt=60ms,rate=20mbit
            """
        ),
        (
            "tcp-only-server",
            """
            about  The server knows nothing of MPTCP.
            link   wlan0 wifi rtt=20ms,rate=50mbit
            link   wwan0 cellular rtt=60ms,rate=20mbit
            server tcp
            """
        ),
        (
            "metered-hotspot",
            """
            about  Wi-Fi is a phone's hotspot: expensive, and meant to be spared. So is cellular.
            link   wlan0 wifi,expensive,constrained rtt=50ms,rate=20mbit
            link   wwan0 cellular,expensive rtt=60ms,rate=20mbit
            """
        ),
        (
            "ipv6-only",
            """
            about    There is no IPv4 anywhere.
            link     wlan0 wifi rtt=20ms,rate=50mbit
            link     wwan0 cellular rtt=60ms,rate=20mbit
            families ipv6
            """
        ),
        (
            "nat-timeout",
            """
            about  Wi-Fi's NAT forgets what was idle for 5 s, and drops what comes later without a word.
            link   wlan0 wifi rtt=20ms,rate=50mbit,nat=5s
            link   wwan0 cellular rtt=60ms,rate=20mbit
            """
        ),
    ]
}
