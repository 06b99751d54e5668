#if HTTP
    import ArgumentParser
    import CommandSupport
    import HLSClient
    import HTTPTypes
    import LinuxNet
    import Multipath
    import MultipathHTTP
    import NIOSSL

    struct MPStream: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "mpstream",
            abstract: "Play an HLS stream over the best of this machine's paths, wherever you walk.",
            discussion: """
                Reads the playlist at URL (HLS, RFC 8216: live and on demand, MPEG-TS and fragmented MP4, byte ranges, \
                AES-128), fetches the segments in the variant that suits the path and the buffer, and writes their media to \
                standard output, to a file, or to a local address. A segment goes on where it was when its path dies.

                A path on which data is to be saved (constrained) carries the lowest variant, and no more than two segments \
                ahead. Messages go to standard error.

                EXAMPLES
                  mpstream https://media.example/master.m3u8 | mpv -
                  mpstream --serve https://media.example/master.m3u8
                  mpstream --record film.ts --max-rate 4M https://media.example/master.m3u8
                  mpstream --expensive-rate 800k --report https://media.example/live.m3u8 | mpv -
                  mpstream --prohibit expensive --wait https://media.example/live.m3u8 | mpv -
                  mpstream --json https://media.example/live.m3u8 > live.ts 2> events

                EXIT STATUS
                  0  the stream was played to its end
                  1  it can't be played, or not to its end: the reason is told
                  2  usage; also a path in --prohibit that is not known
                  3  no allowed path leads there, or there is no path at all
                  128 + N  ended by signal N

                JSON
                  One object a line. Each has event and time: seconds, with fractions, of the
                  kernel's CLOCK_MONOTONIC. The last event is report.

                ENVIRONMENT
                  MULTIPATH_INTERFACES  what you know better of an interface, such as
                                        'wlan0=wifi wwan0=cellular,expensive,constrained'
                """,
            version: projectVersion)

        @Option(
            help: ArgumentHelp(
                "Write the media to a file, as fast as they come, in the highest variant that is allowed.",
                valueName: "file"))
        var record: String?

        @Flag(help: "Serve the stream at an address of this machine, for any player. The address is told.")
        var serve = false

        @Option(
            help: ArgumentHelp("With --serve: the port. Any that is free unless given.", valueName: "number"))
        var port: UInt16 = 0

        @Option(
            help: ArgumentHelp(
                "Use no variant above this rate, in bits per second: 800k, 4M, 2500000.", valueName: "rate"),
            transform: RateArgument.parse)
        var maxRate: Double?

        @Option(
            help: ArgumentHelp("The same while the path costs money.", valueName: "rate"),
            transform: RateArgument.parse)
        var expensiveRate: Double?

        @Option(
            help: ArgumentHelp("How much to fetch ahead of the player: 30s, 2m.", valueName: "duration"),
            transform: Duration.argument)
        var buffer: Duration?

        @Option(
            help: ArgumentHelp("Give up where nothing comes for so long.", valueName: "duration"),
            transform: Duration.argument)
        var patience: Duration = .seconds(120)

        @Option(
            help: ArgumentHelp(
                "Paths not to use: expensive, constrained, an interface type or an interface's name.",
                discussion: "An interface that may appear later is named with interface: in front.",
                valueName: "what,…"))
        var prohibit: [String] = []

        @Option(help: ArgumentHelp("The interface to try first.", valueName: "name"))
        var prefer: String?

        @Option(
            help: ArgumentHelp(
                "How many bytes may go over expensive paths a day, week or month, with all programs that have a budget.",
                discussion:
                    "Behind a colon other paths: constrained, or names. 'mppaths budget' shows what is used.",
                valueName: "bytes/period"),
            transform: Self.budget)
        var budget: PathBudget?

        @Flag(help: "Where no path can be used at first, wait for one.")
        var wait = false

        @Option(
            name: [.customLong("header"), .customShort("H")],
            help: ArgumentHelp(
                "A field that each request carries; Authorization and Cookie go to URL's own server alone. May be given again.",
                valueName: "name: value"),
            transform: HeaderArgument.parse)
        var headers: [HTTPField] = []

        @Option(
            help: ArgumentHelp(
                "Trust the authorities in this file (PEM) instead of the system's.", valueName: "file"))
        var cacert: String?

        @Flag(
            name: [.customLong("no-progress"), .customShort("s")],
            help: "Show no line on the terminal that tells how the stream is doing.")
        var withoutProgress = false

        @Flag(help: "Print a report at the end.")
        var report = false

        @Flag(help: "Print events and the report as one JSON object a line.")
        var json = false

        @Flag(name: .shortAndLong, help: "Print events as they happen.")
        var verbose = false

        @Argument(help: ArgumentHelp("The stream's playlist, with http or https.", valueName: "URL"))
        var url: String

        func validate() throws {
            if record != nil, serve {
                throw ValidationError("--record and --serve are two outputs; choose one")
            }
            if port != 0, !serve { throw ValidationError("--port belongs to --serve") }
            if record == nil, !serve, StandardStream.output.isTerminal {
                throw ValidationError(
                    "standard output is a terminal; pipe it to a player (| mpv -), or use --record or --serve"
                )
            }
            if let buffer, buffer <= .zero {
                throw ValidationError("--buffer: there has to be something in it")
            }
        }

        func run() async throws {
            let monitor = PathMonitor()
            let connector = Connector(monitor: monitor)
            var configuration = MultipathHTTPClient.Configuration()
            var rules = ConnectionConfiguration()
            try await Prohibition(parsing: prohibit).apply(to: &rules, monitor)
            configuration.options.policy = rules.policy
            configuration.options.policy.preferredInterface = prefer
            configuration.options.policy.budget = budget
            configuration.options.stallTimeout = .seconds(30)
            // What proves who asks is for the stream's own server, not for each that a playlist names.
            let secret: Set<HTTPField.Name> = [.authorization, .cookie]
            let credentials = HTTPFields(headers.filter { secret.contains($0.name) })
            configuration.headerFields = HTTPFields(headers.filter { !secret.contains($0.name) })
            if configuration.headerFields[.userAgent] == nil {
                configuration.headerFields[.userAgent] = "mpstream/\(projectVersion)"
            }
            if let cacert { configuration.tls.trustRoots = .file(cacert) }
            if wait { _ = try await monitor.waitForPath(satisfying: configuration.options.policy) }
            var options = StreamOptions()
            options.maximumRate = maxRate
            options.expensiveRate = expensiveRate
            if let buffer { (options.bufferTarget, options.longestBuffer) = (buffer, buffer) }
            options.patience = patience
            options.isRecording = record != nil
            let console = StreamConsole(
                isJSON: json, isVerbose: verbose, hasReport: report,
                hasStatusLine: !withoutProgress && !json && !verbose && StreamConsole.canDraw)
            let client = MultipathHTTPClient(configuration: configuration, connector: connector)
            let player: StreamPlayer
            do throws(StreamFailure) {
                player = try StreamPlayer(
                    url, options: options, client: client, credentials: credentials, monitor: monitor)
            } catch {
                throw ValidationError(error.reason)
            }
            try await play(player, console)
        }

        private func play(_ player: StreamPlayer, _ console: StreamConsole) async throws {
            let server = serve ? try await LocalStreamServer.start(port: Int(port)) : nil
            let file = try record.map(FileOutput.init)
            let output: any StreamOutput =
                if let server { server } else if let file { file } else { StandardOutput() }
            // Told with the first segment: a player that comes earlier finds nothing to play.
            server?.onFirstPiece { address in
                console.say(
                    "serving", ["url": address], "serving \(address) for any player", always: true)
            }
            let isPipe = server == nil && file == nil
            let signal = Locked<CInt?>(nil)
            let report = await withTaskGroup(of: StreamReport?.self) { group in
                group.addTask {
                    let report = await player.play(to: output, every: .milliseconds(500)) { event, status in
                        console.show(event, status)
                    }
                    // A player that has not read all of it yet still may.
                    if report.outcome == .ended { await server?.drain() }
                    return report
                }
                group.addTask {
                    let number = await TerminationSignal.first()
                    signal.withLock { $0 = number }
                    return nil
                }
                if isPipe {
                    group.addTask {
                        // A player that is closed while the buffer is full would be noticed by the next write only.
                        await StandardStream.output.waitForClosedReader()
                        return nil
                    }
                }
                var report: StreamReport?
                for await end in group {
                    if let end { report = end }
                    group.cancelAll()
                }
                return report
            }
            guard let report else { CommandExit.failed.leave() }
            try await file?.finish(report.outcome)
            let exit = Self.exit(report, signal.withLock { $0 })
            console.conclude(report, status: exit.status)
            exit.leave()
        }

        private static func exit(_ report: StreamReport, _ signal: CInt?) -> CommandExit {
            switch report.outcome {
            case .ended: .done
            case .cancelled: signal.map { .signal($0) } ?? .failed
            // As if by SIGPIPE: the reader closed the pipe itself, and needs no message.
            case .outputClosed: .failed
            case .failed(let failure): failure.code == .noPath ? .noAllowedPath : .failed
            }
        }

        private static func budget(_ text: String) throws -> PathBudget {
            do throws(BudgetArgument.Malformed) {
                return try BudgetArgument(parsing: text).budget
            } catch {
                throw ValidationError(error.description)
            }
        }
    }

    /// A rate as an option takes it.
    enum RateArgument {
        @Sendable
        static func parse(_ text: String) throws -> Double {
            let digits = text.prefix { $0.isASCII && ($0.isNumber || $0 == ".") }
            let factors = ["": 1.0, "k": 1e3, "M": 1e6, "G": 1e9]
            guard let number = Double(digits), let factor = factors[String(text[digits.endIndex...])],
                number * factor >= 1, number * factor < 1e15
            else {
                throw ValidationError(
                    "'\(TerminalText.safe(text))' is no rate; write bits per second as 800k, 4M or 2500000")
            }
            return number * factor
        }
    }

    /// A field of requests as an option takes it.
    enum HeaderArgument {
        @Sendable
        static func parse(_ text: String) throws -> HTTPField {
            let parts = text.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
            // A field's value has no space at its ends (RFC 9110 section 5.5), and people write one behind the colon.
            let value = String(parts.last?.drop { $0 == " " } ?? "")
            guard parts.count == 2, let name = HTTPField.Name(String(parts[0])),
                HTTPField.isValidValue(value)
            else {
                throw ValidationError(
                    "'\(TerminalText.safe(text))' is no field; write one as 'Referer: https://…'")
            }
            return HTTPField(name: name, value: value)
        }
    }
#endif
