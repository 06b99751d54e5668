#if HTTP
    import CommandSupport
    import HLSClient
    import LinuxNet
    import Multipath

    extension KeyedEncodingContainer<AnyKey> {
        fileprivate mutating func put(_ name: String, _ value: some Encodable) throws {
            try encode(value, forKey: AnyKey(name))
        }

        fileprivate mutating func put(_ path: StreamPath?) throws {
            try put("path", path?.id)
            try put("tag", path?.tag)
        }
    }

    /// An event, with the buffer at its time.
    struct StreamEventDocument: Encodable {
        let name: String
        let event: StreamEvent
        let status: StreamStatus

        func encode(to encoder: any Encoder) throws {
            var object = encoder.container(keyedBy: AnyKey.self)
            try object.begin(name)
            try object.put("buffer_s", Self.rounded(status.buffer))
            switch event {
            case .loaded(let variants, let isLive):
                try object.put("rates", variants.map(\.rate))
                try object.put("live", isLive)
            case .started(let after): try object.put("after_s", after.inSeconds)
            case .segment(let number, let variant, let bytes, let duration, let path, let throughput):
                try object.put("number", number)
                try object.put("variant", variant)
                try object.put("bytes", bytes)
                try object.put("duration_s", duration.inSeconds)
                try object.put("throughput", throughput)
                try object.put(path)
            case .switched(let from, let to, _):
                try object.put("from", from)
                try object.put("to", to)
            case .stalled: break
            case .resumed(let after): try object.put("stalled_s", after.inSeconds)
            case .pathChanged(let path): try object.put(path)
            case .continued(let number, let at):
                try object.put("number", number)
                try object.put("at", at)
            case .abandoned(let number, let variant, let received):
                try object.put("number", number)
                try object.put("variant", variant)
                try object.put("received", received)
            case .skipped(let number, let reason):
                try object.put("number", number)
                try object.put("reason", reason)
            case .trouble(let reason), .warning(let reason): try object.put("reason", reason)
            }
        }

        private static func rounded(_ seconds: Double) -> Double { (seconds * 1_000).rounded() / 1_000 }
    }

    /// A stream's last word.
    struct StreamReportDocument: Encodable {
        let report: StreamReport
        let status: CInt

        func encode(to encoder: any Encoder) throws {
            var object = encoder.container(keyedBy: AnyKey.self)
            try object.begin("report")
            var error: StreamFailure?
            let outcome: String
            switch report.outcome {
            case .ended: outcome = "ended"
            case .cancelled: outcome = "cancelled"
            case .outputClosed: outcome = "output_closed"
            case .failed(let failure): (outcome, error) = ("failed", failure)
            }
            try object.put("outcome", outcome)
            try object.put("error", error?.reason)
            try object.put("error_code", error?.code.rawValue)
            try object.put("exit_status", status)
            try object.put("startup_s", report.startup?.inSeconds)
            try object.put("stalls", report.stalls)
            try object.put("stalled_s", report.stalled.inSeconds)
            try object.put("played_s", report.played.inSeconds)
            try object.put("fetched_s", report.fetched.inSeconds)
            try object.put("switches", report.switches)
            try object.put("mean_rate", report.meanRate.rounded())
            try object.put("segments", report.segments)
            try object.put("skipped", report.skipped)
            try object.put("continued", report.continued)
            try object.put("duration_s", report.duration.inSeconds)
            try object.put(
                "paths", report.bytes.sorted { $0.key.id < $1.key.id }.map(PathBytes.init))
        }

        private struct PathBytes: Encodable {
            let path: StreamPath
            let bytes: Int64

            init(_ entry: (key: StreamPath, value: Int64)) { (path, bytes) = entry }

            func encode(to encoder: any Encoder) throws {
                var object = encoder.container(keyedBy: AnyKey.self)
                try object.put("interface", path.id)
                try object.put("expensive", path.isExpensive)
                try object.put("constrained", path.isConstrained)
                try object.put("bytes", bytes)
            }
        }
    }
#endif
