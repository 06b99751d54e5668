import Glibc
import TestSupport
import Testing

@testable import LinuxNet

@Suite("Generic netlink")
struct GenericNetlinkTests {
    @Test("knows its own family by number, version and group")
    func controller() throws {
        let family = try GenericNetlink().family("nlctrl")
        #expect(family.name == "nlctrl")
        #expect(family.identifier == GenericController.identifier)
        #expect(family.version >= 1)
        #expect((family.groups["notify"] ?? 0) > 0)
    }

    @Test(
        "knows mptcp_pm with its groups, where the kernel has it",
        .enabled(if: access("/proc/sys/net/mptcp", F_OK) == 0, "a kernel without MPTCP"))
    func mptcp() throws {
        let family = try GenericNetlink().family("mptcp_pm")
        #expect(family.identifier > GenericController.identifier)
        #expect(Set(family.groups.keys) == ["mptcp_pm_cmds", "mptcp_pm_events"])
    }

    @Test("says ENOENT of a family that no kernel has, and goes on")
    func missing() throws {
        let netlink = try GenericNetlink()
        let error = #expect(throws: SystemError.self) { try netlink.family("no_such_family") }
        #expect(error?.operation == "find the netlink family no_such_family")
        #expect(error?.errno == ENOENT)
        #expect(try netlink.family("nlctrl").identifier == GenericController.identifier)
    }

    @Test("gives the kernel's own words with an error")
    func words() throws {
        let netlink = try GenericNetlink()
        let family = try netlink.family("nlctrl")
        // A name longer than the policy allows.
        let error = #expect(throws: SystemError.self) {
            try netlink.request("ask too much", family, GenericController.getFamily) { request in
                request.put(GenericController.familyName, Array(repeating: 0x61, count: 100))
            }
        }
        #expect(error?.operation == "ask too much")
        #expect(error?.errno == EINVAL || error?.errno == ERANGE)
        #expect(error?.detail?.isEmpty == false)
        #expect(netlink.malformed == 0)
    }

    @Test("lists every family, again and again over one socket")
    func dump() throws {
        let netlink = try GenericNetlink()
        let controller = try netlink.family("nlctrl")
        for _ in 0..<3 {
            let families = try netlink.dump("list the families", controller, GenericController.getFamily) {
                GenericFamily($0)
            }
            #expect(families.contains(controller))
            #expect(Set(families.map(\.identifier)).count == families.count)
        }
    }

    @Test("refuses a group that the family hasn't got")
    func groups() throws {
        let family = try GenericNetlink().family("nlctrl")
        let notifications = try GenericNotifications(family, groups: ["notify"])
        #expect(notifications.descriptor >= 0)
        #expect(try notifications.drain { _ in } == false)
        let error = #expect(throws: SystemError.self) {
            try GenericNotifications(family, groups: ["notify", "gossip"])
        }
        #expect(error == SystemError("join nlctrl's group gossip", errno: ENOENT))
    }
}
