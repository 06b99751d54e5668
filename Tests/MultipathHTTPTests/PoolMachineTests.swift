#if HTTP
    import Multipath
    import Testing

    @testable import MultipathHTTP

    @Suite("A pool of connections")
    struct PoolMachineTests {
        // MARK: Requests and dials

        @Test("dials for the first request, and hands the connection to it")
        func first() {
            var pool = SimulatedPool()
            #expect(pool.request(1) == [.dial(0)])
            #expect(pool.dialed(0, .http1) == [.lease(1, 0)])
        }

        @Test("has requests wait for one dial until it knows what the origin speaks")
        func coalescing() {
            var pool = SimulatedPool()
            #expect(pool.request(1) == [.dial(0)])
            #expect(pool.request(2) == [])
            #expect(pool.request(3) == [])
            #expect(pool.dialed(0, .http2) == [.lease(1, 0), .lease(2, 0), .lease(3, 0)])
        }

        @Test("dials once more for each request that waits, where it turns out to be HTTP/1.1")
        func http1Found() {
            var pool = SimulatedPool()
            for id in 1...3 { _ = pool.request(id) }
            #expect(pool.dialed(0, .http1) == [.lease(1, 0), .dial(1), .dial(2)])
        }

        @Test("opens six HTTP/1.1 connections, and has the seventh request wait for the first that is free")
        func six() {
            var pool = SimulatedPool(knows: .http1)
            for id in 0..<6 { #expect(pool.request(id) == [.dial(id)]) }
            #expect(pool.request(6) == [])
            for id in 0..<6 { #expect(pool.dialed(id, .http1) == [.lease(id, id)]) }
            #expect(pool.ended(3) == [.lease(6, 3)])
        }

        @Test("gives a free connection to a request at once, the one used last")
        func lastUsed() {
            var pool = SimulatedPool(knows: .http1)
            _ = pool.request(0)
            _ = pool.request(1)
            _ = pool.dialed(0, .http1)
            _ = pool.dialed(1, .http1)
            _ = pool.ended(1)
            pool.now = pool.now.advanced(by: .seconds(1))
            _ = pool.ended(0)
            #expect(pool.request(2) == [.lease(2, 0)])
        }

        @Test("has a request wait where HTTP/2 carries as many as the server takes")
        func streams() {
            var pool = SimulatedPool()
            _ = pool.request(1)
            _ = pool.dialed(0, .http2)
            #expect(pool.machine.maximumStreams(0, 2, at: pool.now) == [])
            #expect(pool.request(2) == [.lease(2, 0)])
            #expect(pool.request(3) == [])
            #expect(pool.ended(0) == [.lease(3, 0)])
        }

        @Test("lets more requests go where the server takes more")
        func moreStreams() {
            var pool = SimulatedPool()
            _ = pool.request(1)
            _ = pool.dialed(0, .http2)
            _ = pool.machine.maximumStreams(0, 1, at: pool.now)
            _ = pool.request(2)
            #expect(pool.machine.maximumStreams(0, 5, at: pool.now) == [.lease(2, 0)])
        }

        @Test("forgets a request that is cancelled, and keeps the dial for the next")
        func cancelled() {
            var pool = SimulatedPool()
            _ = pool.request(1)
            #expect(pool.machine.cancel(1) == [])
            #expect(pool.dialed(0, .http1) == [])
            #expect(pool.request(2) == [.lease(2, 0)])
        }

        @Test("fails every request that waits for a dial that failed")
        func failed() {
            var pool = SimulatedPool()
            _ = pool.request(1)
            _ = pool.request(2)
            #expect(pool.machine.dialFailed(0, at: pool.now) == [.fail(1, because: 0), .fail(2, because: 0)])
            #expect(pool.machine.isEmpty)
        }

        @Test("fails no request that another connection will serve")
        func failedBeside() {
            var pool = SimulatedPool(knows: .http1)
            _ = pool.request(1)
            _ = pool.dialed(0, .http1)
            _ = pool.request(2)
            #expect(pool.machine.dialFailed(1, at: pool.now) == [])
            #expect(pool.ended(0) == [.lease(2, 0)])
        }

        @Test("dials anew where a connection closed on requests that wait")
        func closedOnWaiting() {
            var pool = SimulatedPool()
            _ = pool.request(1)
            _ = pool.dialed(0, .http2)
            _ = pool.machine.maximumStreams(0, 1, at: pool.now)
            _ = pool.request(2)
            #expect(pool.machine.closed(0, at: pool.now) == [.dial(1)])
        }

        @Test("uses no connection again that can't be")
        func notReusable() {
            var pool = SimulatedPool(knows: .http1)
            _ = pool.request(1)
            _ = pool.dialed(0, .http1)
            #expect(pool.ended(0, isReusable: false) == [.close(0)])
            #expect(pool.request(2) == [.dial(1)])
        }

        @Test("sends no request to a server that says that it goes, and closes after the last answer")
        func goAway() {
            var pool = SimulatedPool()
            _ = pool.request(1)
            _ = pool.dialed(0, .http2)
            #expect(pool.machine.retire(0, at: pool.now) == [])
            #expect(pool.request(2) == [.dial(1)])
            #expect(pool.ended(0) == [.close(0)])
        }

        @Test("opens a connection beforehand, once")
        func preconnect() {
            var pool = SimulatedPool()
            #expect(pool.machine.preconnect(at: pool.now) == [.dial(0)])
            #expect(pool.machine.preconnect(at: pool.now) == [])
            _ = pool.dialed(0, .http2)
            #expect(pool.request(1) == [.lease(1, 0)])
        }

        // MARK: Time

        @Test("closes a connection that was idle for a minute")
        func idle() {
            var pool = SimulatedPool()
            let id = pool.idle(.http1)
            #expect(pool.machine.nextDeadline == pool.now.advanced(by: .seconds(60)))
            #expect(pool.pass(.seconds(59)) == [])
            #expect(pool.pass(.seconds(1)) == [.close(id)])
            #expect(pool.machine.isEmpty)
        }

        @Test("dials anew for requests that wait at a server that takes none at all")
        func noStreams() {
            var pool = SimulatedPool()
            let id = pool.idle(.http2)
            #expect(pool.machine.maximumStreams(id, 0, at: pool.now) == [])
            #expect(pool.request(1) == [])
            #expect(pool.pass(.seconds(60)) == [.close(id), .dial(id + 1)])
            #expect(pool.dialed(id + 1, .http2) == [.lease(1, id + 1)])
        }

        @Test("closes no connection that carries a request, however long that takes")
        func busy() {
            var pool = SimulatedPool()
            _ = pool.request(1)
            _ = pool.dialed(0, .http1)
            #expect(pool.machine.nextDeadline == nil)
            #expect(pool.pass(.seconds(3600)) == [])
        }

        // MARK: The end

        @Test("closes what is idle at once, the rest after its last answer, and dials no more")
        func close() {
            var pool = SimulatedPool(knows: .http1)
            for id in 0..<3 { _ = pool.request(id) }
            _ = pool.dialed(0, .http1)
            _ = pool.dialed(1, .http1)
            _ = pool.machine.cancel(2)
            _ = pool.ended(0)
            #expect(pool.machine.close() == [.close(0), .cancelDial(2)])
            #expect(pool.ended(1) == [.close(1)])
            #expect(pool.request(4) == [])
        }

        @Test("closes a connection that came about after the end")
        func lateDial() {
            var pool = SimulatedPool()
            _ = pool.request(1)
            _ = pool.machine.close()
            #expect(pool.dialed(0, .http1) == [.close(0)])
        }

        @Test("asks for time only where it has something to do then", arguments: 0..<200)
        func neverSpins(seed: Int) {
            var (pool, random) = (SimulatedPool(), UInt64(seed) &* 0x9E37_79B9_7F4A_7C15 | 1)
            func next(_ count: Int) -> Int {
                random = random &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
                return Int(random >> 33) % count
            }
            var (dials, leases, open, request) = ([Int](), [Int](), [Int](), 0)
            func ingest(_ actions: [PoolMachine.Action]) {
                for action in actions {
                    switch action {
                    case .dial(let id): dials.append(id)
                    case .cancelDial(let id): dials.removeAll { $0 == id }
                    case .lease(_, let id): leases.append(id)
                    case .fail: break
                    case .supersede(let id):
                        // What carries nothing is closed.
                        #expect(leases.contains(id))
                    case .close(let id):
                        // Nothing that carries a request is closed in peace.
                        #expect(!leases.contains(id))
                        open.removeAll { $0 == id }
                    case .breakOff(let id):
                        leases.removeAll { $0 == id }
                        open.removeAll { $0 == id }
                    }
                }
            }
            let standings: [PathStanding] = [.good, .good, .moved, .bettered, .waiting, .failed, .refused]
            for _ in 0..<300 {
                switch next(8) {
                case 0, 1:
                    request += 1
                    ingest(pool.request(request))
                case 2 where !dials.isEmpty:
                    let id = dials.remove(at: next(dials.count))
                    open.append(id)
                    ingest(pool.dialed(id, next(2) == 0 ? .http1 : .http2, over: next(2) == 0 ? "a" : "b"))
                case 3 where !dials.isEmpty:
                    ingest(pool.machine.dialFailed(dials.remove(at: next(dials.count)), at: pool.now))
                case 4 where !leases.isEmpty:
                    ingest(pool.ended(leases.remove(at: next(leases.count)), isReusable: next(5) > 0))
                case 5 where !open.isEmpty:
                    ingest(pool.path(open[next(open.count)], is: standings[next(standings.count)]))
                case 6: ingest(pool.pass(.milliseconds(next(20_000))))
                default: ingest(pool.machine.suspect(next(3) == 0 ? ["a"] : [], at: pool.now))
                }
                // A deadline that has been reached is not asked for again.
                if let deadline = pool.machine.nextDeadline, deadline <= pool.now {
                    ingest(pool.pass(.zero))
                    if let again = pool.machine.nextDeadline { #expect(again > pool.now) }
                }
            }
        }
    }
#endif
