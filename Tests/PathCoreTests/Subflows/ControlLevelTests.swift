import PathCore
import Testing

@Suite("The level of control")
struct ControlLevelTests {
    @Test("is the highest that nothing stands in the way of, and says what does")
    func levels() {
        typealias Facts = ControlLevel.Facts
        #expect(ControlLevel(Facts()) == .perConnection)
        #expect(ControlLevel(Facts(selection: .oldKernel)) == .observeOnly(because: .oldKernel))
        #expect(
            ControlLevel(Facts(commands: .noPrivilege, selection: .oldKernel))
                == .observeOnly(because: .noPrivilege))
        #expect(
            ControlLevel(Facts(transport: .noMPTCP, commands: .noPrivilege, selection: .oldKernel))
                == .observeOnly(because: .noMPTCP))
        #expect(ControlLevel.perConnection.limit == nil)
        #expect(ControlLevel.systemWide(because: .foreignSocket).limit == .foreignSocket)
        #expect(ControlLevel.observeOnly(because: .noMPTCP).limit == .noMPTCP)
    }

    @Test("has a name for machines and a sentence for people")
    func words() {
        let limit = ControlLimit.settingReadOnly(path: "/proc/sys/net/mptcp/path_manager", reason: "no")
        let levels: [ControlLevel] = [
            .perConnection, .systemWide(because: .foreignSocket), .observeOnly(because: limit),
        ]
        #expect(levels.map(\.name) == ["per_connection", "system_wide", "observe_only"])
        #expect(
            levels.map(\.description) == [
                "steers each connection's subflows",
                "steers the endpoints of the whole network namespace: "
                    + "the kernel's path manager serves this socket",
                "only observes: /proc/sys/net/mptcp/path_manager can't be written: no",
            ])
    }
}
