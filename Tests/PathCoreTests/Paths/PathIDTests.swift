import Foundation
import PathCore
import Testing

@Suite("A path's id")
struct PathIDTests {
    private static func interface(_ index: InterfaceIndex, _ name: String) -> PathInterface {
        PathInterface(index: index, name: name, type: Verdict(.wifi, .kernel))
    }

    @Test("is coded as one string, and read back")
    func coded() throws {
        let ids: [PathID] = ["wlan0", "2001:db8::1", ""]
        let data = try JSONEncoder().encode(ids)
        #expect(String(decoding: data, as: UTF8.self) == #"["wlan0","2001:db8::1",""]"#)
        #expect(try JSONDecoder().decode([PathID].self, from: data) == ids)
    }

    @Test("is read from nothing but a string")
    func notCoded() {
        #expect(throws: DecodingError.self) {
            try JSONDecoder().decode([PathID].self, from: Data(#"[{"name":"wlan0"}]"#.utf8))
        }
    }

    @Test("is the same when the interface comes back with another index")
    func sameInterface() {
        let (before, after) = (Self.interface(3, "wlan0"), Self.interface(9, "wlan0"))
        #expect(before.id == after.id && before != after)
        #expect(ConnectionPath(before).id == ConnectionPath(after).id)
        #expect(PathSnapshot(interfaces: [after]).interface(before.id) == after)
    }

    @Test("is another one for another interface with the same index")
    func otherInterface() {
        let (before, after) = (Self.interface(3, "wlan0"), Self.interface(3, "wwan0"))
        #expect(before.id != after.id)
        #expect(PathSnapshot(interfaces: [after]).interface(before.id) == nil)
    }

    @Test("finds an interface that is no path now")
    func excluded() {
        let down = Self.interface(3, "wlan0")
        let snapshot = PathSnapshot(excluded: [ExcludedInterface(down, reason: .down)])
        #expect(snapshot.interface("wlan0") == down)
        #expect(snapshot.interface("wlan0") == snapshot.interface(named: "wlan0"))
    }

    @Test("is sorted and told by its name")
    func name() {
        let ids: Set<PathID> = ["wwan0", "eth0", "wlan0"]
        #expect(ids.sorted() == ["eth0", "wlan0", "wwan0"])
        #expect(ids.sorted().map(\.name) == ["eth0", "wlan0", "wwan0"])
        #expect("\(PathID("eth0"))" == "eth0")
    }
}
