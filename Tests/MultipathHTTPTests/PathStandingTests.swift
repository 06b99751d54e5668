#if HTTP
    import Multipath
    import Testing

    @testable import MultipathHTTP

    @Suite("What a connection's path is to the next request")
    struct PathStandingTests {
        @Test("is one to wait for while MPTCP has no path, and a failed one once it has fallen back to TCP")
        func fallback() {
            let observer = PathStandingObserver(isMPTCP: true, began: "wlan0")
            #expect(observer.ingest(.fallback(.afterHandshake)) == nil)
            #expect(observer.ingest(.viabilityChanged(isViable: false, reason: .noCarrier)) == .failed)
            let other = PathStandingObserver(isMPTCP: true, began: "wlan0")
            #expect(other.ingest(.viabilityChanged(isViable: false, reason: .noPath)) == .waiting)
            #expect(other.ingest(.fallback(.afterHandshake)) == .failed)
            // What steering has found is over with it.
            let third = PathStandingObserver(isMPTCP: true, began: "wlan0")
            #expect(third.ingest(.steering(.failed("wlan0", .noAnswer))) == .waiting)
            #expect(third.ingest(.fallback(.afterHandshake)) == .good)
        }
    }
#endif
