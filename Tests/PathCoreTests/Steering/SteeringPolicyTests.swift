import Testing

@testable import PathCore

/// A path as a policy sees it: `wifi` free, `cellular` not, both joined and good unless said otherwise.
private func path(
    _ name: String, _ standing: PathView.Standing = .good, isJoined: Bool = true, _ latency: Int? = nil
) -> PathView {
    PathView(
        key: key(name), isFree: name != "cellular", standing: standing, isJoined: isJoined,
        latency: latency.map { .milliseconds($0) })
}

private func path(_ name: String, _ latency: Int) -> PathView { path(name, .good, latency) }

private func key(_ name: String) -> PathKey {
    PathKey(["wired", "wifi", "cellular"].firstIndex(of: name) ?? 3)
}

extension SteeringPolicy {
    fileprivate mutating func decide(_ paths: [PathView], at now: MonotonicTime) -> SteeringDecision {
        decide(paths, at: now, SteeringTuning())
    }
}

@Suite("Handover")
struct HandoverPolicyTests {
    private var policy = HandoverPolicy()

    @Test("leaves an expensive path alone while the preferred one is well")
    mutating func costsNothing() {
        let decision = policy.decide([path("wifi"), path("cellular", isJoined: false)], at: at(0))
        #expect(decision == SteeringDecision(roles: [.carry, .none]))
    }

    @Test("has paths that cost nothing stand by at once")
    mutating func standsBy() {
        let decision = policy.decide([path("wired"), path("wifi", isJoined: false)], at: at(0))
        #expect(decision.roles == [.carry, .standby])
    }

    @Test("warms an expensive path on a suspicion that lasts 15 ms, and lets it go 5 s after the last")
    mutating func warms() {
        _ = policy.decide([path("wifi"), path("cellular", isJoined: false)], at: at(0))
        let suspect = [path("wifi", .suspect), path("cellular", isJoined: false)]
        var decision = policy.decide(suspect, at: at(85))
        #expect(decision == SteeringDecision(roles: [.carry, .none], again: at(100)))
        decision = policy.decide(suspect, at: at(100))
        #expect(decision.roles == [.carry, .standby])
        decision = policy.decide([path("wifi"), path("cellular")], at: at(200))
        #expect(decision == SteeringDecision(roles: [.carry, .standby], again: at(5100)))
        decision = policy.decide([path("wifi"), path("cellular")], at: at(5100))
        #expect(decision == SteeringDecision(roles: [.carry, .none]))
    }

    @Test("has an expensive path stand by from before it sends no more, for good")
    mutating func endsSending() {
        policy.endsSending()
        let decision = policy.decide([path("wifi"), path("cellular", isJoined: false)], at: at(0))
        #expect(decision == SteeringDecision(roles: [.carry, .standby]))
        #expect(
            policy.decide([path("wifi"), path("cellular")], at: at(3_600_000)).roles == [.carry, .standby])
    }

    @Test("warms an expensive path while the carrying one's signal falls, and moves nothing for that")
    mutating func fades() {
        var fading = path("wifi")
        fading.isFading = true
        let cold = path("cellular", isJoined: false)
        #expect(
            policy.decide([fading, cold], at: at(0))
                == SteeringDecision(roles: [.carry, .standby], again: at(5000)))
        #expect(policy.decide([fading, path("cellular")], at: at(5000)).roles == [.carry, .standby])
        #expect(policy.decide([path("wifi"), path("cellular")], at: at(6000)).roles == [.carry, .standby])
        #expect(policy.decide([path("wifi"), path("cellular")], at: at(10_000)).roles == [.carry, .none])
    }

    @Test("moves on proof alone")
    mutating func proof() {
        _ = policy.decide([path("wifi"), path("cellular")], at: at(0))
        _ = policy.decide([path("wifi", .suspect), path("cellular")], at: at(1))
        #expect(
            policy.decide([path("wifi", .suspect), path("cellular")], at: at(16)).roles == [.carry, .standby])
        #expect(
            policy.decide([path("wifi", .failed), path("cellular")], at: at(17)).roles == [.standby, .carry])
    }

    @Test("does not go back to a path that is validating, and then gives the reason")
    mutating func validation() {
        _ = policy.decide([path("wifi", .failed), path("cellular")], at: at(0))
        #expect(
            policy.decide([path("wifi", .validating), path("cellular")], at: at(1)).roles == [
                .standby, .carry,
            ])
        let back = policy.decide([path("wifi"), path("cellular")], at: at(2))
        #expect(back == SteeringDecision(roles: [.carry, .standby], reason: .preferred, again: at(5002)))
    }

    @Test("keeps the last path that might work, and tries every one when all have failed")
    mutating func allDead() {
        _ = policy.decide([path("wifi"), path("cellular")], at: at(0))
        let decision = policy.decide(
            [path("wifi", .failed), path("cellular", .failed, isJoined: false)], at: at(1))
        #expect(decision.roles == [.carry, .standby])
    }

    @Test("wants nothing where nothing is allowed")
    mutating func nothing() {
        #expect(policy.decide([], at: at(0)) == SteeringDecision(roles: []))
    }
}

