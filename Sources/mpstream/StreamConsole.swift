#if HTTP
    import CommandSupport
    import HLSClient
    import LinuxNet
    import Multipath

    /// Everything mpstream says, on standard error: lines for people, JSON objects, or one line that is drawn again and again.
    final class StreamConsole: Sendable {
        /// Back to the line's start, and clear the line (ECMA-48 EL).
        private static let clear = "\r\u{1B}[K"

        /// Whether a line that is drawn again would be seen, and not disturb what a player says there.
        static var canDraw: Bool {
            StandardStream.error.isTerminal && ProcessEnvironment.value("TERM") != "dumb"
        }

        private let isJSON: Bool
        private let isVerbose: Bool
        private let hasReport: Bool
        private let hasStatusLine: Bool
        private let isDrawn = Locked(false)

        init(isJSON: Bool, isVerbose: Bool, hasReport: Bool, hasStatusLine: Bool) {
            self.isJSON = isJSON
            self.isVerbose = isVerbose
            self.hasReport = hasReport
            self.hasStatusLine = hasStatusLine
        }

        /// Shows an event, or where there is none the state.
        func show(_ event: StreamEvent?, _ status: StreamStatus) {
            guard let event else { return draw(status) }
            let told = StreamWords.event(event)
            if isJSON {
                write(StreamEventDocument(name: told.name, event: event, status: status))
            } else if isVerbose || told.isNews {
                line(told.text)
            }
        }

        /// A line of its own.
        func say(_ name: String, _ fields: [String: String], _ text: String, always: Bool = false) {
            if isJSON {
                write(EventDocument(name: name, fields: fields))
            } else if isVerbose || always {
                line(text)
            }
        }

        /// The last word.
        func conclude(_ report: StreamReport, status: CInt) {
            if isJSON { return write(StreamReportDocument(report: report, status: status)) }
            if case .failed(let failure) = report.outcome { line(StreamWords.failure(failure)) }
            if hasReport {
                wipe()
                Diagnostics.write(StreamWords.report(report).map(TerminalText.safe).joined(separator: "\n"))
            }
            wipe()
        }

        private func line(_ text: String) {
            wipe()
            Diagnostics.write("mpstream: \(TerminalText.safe(text))")
        }

        private func wipe() {
            if isDrawn.withLock({ isDrawn in
                defer { isDrawn = false }
                return isDrawn
            }) {
                Diagnostics.draw(Self.clear)
            }
        }

        private func draw(_ status: StreamStatus) {
            guard hasStatusLine else { return }
            let width = StandardStream.error.terminalSize?.columns ?? 80
            isDrawn.withLock { $0 = true }
            // The last column stays free: some terminals begin a new line there.
            Diagnostics.draw(
                Self.clear
                    + TerminalText.truncated(TerminalText.safe(StreamWords.status(status)), to: width - 1))
        }

        private func write(_ document: some Encodable) { Diagnostics.write(JSONLine.text(document)) }
    }
#endif
