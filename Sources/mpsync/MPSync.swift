#if HTTP && Outbox
    import ArgumentParser
    import CommandSupport
    import FolderSync
    import Foundation
    import Multipath
    import NIOSSL

    struct MPSync: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "mpsync",
            abstract: "Keep a folder and a folder on a WebDAV server the same.",
            discussion: """
                Changes go both ways, renames and deletions too. Where both sides have changed a file both versions are \
                kept, one under another name. It is discretionary: it waits while the only paths are constrained or \
                cost money. It can be killed at any moment; the next run goes on.

                EXAMPLES
                  mpsync photos https://cloud.example/dav/photos/
                  mpsync --push --user anna backup https://cloud.example/dav/
                  mpsync --watch notes https://cloud.example/dav/notes/
                  mpsync --budget 200MB/day photos https://cloud.example/dav/photos/
                  mpsync --now --json photos https://cloud.example/dav/photos/ | jq .

                WHAT IS KEPT
                  Files and folders. Symbolic links, devices and other file systems in the folder
                  are left alone; the rights of files are not sent. The folder .mpsync in DIR
                  holds the record; on the server names that begin with .mpsync are left alone.

                EXIT STATUS
                  0  both sides are the same, as far as the direction goes
                  1  something is not; it is listed
                  2  usage
                  3  no path is allowed; only with --max-wait, as it waits otherwise
                  128 + N  ended by signal N

                JSON
                  One object a line. Each has event: waiting, resumed, server, planned, done
                  (with path, and action in English words), conflict (with path and to),
                  continued, restarted, changed_while_sent, trouble, warning, and at the end of
                  each run summary, with the counts and the troubles.

                ENVIRONMENT
                  MPSYNC_PASSWORD       the password of --user
                  MULTIPATH_INTERFACES  what you know better of an interface, such as
                                        'wlan0=wifi wwan0=cellular,expensive,constrained'
                """,
            version: projectVersion)

        @Flag(help: "Send changes of the folder to the server only.")
        var push = false

        @Flag(help: "Fetch changes of the server only.")
        var pull = false

        @Flag(
            help:
                "Go on when both sides are the same: changes here are sent at once, the server is asked now and then."
        )
        var watch = false

        @Option(
            help: ArgumentHelp(
                "With --watch: how often the server is asked for changes.", valueName: "duration"),
            transform: Duration.argument)
        var interval: Duration = .seconds(60)

        @Flag(help: "Use constrained and expensive paths, too.")
        var now = false

        @Option(
            help: ArgumentHelp(
                "Use expensive paths, too, for so many bytes a day, week or month.",
                discussion:
                    "Behind a colon other paths: constrained, or names. 'mppaths budget' shows what is used.",
                valueName: "bytes/period"),
            transform: Self.budget)
        var budget: PathBudget?

        @Option(
            help: ArgumentHelp(
                "End with status 3 where no path is allowed for so long.", valueName: "duration"),
            transform: Duration.argument)
        var maxWait: Duration?

        @Option(
            help: ArgumentHelp(
                "How many files and folders may be deleted at once, on both sides together; where more would be, none is.",
                valueName: "count"))
        var maxDelete: Int?

        @Flag(
            help:
                "Delete also where one side is empty, or more than half of all files and folders would go."
        )
        var allowEmpty = false

        @Option(
            help: ArgumentHelp("The first pause before a request is sent again.", visibility: .hidden),
            transform: Duration.argument)
        var retryPause: Duration = .milliseconds(250)

        @Option(
            help: ArgumentHelp(
                "The user's name on the server. The password is asked of MPSYNC_PASSWORD or --password-file.",
                valueName: "name"))
        var user: String?

        @Option(help: ArgumentHelp("A file whose first line is the password.", valueName: "file"))
        var passwordFile: String?

        @Option(
            help: ArgumentHelp(
                "Trust the authorities in this file (PEM) instead of the system's.", valueName: "file"))
        var cacert: String?

        @Option(help: ArgumentHelp("Files that are transferred at a time.", valueName: "count"))
        var transfers = 4

        @Flag(
            name: [.customLong("no-progress"), .customShort("s")], help: "Show no progress on the terminal.")
        var withoutProgress = false

        @Flag(name: .shortAndLong, help: "Print what is done, file by file.")
        var verbose = false

        @Flag(help: "Print what happens as one JSON object a line.")
        var json = false

        @Argument(help: ArgumentHelp("The folder here.", valueName: "DIR"))
        var folder: String

        @Argument(help: ArgumentHelp("The folder on the server.", valueName: "URL"))
        var server: String

        func validate() throws {
            if push, pull {
                throw ValidationError(
                    "--push and --pull exclude each other; without them changes go both ways")
            }
            if let maxDelete, maxDelete < 0 { throw ValidationError("--max-delete is a count, 0 or more") }
            if !(1...32).contains(transfers) { throw ValidationError("--transfers is a count from 1 to 32") }
            if passwordFile != nil, user == nil { throw ValidationError("--password-file needs --user") }
            if now, budget != nil {
                throw ValidationError("--now uses every path; --budget limits them; choose one")
            }
            if watch, maxWait != nil {
                throw ValidationError("--watch waits as long as it takes; --max-wait is for one run")
            }
        }

        func run() async throws {
            let configuration = try configuration()
            let output = SyncOutput(json: json, verbose: verbose, showsProgress: !withoutProgress)
            let sync = FolderSync(configuration)
            if configuration.credentials != nil, configuration.server.scheme == "http",
                !configuration.server.isLoopback
            {
                output.warn("the password goes over the network in the clear: use https")
            }
            do {
                let summary = try await withDeadline(output) {
                    if watch {
                        try await sync.watch { output.show($0) }
                        return SyncSummary()
                    }
                    return try await sync.run { output.show($0) }
                }
                output.finish(summary)
                if !summary.troubles.isEmpty { throw CommandExit.failed }
            } catch let error as FolderSyncError {
                output.clear()
                if case .invalidURL(let reason) = error { throw ValidationError(reason) }
                throw MessageError(error.description)
            } catch let error as CommandExit {
                throw error
            } catch {
                output.clear()
                throw MessageError("\(error)")
            }
        }

        /// With `--max-wait`: ends the run where no path is allowed for so long.
        private func withDeadline(
            _ output: SyncOutput, _ body: @escaping @Sendable () async throws -> SyncSummary
        ) async throws -> SyncSummary {
            guard let maxWait else { return try await body() }
            return try await withThrowingTaskGroup(of: SyncSummary.self) { group in
                group.addTask { try await body() }
                group.addTask {
                    while true {
                        try await Task.sleep(for: .milliseconds(50))
                        if let since = output.waitingSince, .now - since > maxWait {
                            throw CommandExit.noAllowedPath
                        }
                    }
                }
                defer { group.cancelAll() }
                guard let summary = try await group.next() else { throw CommandExit.failed }
                return summary
            }
        }

        private func configuration() throws -> FolderSyncConfiguration {
            let location: ServerLocation
            do {
                location = try ServerLocation(server)
            } catch {
                throw ValidationError("\(error)")
            }
            var configuration = FolderSyncConfiguration(folder: folder, server: location)
            configuration.options.direction = push ? .push : pull ? .pull : .both
            if let maxDelete { configuration.options.maximumDeletions = maxDelete }
            configuration.options.allowsEmptying = allowEmpty
            configuration.retryPause = retryPause
            configuration.options.conflictLabel = Self.label
            configuration.transfers = transfers
            configuration.interval = interval
            if now || budget != nil {
                configuration.policy.allowsExpensivePaths = true
                configuration.policy.allowsConstrainedPaths = now || budget?.paths == .constrained
            }
            configuration.policy.budget = budget
            if let user { configuration.credentials = try credentials(user) }
            if let cacert {
                guard FileManager.default.isReadableFile(atPath: cacert) else {
                    throw MessageError("can't read the certificates in \(cacert)")
                }
                configuration.http.tls.trustRoots = .file(cacert)
            }
            return configuration
        }

        private func credentials(_ user: String) throws -> FolderSyncConfiguration.Credentials {
            guard !user.contains(":") else { throw ValidationError("a user's name has no colon (RFC 7617)") }
            if let passwordFile {
                guard let text = try? String(contentsOfFile: passwordFile, encoding: .utf8) else {
                    throw MessageError("can't read the password in \(passwordFile)")
                }
                return FolderSyncConfiguration.Credentials(
                    user: user, password: String(text.prefix { $0 != "\n" && $0 != "\r\n" }))
            }
            guard let password = ProcessInfo.processInfo.environment["MPSYNC_PASSWORD"] else {
                throw ValidationError("--user needs a password, in MPSYNC_PASSWORD or --password-file")
            }
            return FolderSyncConfiguration.Credentials(user: user, password: password)
        }

        /// `laptop, 2026-11-22`
        private static var label: String {
            let host = ProcessInfo.processInfo.hostName.split(separator: ".").first.map(String.init) ?? "here"
            let day = Date().formatted(.iso8601.year().month().day())
            return TerminalText.safe("\(host.replacingOccurrences(of: "/", with: "-")), \(day)")
        }

        private static func budget(_ text: String) throws -> PathBudget {
            do throws(BudgetArgument.Malformed) {
                return try BudgetArgument(parsing: text).budget
            } catch {
                throw ValidationError(error.description)
            }
        }
    }
#endif
