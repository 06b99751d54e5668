#if HTTP && Outbox
    import CommandSupport
    import FolderSync
    import LinuxNet
    import Multipath

    /// What a run tells, for people and for programs.
    final class SyncOutput: Sendable {
        private struct State {
            var total: Int64 = 0
            var transferred: Int64 = 0
            var samples: [(time: ContinuousClock.Instant, bytes: Int64)] = []
            var drawn: ContinuousClock.Instant?
            var isShown = false
            var waitingSince: ContinuousClock.Instant?
        }

        private static let interval = Duration.milliseconds(250)
        private static let window = Duration.seconds(5)

        private let json: Bool
        private let verbose: Bool
        private let showsProgress: Bool
        private let begun = ContinuousClock.now
        private let state = Locked(State())

        init(json: Bool, verbose: Bool, showsProgress: Bool) {
            self.json = json
            self.verbose = verbose
            self.showsProgress =
                showsProgress && !json && StandardStream.error.isTerminal
                && ProcessEnvironment.value("TERM") != "dumb"
        }

        /// Since when no path is allowed; nil while one is.
        var waitingSince: ContinuousClock.Instant? { state.withLock { $0.waitingSince } }

        func warn(_ text: String) {
            if json { line(["event": "warning", "message": text]) } else { say("warning: \(text)") }
        }

        func show(_ event: SyncEvent) {
            switch event {
            case .waiting: state.withLock { $0.waitingSince = $0.waitingSince ?? .now }
            case .resumed: state.withLock { $0.waitingSince = nil }
            case .planned(_, let bytes):
                state.withLock { state in
                    (state.total, state.transferred) = (bytes, 0)
                    state.samples = []
                }
            case .transferred(let bytes): return progress(bytes)
            case .idle(let summary): return finish(summary)
            default: break
            }
            if json { showJSON(event) } else { showText(event) }
        }

        // MARK: Text

        private func showText(_ event: SyncEvent) {
            switch event {
            case .waiting(let reasons):
                say(
                    "waiting for a path: \(reasons.isEmpty ? "there is none" : reasons.joined(separator: ", "))"
                )
            case .resumed(let name): say("goes on over \(name)")
            case .server(let words): if verbose { say("server: \(words)") }
            case .planned(let actions, let bytes):
                if verbose { say("\(actions) to do, \(Self.size(bytes)) to transfer") }
            case .done(let action): if verbose { say(Self.words(action)) }
            case .conflict(let path, let other):
                say("conflict: \(path): the other version is kept as \(other)")
            case .continued(let path, let offset): say("\(path): goes on at \(Self.size(offset))")
            case .restarted(let path, let reason): say("\(path): from the start: \(reason)")
            case .changedWhileSent(let path): say("\(path): it changed while it was sent; once more")
            case .trouble(let trouble): say("\(trouble)")
            case .transferred, .idle: break
            }
        }

        private func say(_ text: String) {
            clear()
            Diagnostics.write("mpsync: \(TerminalText.safe(text))")
        }

        private static func words(_ action: SyncAction) -> String {
            switch action {
            case .upload(let path, _, _): "sent \(path)"
            case .download(let path, _, _): "fetched \(path)"
            case .makeLocalFolder(let path), .makeRemoteFolder(let path): "made the folder \(path)"
            case .moveLocal(let path, let other, _, _, _), .moveRemote(let path, let other, _, _, _):
                "renamed \(path) to \(other)"
            case .deleteLocal(let path, _), .deleteLocalFolder(let path): "deleted \(path) here"
            case .deleteRemote(let path, _), .deleteRemoteFolder(let path): "deleted \(path) on the server"
            case .compare(let path, _, _): "compared \(path)"
            case .keepLocalAs(let path, let other), .keepRemoteAs(let path, let other):
                "kept \(path) as \(other)"
            case .agree(let path, _), .forget(let path): "noted \(path)"
            }
        }

        // MARK: Progress

        /// `12.3 of 204 MB, 4.1 MB/s, 47 s left`
        private func progress(_ bytes: Int64) {
            let line = state.withLock { state -> String? in
                state.transferred += bytes
                guard showsProgress else { return nil }
                let now = ContinuousClock.now
                if let drawn = state.drawn, now - drawn < Self.interval { return nil }
                state.drawn = now
                state.samples.append((now, state.transferred))
                while state.samples.count > 2, now - state.samples[1].time > Self.window {
                    state.samples.removeFirst()
                }
                state.isShown = true
                var text =
                    "\(Self.size(state.transferred)) of \(Self.size(max(state.total, state.transferred)))"
                if let first = state.samples.first, now - first.time > .milliseconds(200) {
                    let rate = Double(state.transferred - first.bytes) / ((now - first.time) / .seconds(1))
                    text += ", \(Self.size(Int64(rate)))/s"
                    if rate > 1, state.total > state.transferred {
                        text +=
                            ", \(Int((Double(state.total - state.transferred) / rate).rounded(.up))) s left"
                    }
                }
                return text
            }
            if let line { Diagnostics.draw("\r\u{1B}[K" + line) }
        }

        func clear() {
            let wasShown = state.withLock { state in
                defer { state.isShown = false }
                return state.isShown
            }
            if wasShown { Diagnostics.draw("\r\u{1B}[K") }
        }

        private static func size(_ bytes: Int64) -> String {
            var (value, unit) = (Double(bytes), 0)
            let units = ["B", "kB", "MB", "GB", "TB", "PB", "EB"]
            while value >= 999.5, unit < units.count - 1 { (value, unit) = (value / 1000, unit + 1) }
            if unit == 0 || value >= 99.95 { return "\(Int(value.rounded())) \(units[unit])" }
            let tenths = Int((value * 10).rounded())
            return "\(tenths / 10).\(tenths % 10) \(units[unit])"
        }

        // MARK: The end of a run

        func finish(_ summary: SyncSummary) {
            clear()
            let seconds = (ContinuousClock.now - begun) / .seconds(1)
            if json { return Self.write(SummaryLine(summary, seconds)) }
            var parts: [String] = []
            if summary.uploads > 0 {
                parts.append("\(summary.uploads) sent (\(Self.size(summary.bytesSent)))")
            }
            if summary.downloads > 0 {
                parts.append("\(summary.downloads) fetched (\(Self.size(summary.bytesReceived)))")
            }
            if summary.moves > 0 { parts.append("\(summary.moves) renamed") }
            if summary.deletions > 0 { parts.append("\(summary.deletions) deleted") }
            if summary.conflicts > 0 { parts.append("\(summary.conflicts) conflicts") }
            if summary.left > 0 { parts.append("\(summary.left) left alone") }
            if !summary.troubles.isEmpty { parts.append("\(summary.troubles.count) in trouble") }
            let words = parts.isEmpty ? "nothing to do" : parts.joined(separator: ", ")
            Diagnostics.write("mpsync: \(summary.same) the same; \(words)")
        }

        // MARK: JSON

        private func showJSON(_ event: SyncEvent) {
            switch event {
            case .waiting(let reasons): line(["event": "waiting", "reason": reasons.joined(separator: ", ")])
            case .resumed(let name): line(["event": "resumed", "path": name])
            case .server(let words): line(["event": "server", "traits": words])
            case .planned(let actions, let bytes):
                line(["event": "planned", "actions": "\(actions)", "bytes": "\(bytes)"])
            case .done(let action):
                line(["event": "done", "path": action.path.text, "action": Self.words(action)])
            case .conflict(let path, let other):
                line(["event": "conflict", "path": path.text, "to": other.text])
            case .continued(let path, let offset):
                line(["event": "continued", "path": path.text, "bytes": "\(offset)"])
            case .restarted(let path, let reason):
                line(["event": "restarted", "path": path.text, "reason": reason])
            case .changedWhileSent(let path): line(["event": "changed_while_sent", "path": path.text])
            case .trouble(let trouble):
                line(["event": "trouble", "path": trouble.path?.text ?? "", "reason": trouble.reason])
            case .transferred, .idle: break
            }
        }

        private func line(_ object: [String: String]) { Self.write(object) }

        private static func write(_ object: some Encodable) {
            // A reader that has gone ends no synchronization.
            try? Diagnostics.tryWrite(JSONLine.text(object), to: .output)
        }
    }

    private struct SummaryLine: Encodable {
        let event = "summary"
        let seconds: Double
        let same, uploads, downloads, moves, deletions, conflicts, left, requests: Int
        let bytesSent, bytesReceived: Int64
        let troubles: [String]

        private enum CodingKeys: String, CodingKey {
            case event, seconds, same, uploads, downloads, moves, deletions, conflicts, left, requests,
                troubles
            case bytesSent = "bytes_sent"
            case bytesReceived = "bytes_received"
        }

        init(_ summary: SyncSummary, _ seconds: Double) {
            self.seconds = (seconds * 1000).rounded() / 1000
            (same, uploads, downloads) = (summary.same, summary.uploads, summary.downloads)
            (moves, deletions, conflicts) = (summary.moves, summary.deletions, summary.conflicts)
            (left, requests) = (summary.left, summary.requests)
            (bytesSent, bytesReceived) = (summary.bytesSent, summary.bytesReceived)
            troubles = summary.troubles.map(\.description)
        }
    }
#endif
