import Foundation
import Testing

@testable import HLSClient

@Suite("An answer's head")
struct ResourceHeadTests {
    private func request(
        _ range: MediaPlaylist.ByteRange? = nil, offset: Int64 = 0, validator: String? = nil
    )
        -> FetchRequest
    {
        FetchRequest(
            id: FetchID(number: 1), purpose: .segment(number: 1),
            resource: MediaPlaylist.Resource(url: URL(string: "http://media.example/a.ts")!, range: range),
            offset: offset, validator: validator, total: offset > 0 ? 700 : nil, limit: 1_000)
    }

    private func failure(_ head: ResourceHead, _ request: FetchRequest) -> FetchFailure? {
        do {
            _ = try head.plan(for: request)
            return nil
        } catch {
            return error
        }
    }

    @Test("to a request for all names the length")
    func whole() throws {
        #expect(ResourceHead.range(request()) == nil)
        let plan = try ResourceHead(status: 200, contentLength: 700).plan(for: request())
        #expect(plan == ResourceHead.Plan(total: 700))
    }

    @Test("to a request for the rest has the bytes that were asked for")
    func rest() throws {
        #expect(ResourceHead.range(request(offset: 300)) == "bytes=300-")
        let plan = try ResourceHead(status: 206, contentRange: "bytes 300-699/700").plan(
            for: request(offset: 300))
        #expect(plan == ResourceHead.Plan(offset: 300, total: 700))
    }

    @Test("to a request for the rest may be everything: then it begins anew")
    func wholeForRest() throws {
        let plan = try ResourceHead(status: 200, contentLength: 700).plan(for: request(offset: 300))
        #expect(plan == ResourceHead.Plan(total: 700))
    }

    @Test("to a request for a range of bytes counts from that range's start")
    func range() throws {
        let range = MediaPlaylist.ByteRange(start: 100, length: 50)
        #expect(ResourceHead.range(request(range)) == "bytes=100-149")
        #expect(ResourceHead.range(request(range, offset: 20)) == "bytes=120-149")
        let plan = try ResourceHead(
            status: 206, contentRange: "bytes 120-149/*", validator: "\"a\""
        )
        .plan(for: request(range, offset: 20, validator: "\"a\""))
        #expect(plan == ResourceHead.Plan(offset: 20, total: 50))
        // A server that knows no ranges.
        #expect(
            try ResourceHead(status: 200, contentLength: 500).plan(for: request(range))
                == ResourceHead.Plan(skipped: 100, total: 50))
    }

    @Test("whose file ends before the range does makes the resource unusable")
    func beyond() {
        let range = MediaPlaylist.ByteRange(start: 100, length: 50)
        let failure = FetchFailure(
            kind: .unusable, reason: "the server has 120 bytes, the playlist wants those up to 150")
        for head in [
            ResourceHead(status: 206, contentRange: "bytes 100-119/120"),
            ResourceHead(status: 200, contentLength: 120),
        ] {
            #expect(throws: failure) { try head.plan(for: request(range)) }
        }
    }

    @Test("that says 416 to a request for the rest of a whole means that all is there")
    func complete() throws {
        let plan = try ResourceHead(status: 416, contentRange: "bytes */300").plan(for: request(offset: 300))
        #expect(plan.isComplete)
    }

    @Test("that does not fit what is there has it begin anew")
    func changed() {
        for head in [
            ResourceHead(status: 206, contentRange: "bytes 0-699/700"),
            ResourceHead(status: 206, contentRange: "bytes 300-200/700"), ResourceHead(status: 206),
            // Another length, or another validator: the rest of something else.
            ResourceHead(status: 206, contentRange: "bytes 300-799/800"),
            ResourceHead(status: 206, contentRange: "bytes 300-699/700", validator: "\"b\""),
            ResourceHead(status: 416, contentRange: "bytes */200"),
        ] {
            #expect(failure(head, request(offset: 300))?.kind == .changed)
        }
    }

    @Test("that can't be right, or is too long, makes the resource unusable")
    func unusable() {
        let range = MediaPlaylist.ByteRange(start: 100, length: 50)
        #expect(failure(ResourceHead(status: 200, contentLength: 1_001), request())?.kind == .unusable)
        #expect(failure(ResourceHead(status: 206, contentRange: "bytes 0-1/2"), request())?.kind == .unusable)
        #expect(failure(ResourceHead(status: 200, contentLength: 120), request(range))?.kind == .unusable)
        #expect(
            failure(ResourceHead(status: 206, contentRange: "bytes 100-199/500"), request(range))?.kind
                == .unusable)
        let huge = MediaPlaylist.ByteRange(start: 0, length: 1 << 40)
        #expect(
            failure(ResourceHead(status: 206, contentRange: "bytes 0-1/*"), request(huge))?.kind == .unusable)
        #expect(failure(ResourceHead(status: 416), request(range))?.kind == .unusable)
        #expect(failure(ResourceHead(status: 403), request())?.kind == .unusable)
    }

    @Test("that says not now, or not here, says so")
    func notNow() {
        #expect(
            [408, 429, 500, 503].allSatisfy { failure(ResourceHead(status: $0), request())?.kind == .busy })
        #expect([404, 410].allSatisfy { failure(ResourceHead(status: $0), request())?.kind == .missing })
    }
}
