#if HTTP
    import Multipath
    import Testing

    @testable import MultipathHTTP

    @Suite("A pool of connections whose paths change")
    struct PoolPathTests {
        @Test("breaks off a connection whose path has failed, so that its requests are sent again on another")
        func pathFailed() {
            var pool = SimulatedPool()
            _ = pool.request(1)
            _ = pool.dialed(0, .http1)
            #expect(pool.path(0, is: .failed) == [.breakOff(0)])
            #expect(pool.request(2) == [.dial(1)])
        }

        @Test("sends no request over a path that is not allowed any more, and closes after the last answer")
        func pathRefused() {
            var pool = SimulatedPool()
            _ = pool.request(1)
            _ = pool.dialed(0, .http1)
            #expect(pool.path(0, is: .refused) == [])
            #expect(pool.request(2) == [.dial(1)])
            #expect(pool.ended(0) == [.close(0)])
        }

        @Test("closes an idle connection at once whose path is not allowed any more")
        func idlePathRefused() {
            var pool = SimulatedPool()
            let id = pool.idle(.http1)
            #expect(pool.path(id, is: .refused) == [.close(id)])
        }

        @Test("sends no request on a connection that waits for a path, and does again when it has one")
        func pathWaiting() {
            var pool = SimulatedPool()
            let id = pool.idle(.http2)
            #expect(pool.path(id, is: .waiting) == [.dial(1)])
            #expect(pool.request(1) == [])
            #expect(pool.path(id, is: .good) == [.lease(1, id)])
        }

        @Test(
            "breaks off a connection that waits for a path where another has one, so that its requests are sent again"
        )
        func pathWaitsForEver() {
            var pool = SimulatedPool(knows: .http1)
            _ = pool.request(1)
            _ = pool.dialed(0, .http1)
            #expect(pool.path(0, is: .waiting) == [.dial(1)])
            #expect(pool.dialed(1, .http1, over: "wwan0") == [.breakOff(0)])
        }

        @Test(
            "breaks it off as well where the other one was dialed for another request, or is dialed after that has failed"
        )
        func pathWaitsBesideDial() {
            for fails in [false, true] {
                var pool = SimulatedPool(knows: .http1)
                _ = pool.request(1)
                _ = pool.dialed(0, .http1)
                #expect(pool.request(2) == [.dial(1)])
                #expect(pool.path(0, is: .waiting) == [])
                guard fails else {
                    #expect(pool.dialed(1, .http1, over: "wwan0") == [.breakOff(0), .lease(2, 1)])
                    continue
                }
                #expect(pool.machine.dialFailed(1, at: pool.now) == [.fail(2, because: 1), .dial(2)])
                #expect(pool.dialed(2, .http1, over: "wwan0") == [.breakOff(0)])
            }
        }

        @Test("breaks off what a connection carries that has been replaced, and then loses its path")
        func pathLostAfterReplacement() {
            var pool = SimulatedPool()
            _ = pool.request(1)
            _ = pool.dialed(0, .http2)
            #expect(pool.path(0, is: .moved) == [.dial(1)])
            #expect(pool.dialed(1, .http2, over: "wwan0") == [.supersede(0)])
            #expect(pool.path(0, is: .waiting) == [.breakOff(0)])
        }

        @Test("dials for what a connection carries that takes no more requests, and loses its path")
        func pathLostAfterGoAway() {
            var pool = SimulatedPool()
            _ = pool.request(1)
            _ = pool.dialed(0, .http2)
            #expect(pool.machine.retire(0, at: pool.now) == [])
            #expect(pool.path(0, is: .waiting) == [.dial(1)])
            #expect(pool.dialed(1, .http2, over: "wwan0") == [.breakOff(0)])
        }

        @Test("opens another connection when one has moved, and uses the old one until that is there")
        func moved() {
            var pool = SimulatedPool()
            let id = pool.idle(.http2)
            #expect(pool.path(id, is: .moved) == [.dial(1)])
            #expect(pool.request(1) == [.lease(1, id)])
            #expect(pool.dialed(1, .http2, over: "wwan0") == [.supersede(id)])
            #expect(pool.request(2) == [.lease(2, 1)])
            #expect(pool.ended(id) == [.close(id)])
        }

        @Test(
            "lets the answers of one that has moved go on over a connection that was dialed for another request"
        )
        func movedMeanwhile() {
            var pool = SimulatedPool(knows: .http1)
            #expect(pool.request(1) == [.dial(0)])
            #expect(pool.dialed(0, .http1) == [.lease(1, 0)])
            #expect(pool.request(2) == [.dial(1)])
            #expect(pool.path(0, is: .moved) == [])
            #expect(pool.dialed(1, .http1, over: "wwan0") == [.supersede(0), .lease(2, 1)])
            #expect(pool.ended(0) == [.close(0)])
        }

        @Test("replaces all that have moved by one dial")
        func allMoved() {
            var pool = SimulatedPool(knows: .http1)
            for id in 0..<3 { _ = pool.request(id) }
            for id in 0..<3 { _ = pool.dialed(id, .http1) }
            #expect(pool.path(0, is: .moved) == [.dial(3)])
            #expect(pool.path(1, is: .moved) == [])
            #expect(pool.path(2, is: .moved) == [])
            #expect(pool.dialed(3, .http1, over: "wwan0") == [.supersede(0), .supersede(1), .supersede(2)])
            for id in 0..<3 { #expect(pool.ended(id) == [.close(id)]) }
        }

        @Test("closes a connection that has moved where no request came lately")
        func movedCold() {
            var pool = SimulatedPool()
            let id = pool.idle(.http2)
            _ = pool.pass(.seconds(11))
            #expect(pool.path(id, is: .moved) == [.close(id)])
        }

        @Test(
            "keeps the old connection where the new one came about over the same path, and tries ever more seldom"
        )
        func notBetter() {
            var pool = SimulatedPool()
            let id = pool.idle(.http2, over: "wwan0")
            #expect(pool.path(id, is: .bettered) == [.dial(1)])
            #expect(pool.dialed(1, .http2, over: "wwan0") == [.close(1)])
            #expect(pool.request(1) == [.lease(1, id)])
            #expect(pool.machine.nextDeadline == pool.now.advanced(by: .seconds(2)))
            #expect(pool.pass(.seconds(2)) == [.dial(2)])
            #expect(pool.dialed(2, .http2, over: "wwan0") == [.close(2)])
            #expect(pool.machine.nextDeadline == pool.now.advanced(by: .seconds(4)))
            #expect(pool.pass(.seconds(4)) == [.dial(3)])
            #expect(pool.dialed(3, .http2, over: "wlan0") == [.supersede(id)])
            #expect(pool.ended(id) == [.close(id)])
        }

        @Test("tries no replacement where the better path has gone again")
        func betterGone() {
            var pool = SimulatedPool()
            let id = pool.idle(.http2, over: "wwan0")
            #expect(pool.path(id, is: .bettered) == [.dial(1)])
            #expect(pool.path(id, is: .good) == [])
            #expect(pool.dialed(1, .http2, over: "wwan0") == [])
            #expect(pool.machine.nextDeadline == pool.now.advanced(by: .seconds(60)))
        }

        @Test("sends no request over a path that others find silent, and keeps the connection")
        func suspect() {
            var pool = SimulatedPool()
            let id = pool.idle(.http2)
            #expect(pool.machine.suspect(["wlan0"], at: pool.now) == [])
            #expect(pool.machine.hasSuspects)
            #expect(pool.request(1) == [.dial(1)])
            #expect(pool.machine.suspect([], at: pool.now) == [.lease(1, id)])
        }

        @Test("suspects no connection that leaves a silent path by itself")
        func suspectMPTCP() {
            var pool = SimulatedPool()
            _ = pool.request(1)
            _ = pool.machine.dialed(0, .http2, over: "wlan0", changesPaths: true, at: pool.now)
            _ = pool.machine.suspect(["wlan0"], at: pool.now)
            #expect(pool.request(2) == [.lease(2, 0)])
        }
    }
#endif
