import PathCore
import Testing

@Suite("A policy")
struct PathPolicyTests {
    private let costly = PathInterface(
        index: 4, name: "wwan0", type: Verdict(.cellular, .kernel),
        expensive: Verdict(.guessedYes, .interfaceType),
        constrained: Verdict(true, .configuration))

    @Test("allows everything at first")
    func allowsAll() {
        #expect(PathPolicy().refusal(of: costly) == nil)
    }

    @Test("refuses for what the caller said most plainly first")
    func refusals() {
        var policy = PathPolicy()
        var refusals: [PathPolicy.Refusal?] = []
        policy.allowsConstrainedPaths = false
        refusals.append(policy.refusal(of: costly))
        policy.allowsExpensivePaths = false
        refusals.append(policy.refusal(of: costly))
        policy.prohibitedInterfaceTypes = [.wifi, .cellular]
        refusals.append(policy.refusal(of: costly))
        policy.prohibitedInterfaces = ["wwan0"]
        refusals.append(policy.refusal(of: costly))
        policy.requiredInterface = "eth0"
        refusals.append(policy.refusal(of: costly))
        #expect(refusals == [.constrained, .expensive, .prohibitedType, .prohibited, .notRequired])
        #expect(
            refusals.map { "\($0.map(\.description) ?? "")" } == [
                "constrained", "expensive", "its type is prohibited", "prohibited",
                "another interface is required",
            ])
    }

    @Test("that is not about an interface lets it pass")
    func passes() {
        var policy = PathPolicy()
        policy.prohibitedInterfaceTypes = [.wifi]
        policy.prohibitedInterfaces = ["wwan1"]
        policy.requiredInterface = "wwan0"
        policy.preferredInterface = "eth0"
        #expect(policy.refusal(of: costly) == nil)
        var cheap = costly
        (cheap.expensive, cheap.constrained) = (Verdict(.unknown, .assumed), Verdict(false, .assumed))
        policy.allowsExpensivePaths = false
        policy.allowsConstrainedPaths = false
        #expect(policy.refusal(of: cheap) == nil)
    }

    @Test("does not prohibit what it requires, unless it says both")
    func requiredAndProhibited() {
        var policy = PathPolicy()
        policy.requiredInterface = "wwan0"
        policy.prohibitedInterfaces = ["wwan0"]
        #expect(policy.refusal(of: costly) == .prohibited)
    }

    @Test("that is discretionary refuses what costs money, unless it says otherwise, before or after")
    func discretionary() {
        var policy = PathPolicy()
        policy.isDiscretionary = true
        #expect(!policy.allowsExpensivePaths && policy.refusal(of: costly) == .expensive)
        policy.allowsExpensivePaths = true
        #expect(policy.refusal(of: costly) == nil)
        var other = PathPolicy()
        other.allowsExpensivePaths = true
        other.isDiscretionary = true
        #expect(other == policy)
        other.isDiscretionary = false
        other.allowsExpensivePaths = false
        #expect(other.refusal(of: costly) == .expensive)
    }
}