@Suite("Interactive")
struct InteractivePolicyTests {
    private var policy = InteractivePolicy()

    @Test("keeps all paths joined and one carrying, the fastest")
    mutating func fastest() {
        let decision = policy.decide([path("wifi", 40), path("cellular", 20)], at: at(0))
        #expect(decision.roles == [.standby, .carry])
    }

    @Test("moves when another is better by a quarter and 5 ms, and has been better for 100 ms, not before")
    mutating func patience() {
        _ = policy.decide([path("wifi", 20), path("cellular", 40)], at: at(0))
        var decision = policy.decide([path("wifi", 60), path("cellular", 40)], at: at(1000))
        #expect(decision == SteeringDecision(roles: [.carry, .standby], again: at(1100)))
        decision = policy.decide([path("wifi", 60), path("cellular", 40)], at: at(1100))
        #expect(decision.roles == [.standby, .carry])
        #expect(decision.reason == .latency(.milliseconds(40), insteadOf: .milliseconds(60)))
    }

    @Test("stays where the difference is small", arguments: [50, 55])
    mutating func margin(latency: Int) {
        _ = policy.decide([path("wifi", 20), path("cellular", 40)], at: at(0))
        #expect(
            policy.decide([path("wifi", latency), path("cellular", 40)], at: at(1000))
                == SteeringDecision(roles: [.carry, .standby]))
    }

    @Test("forgets a contender that was better for a moment only")
    mutating func moment() {
        _ = policy.decide([path("wifi", 20), path("cellular", 40)], at: at(0))
        _ = policy.decide([path("wifi", 90), path("cellular", 40)], at: at(1000))
        _ = policy.decide([path("wifi", 20), path("cellular", 40)], at: at(1050))
        let decision = policy.decide([path("wifi", 90), path("cellular", 40)], at: at(1110))
        #expect(decision == SteeringDecision(roles: [.carry, .standby], again: at(1210)))
    }

    @Test("does not wait again where the other was better already, and becomes worth a move")
    mutating func trend() {
        _ = policy.decide([path("wifi", 50), path("cellular", 60)], at: at(0))
        let stays = SteeringDecision(roles: [.carry, .standby])
        #expect(policy.decide([path("wifi", 60), path("cellular", 60)], at: at(1000)) == stays)
        #expect(policy.decide([path("wifi", 63), path("cellular", 57)], at: at(1050)) == stays)
        let decision = policy.decide([path("wifi", 75), path("cellular", 50)], at: at(1150))
        #expect(decision.reason == .latency(.milliseconds(50), insteadOf: .milliseconds(75)))
        #expect(decision.roles == [.standby, .carry])
    }

    @Test("leaves a path that stalls for a slow one when the stall has lasted half as long as that takes")
    mutating func stallBesideSlow() {
        _ = policy.decide([path("wifi", 20), path("cellular", 250)], at: at(0))
        var decision = policy.decide([path("wifi", .suspect, 26), path("cellular", 250)], at: at(10))
        #expect(decision == SteeringDecision(roles: [.carry, .standby], again: at(109)))
        decision = policy.decide([path("wifi", .suspect, 125), path("cellular", 250)], at: at(109))
        #expect(decision == SteeringDecision(roles: [.standby, .carry], reason: .stalled))
    }

    @Test("leaves a path that stalls at once")
    mutating func stall() {
        _ = policy.decide([path("wifi", 20), path("cellular", 40)], at: at(0))
        let decision = policy.decide([path("wifi", .suspect, 20), path("cellular", 40)], at: at(10))
        #expect(decision == SteeringDecision(roles: [.standby, .carry], reason: .stalled))
    }

    @Test("stays on a stalled path where there is no other")
    mutating func alone() {
        _ = policy.decide([path("wifi", 20)], at: at(0))
        #expect(policy.decide([path("wifi", .suspect, 20)], at: at(10)).roles == [.carry])
        #expect(policy.decide([path("wifi", .failed, 20)], at: at(20)).roles == [.carry])
    }

    @Test("takes longer to move again after a move that was taken back")
    mutating func reluctance() {
        _ = policy.decide([path("wifi", 20), path("cellular", 40)], at: at(0))
        for (time, wifi) in [(1000, 90), (1100, 90), (1500, 10), (1600, 10)] as [(Int64, Int)] {
            _ = policy.decide([path("wifi", wifi), path("cellular", 40)], at: at(time))
        }
        // It is back on Wi-Fi.
        let decision = policy.decide([path("wifi", 90), path("cellular", 40)], at: at(2000))
        #expect(decision == SteeringDecision(roles: [.carry, .standby], again: at(2200)))
    }

    @Test("lets the preference decide where nothing was measured, and asks for what is old")
    mutating func unmeasured() {
        var old = path("cellular")
        old.isLatencyOld = true
        let decision = policy.decide([path("wifi"), old], at: at(0))
        #expect(decision == SteeringDecision(roles: [.carry, .standby], measures: [key("cellular")]))
    }
}

