#if HTTP
    import CommandSupport
    import HLSClient
    import Multipath

    /// What mpstream says, in words.
    enum StreamWords {
        /// An event's name in JSON, the words for it, and whether a person who did not ask for events wants to know.
        static func event(_ event: StreamEvent) -> (name: String, text: String, isNews: Bool) {
            switch event {
            case .loaded(let variants, let isLive):
                let rates = variants.filter { $0.rate > 0 }.map { rate($0.rate) }
                let list = rates.isEmpty ? "" : ": \(rates.joined(separator: ", "))"
                return ("loaded", "a stream \(isLive ? "live" : "on demand")\(list)", false)
            case .started(let after):
                return ("started", "the first segment is there after \(seconds(after))", false)
            case .segment(let number, let variant, let bytes, let duration, let path, let throughput):
                let speed = throughput.map { ", \(rate($0))" } ?? ""
                return (
                    "segment",
                    "segment \(number) of variant \(variant): \(bytes) bytes, \(seconds(duration)) over \(path?.id.name ?? "no path")\(speed)",
                    false
                )
            case .switched(let from, let to, let buffer):
                return ("switched", "variant \(to) instead of \(from), with \(seconds(buffer)) ahead", false)
            case .stalled: return ("stalled", "nothing is left to play", false)
            case .resumed(let after): return ("resumed", "goes on after \(seconds(after))", false)
            case .pathChanged(let path):
                return (
                    "path_changed", path.map { "over \(words($0))" } ?? "no path is left; waiting for one",
                    false
                )
            case .continued(let number, let at):
                return ("continued", "segment \(number) goes on behind byte \(at)", false)
            case .abandoned(let number, let variant, _):
                return ("abandoned", "segment \(number) of variant \(variant) would come too late", false)
            case .skipped(let number, let reason):
                return ("skipped", "segment \(number) is left out: \(reason)", true)
            case .trouble(let reason): return ("trouble", reason, false)
            case .warning(let reason): return ("warning", "warning: \(reason)", true)
            }
        }

        /// `12.4 s ahead, 1280x720 3.2 Mbit/s over wlan0 at 24 Mbit/s, played 1:02, no stall`
        static func status(_ status: StreamStatus) -> String {
            var parts: [String] = []
            switch status.state {
            case .starting: parts.append("waiting for the first segment")
            case .stalled: parts.append("stalled")
            case .playing, .ended: parts.append("\(tenths(status.buffer)) s ahead")
            }
            var variant = [status.variant?.resolution].compactMap { $0 }
            if let value = status.variant?.rate, value > 0 { variant.append(rate(value)) }
            let path = status.path.map { "over \(words($0))" } ?? "no path"
            let speed = status.throughput.map { " at \(rate($0))" } ?? ""
            parts.append((variant + [path + speed]).joined(separator: " "))
            if status.played > 0 { parts.append("played \(clock(status.played))") }
            parts.append(stalls(status.stalls, status.stalled))
            return parts.joined(separator: ", ")
        }

        static func report(_ report: StreamReport) -> [String] {
            let bytes = report.bytes.sorted { $0.value > $1.value }.map {
                "\(words($0.key)) \(size($0.value))"
            }
            var lines = [
                "  startup   \(report.startup.map(seconds) ?? "never")",
                "  stalls    \(stalls(report.stalls, report.stalled.inSeconds))",
                "  played    \(clock(report.played.inSeconds)) of \(clock(report.fetched.inSeconds)) fetched, \(rate(report.meanRate)) on average, \(report.switches) \(report.switches == 1 ? "switch" : "switches")",
                "  segments  \(report.segments), \(report.skipped) left out, \(report.continued) times gone on with by range",
                "  bytes     \(bytes.isEmpty ? "none" : bytes.joined(separator: ", "))",
            ]
            switch report.outcome {
            case .ended: lines.insert("ended", at: 0)
            case .cancelled: lines.insert("stopped", at: 0)
            case .outputClosed: lines.insert("the output was closed", at: 0)
            case .failed: lines.insert("failed", at: 0)
            }
            return lines
        }

        /// An error, and what to do about it.
        static func failure(_ failure: StreamFailure) -> String {
            let advice: String? =
                switch failure.code {
                case .noPath:
                    "connect this machine to a network, allow another path, or wait for one with --wait"
                case .network: "check the address and the network, or give it more time with --patience"
                case .playlist, .server: "check the URL with: curl -i URL"
                case .output: nil
                }
            return failure.reason + (advice.map { "; \($0)" } ?? "")
        }

        private static func words(_ path: StreamPath) -> String {
            path.tag == "unrestricted" ? path.id.name : "\(path.id) (\(path.tag))"
        }

        private static func stalls(_ count: Int, _ seconds: Double) -> String {
            count == 0 ? "no stall" : "\(count) \(count == 1 ? "stall" : "stalls") of \(tenths(seconds)) s"
        }

        private static func seconds(_ duration: Duration) -> String {
            "\((duration.inSeconds * 100).rounded() / 100) s"
        }

        private static func tenths(_ seconds: Double) -> String { "\((seconds * 10).rounded() / 10)" }

        /// `1:02`
        private static func clock(_ seconds: Double) -> String {
            let whole = Int(seconds)
            let (minutes, rest) = whole.quotientAndRemainder(dividingBy: 60)
            return "\(minutes):\(rest < 10 ? "0" : "")\(rest)"
        }

        static func rate(_ bits: Double) -> String {
            bits < 999_500 ? "\(Int((bits / 1e3).rounded())) kbit/s" : "\((bits / 1e5).rounded() / 10) Mbit/s"
        }

        private static func size(_ bytes: Int64) -> String {
            bytes < 999_500
                ? "\((Double(bytes) / 100).rounded() / 10) kB" : "\((Double(bytes) / 1e5).rounded() / 10) MB"
        }
    }
#endif
