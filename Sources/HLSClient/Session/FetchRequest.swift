import FoundationEssentials

/// The number of a request.
struct FetchID: Sendable, Hashable, CustomStringConvertible {
    var number: Int
    var description: String { "#\(number)" }
}

/// A request that the session wants to have sent.
struct FetchRequest: Sendable, Equatable {
    /// What it is for.
    enum Purpose: Sendable, Hashable {
        /// Of this variant; nil for the URL that the session was given.
        case playlist(variant: Int?)
        case key
        case initialization
        case segment(number: Int64)
    }

    var id: FetchID
    var purpose: Purpose
    var resource: MediaPlaylist.Resource
    /// The request whose bytes this one goes on with; nil where it begins.
    var continues: FetchID?
    /// How many of its bytes are there already.
    var offset: Int64 = 0
    /// The validator that those bytes came with, an entity tag or a date; nil where there is none.
    var validator: String?
    /// How long the whole was said to be when they came; nil where that is not known.
    var total: Int64?
    /// How long the whole may be, in bytes.
    var limit: Int64
    /// Whether latency counts more than what it costs: playlists, and all until the first segment is there.
    var isUrgent = false
}

/// Why a request did not bring what it was for.
struct FetchFailure: Error, Sendable, Hashable {
    /// What that says about the next try.
    enum Kind: Sendable, Hashable {
        /// The network's doing: the same again, from where it was.
        case broken
        /// The server sent nothing for too long.
        case silent
        /// No path is there, or none is allowed.
        case noPath
        /// The server's doing, perhaps for a moment: 408, 429, 5xx.
        case busy
        /// What is there already does not fit what the server has: from the start again.
        case changed
        /// The server hasn't got it: of a live stream, perhaps not yet.
        case missing
        /// The server refuses it for good, or it is none of what it should be.
        case unusable
    }

    var kind: Kind
    var reason: String
}
