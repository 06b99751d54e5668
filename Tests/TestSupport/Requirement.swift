import Foundation
import Testing

/// What a test needs of the machine beside Swift.
public enum Requirement {
    /// CI sets it: there a test that lacks something fails instead of being skipped. In a process for one test in a namespace, too,
    /// whose test was let through before: the runner makes the traits of all suites there, and nothing is to be looked for again.
    public static let isStrict =
        InNamespace.isInside || ProcessInfo.processInfo.environment["LAB_REQUIRED"] == "1"

    /// `make sanitize` sets it.
    public static let isSanitized = ProcessInfo.processInfo.environment["SANITIZED"] == "1"

    static func lacks(_ programs: [String]) -> String? {
        programs.first { Program.find($0) == nil }
    }

    /// Whether network namespaces can be made here: by root, or in a user namespace.
    public static let hasNamespaces: Bool = {
        let process = Process()
        process.executableURL = URL(fileURLWithPath: Program.find("unshare") ?? "/usr/bin/unshare")
        process.arguments = [
            "--map-root-user", "--net", "--mount", "--pid", "--fork", "--kill-child", "mount", "-t", "proc",
            "proc", "/proc",
        ]
        process.standardError = FileHandle.nullDevice
        guard (try? process.run()) != nil else { return false }
        process.waitUntilExit()
        return process.terminationStatus == 0
    }()
}

extension Trait where Self == ConditionTrait {
    /// The test needs these programs. `make test` installs them.
    public static func needs(_ programs: String...) -> ConditionTrait {
        let missing = Requirement.lacks(programs)
        return .enabled(
            if: missing == nil || Requirement.isStrict,
            "no \(missing ?? "") on this machine: scripts/setup.sh test installs it")
    }

    /// The test makes network namespaces of its own.
    public static var needsNamespaces: ConditionTrait {
        .enabled(
            if: Requirement.isStrict || Requirement.hasNamespaces,
            "no network namespaces: see kernel.unprivileged_userns_clone, user.max_user_namespaces, AppArmor")
    }

    /// The test becomes other users, as CI's tests can.
    public static var needsRoot: ConditionTrait {
        .enabled(if: geteuid() == 0 || Requirement.isStrict, "only root can become other users")
    }
}
