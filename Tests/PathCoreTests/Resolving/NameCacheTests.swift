import PathCore
import Testing

@Suite("The cache of names")
struct NameCacheTests {
    private typealias Cache = NameCache<String, [String]>

    private func at(_ seconds: Double) -> MonotonicTime { MonotonicTime(nanoseconds: Int64(seconds * 1e9)) }

    /// A cache in which `media` was answered at 0 s.
    private func filled(timeToLive: Duration? = .seconds(100)) -> Cache {
        var cache = Cache()
        #expect(words(cache.look("media", at: at(0))) == "ask 1")
        cache.answered("media", 1, ["192.0.2.1"], timeToLive: timeToLive, at: at(0))
        return cache
    }

    private func words(_ reply: Cache.Reply) -> String {
        switch reply {
        case .fresh(let answer): "fresh \(answer.joined(separator: " "))"
        case .stale(let answer, let inquiry):
            "stale \(answer.joined(separator: " ")), \(inquiry.map { "ask \($0)" } ?? "rest")"
        case .failed(let error): "failed: \(error)"
        case .ask(let inquiry): "ask \(inquiry)"
        case .wait(let inquiry): "wait \(inquiry)"
        }
    }

    @Test("asks nothing for an answer's time to live")
    func fresh() {
        var cache = filled()
        #expect(words(cache.look("media", at: at(99.9))) == "fresh 192.0.2.1")
    }

    @Test("takes 60 s where the resolver tells no time to live, and a day at most")
    func times() {
        var cache = filled(timeToLive: nil)
        #expect(words(cache.look("media", at: at(59))) == "fresh 192.0.2.1")
        #expect(words(cache.look("media", at: at(61))) == "stale 192.0.2.1, ask 2")
        var long = filled(timeToLive: .seconds(1 << 31))
        #expect(words(long.look("media", at: at(24 * 3600 - 1))) == "fresh 192.0.2.1")
        #expect(words(long.look("media", at: at(24 * 3600))) == "stale 192.0.2.1, ask 2")
    }

    @Test("keeps no answer whose time to live is 0")
    func zero() {
        var cache = filled(timeToLive: .zero)
        #expect(cache.count == 0)
        #expect(words(cache.look("media", at: at(0))) == "ask 2")
    }

    @Test("tells a stale answer at once, asks again once, and rests for 5 s while the server is dead")
    func stale() {
        var cache = filled()
        #expect(words(cache.look("media", at: at(100))) == "stale 192.0.2.1, ask 2")
        #expect(words(cache.look("media", at: at(101))) == "stale 192.0.2.1, rest")
        cache.failed("media", 2, ResolutionError("no answer"), at: at(102))
        #expect(words(cache.look("media", at: at(106.9))) == "stale 192.0.2.1, rest")
        #expect(words(cache.look("media", at: at(107))) == "stale 192.0.2.1, ask 3")
        cache.answered("media", 3, ["192.0.2.2"], timeToLive: .seconds(10), at: at(108))
        #expect(words(cache.look("media", at: at(117))) == "fresh 192.0.2.2")
    }

    @Test("tells no answer any more that has been stale for a day, or whose name is gone")
    func end() {
        var cache = filled()
        #expect(words(cache.look("media", at: at(100 + 24 * 3600))) == "ask 2")
        var gone = filled()
        #expect(words(gone.look("media", at: at(100))) == "stale 192.0.2.1, ask 2")
        gone.failed("media", 2, ResolutionError("no such name", isNoSuchName: true), at: at(100))
        #expect(words(gone.look("media", at: at(101))) == "failed: no such name")
        #expect(words(gone.look("media", at: at(105))) == "ask 3")
    }

    @Test("keeps a failure for 5 s")
    func failure() {
        var cache = Cache()
        _ = cache.look("media", at: at(0))
        cache.failed("media", 1, ResolutionError("no answer"), at: at(1))
        #expect(words(cache.look("media", at: at(5.9))) == "failed: no answer")
        #expect(words(cache.look("media", at: at(6))) == "ask 2")
    }

    @Test("asks once for all that wait, and anew where no answer comes within 30 s")
    func once() {
        var cache = Cache()
        #expect(words(cache.look("media", at: at(0))) == "ask 1")
        #expect(words(cache.look("media", at: at(29))) == "wait 1")
        #expect(words(cache.look("media", at: at(30))) == "ask 2")
        cache.answered("media", 1, ["192.0.2.1"], timeToLive: nil, at: at(31))
        #expect(words(cache.look("media", at: at(31))) == "wait 2")
        cache.abandoned("media", 2)
        #expect(cache.count == 0)
    }

    @Test("forgets what held on a network that is gone, an answer under way as well")
    func network() {
        var cache = filled()
        _ = cache.look("other", at: at(1))
        cache.keep { _ in false }
        cache.answered("other", 2, ["192.0.2.9"], timeToLive: nil, at: at(2))
        #expect(cache.count == 0)
        #expect(words(cache.look("media", at: at(2))) == "ask 3")
    }

    @Test("takes every answer for stale after the machine has slept")
    func sleep() {
        var cache = filled()
        cache.expire(at: at(10))
        #expect(words(cache.look("media", at: at(10))) == "stale 192.0.2.1, ask 2")
    }

    @Test("is bounded: what was of use longest ago goes first")
    func bounded() {
        var cache = Cache()
        for number in 0..<5000 {
            _ = cache.look("\(number)", at: at(Double(number)))
            cache.answered(
                "\(number)", UInt64(number + 1), ["192.0.2.1"], timeToLive: .seconds(9999),
                at: at(Double(number)))
            _ = cache.look("0", at: at(Double(number) + 0.5))
            #expect(cache.count <= 1024)
        }
        #expect(words(cache.look("0", at: at(5000))) == "fresh 192.0.2.1")
        #expect(words(cache.look("4999", at: at(5000))) == "fresh 192.0.2.1")
        #expect(words(cache.look("3000", at: at(5000))).hasPrefix("ask"))
    }
}
