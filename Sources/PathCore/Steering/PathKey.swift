/// Stands for a path's `PathID` inside one connection's steering, for as long as the connection lives.
///
/// It is no interface index: an interface that is unplugged and plugged in again has another one, and what the
/// connection has learnt about the path must not be lost with it. `PathTable` gives keys out, and has each one's id.
package struct PathKey: Sendable, Hashable {
    let place: Int

    init(_ place: Int) { self.place = place }
}