@Suite("Aggregate")
struct AggregatePolicyTests {
    private func roles(_ paths: PathView...) -> [PathRole] {
        var policy = AggregatePolicy()
        return policy.decide(paths, at: at(0)).roles
    }

    @Test("all allowed paths carry, expensive ones too")
    func all() {
        #expect(roles(path("wifi"), path("cellular", isJoined: false)) == [.carry, .carry])
    }

    @Test("a suspect is put aside while another is well")
    func suspect() {
        #expect(roles(path("wifi", .suspect), path("cellular")) == [.standby, .carry])
    }

    @Test("of suspects the most preferred goes on")
    func suspects() {
        #expect(roles(path("wifi", .suspect), path("cellular", .suspect)) == [.carry, .standby])
    }

    @Test(
        "of those that have yet to prove themselves the most preferred carries, where nothing better is there"
    )
    func validations() {
        #expect(roles(path("wifi", .validating), path("cellular", .validating)) == [.carry, .standby])
        #expect(roles(path("wifi", .failed), path("cellular", .validating)) == [.standby, .carry])
    }

    @Test("what failed stands by until it has kept answering")
    func failed() {
        #expect(roles(path("wifi", .failed), path("cellular")) == [.standby, .carry])
        #expect(roles(path("wifi", .validating), path("cellular")) == [.standby, .carry])
    }

    @Test("a failed path that is not joined does not keep the last one that might work from carrying")
    func last() {
        #expect(roles(path("wifi", .failed), path("cellular", .suspect)) == [.standby, .carry])
    }
}
