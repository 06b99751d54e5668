// Runs steered connections in random worlds and says which break their rules:
//
//     swift run -c release steering-worlds 5000         worlds 1 to 5000
//     swift run -c release steering-worlds 500 9001     worlds 9001 to 9500
//     swift run -c release steering-worlds 1 74422      one world, and what was done in it
//     swift run -c release steering-worlds 500 1 heard  the same worlds, where other connections hear the peer all the time
//
// The digest that it prints in the end stands for every order and its time: a change that is to leave steering as it is
// leaves the digest as it is. 0 when no world is broken, 1 when one is, 2 for wrong arguments.

import SteeringSimulation

#if canImport(Glibc)
    import Glibc
#endif

let othersHear = CommandLine.arguments.last == "heard"
let numbers = CommandLine.arguments.dropFirst().dropLast(othersHear ? 1 : 0).map { UInt64($0) }
guard (1...2).contains(numbers.count), let count = numbers[0], let first = numbers.count > 1 ? numbers[1] : 1
else {
    print("usage: steering-worlds COUNT [FIRST] [heard]")
    exit(2)
}

var digest: UInt64 = 0
var broken = 0
for seed in first..<first + count {
    let run = WorldRun(seed: seed, othersHear: othersHear)
    // In their order, so that each counts.
    digest = (digest &* 0x100_0000_01B3) ^ run.digest
    if count == 1 {
        for step in run.steps {
            print(Double(step.time) / 1e9, step.end, step.action, step.failure.map { "\($0)" } ?? "")
        }
        print(run)
    }
    if let what = run.broken {
        broken += 1
        print("WORLD=\(seed) \(what)")
    }
}
print("\(count) worlds from \(first) on, \(broken) broken, digest \(String(digest, radix: 16))")
exit(broken == 0 ? 0 : 1)
