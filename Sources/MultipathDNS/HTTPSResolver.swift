#if HTTP
    import FoundationEssentials
    import HTTPTypes
    public import Multipath
    import LinuxNet
    import MultipathHTTP
    import NIOCore
    public import NIOSSL

    /// Asks name servers over HTTPS (RFC 8484), over each of this machine's paths: what is asked, and what is answered, only the
    /// provider knows.
    ///
    /// ```swift
    /// let names = try HTTPSResolver([
    ///     HTTPSResolver.Provider("https://dns.example/dns-query", addresses: ["192.0.2.53", "2001:db8::53"]),
    ///     HTTPSResolver.Provider("https://resolver.example/dns-query", addresses: ["198.51.100.53"]),
    /// ])
    /// let client = MultipathHTTPClient(connector: Connector(resolver: CachingResolver(names, monitor: monitor)))
    /// ```
    ///
    /// The providers are asked in their order. The next one is asked where the one before fails, and beside it where that says
    /// nothing for a while; one that failed lately comes after the others. That a name does not exist is an answer. Where an answer
    /// turns out to be wrong (TLS: the host lacks the name's certificate), a race asks the providers behind the first.
    ///
    /// A provider's own name is never asked for: its addresses are given, and its certificate has to carry the name.
    /// It has a client of its own for its questions, with HTTP/2 where the provider speaks that, without cookies and redirects.
    ///
    /// Names that this machine's own files know (`/etc/hosts`) are not looked up there: see `StaticResolver`. `localhost` is
    /// loopback (RFC 6761 section 6.3).
    public final class HTTPSResolver: Resolver {
        /// A provider of names.
        public struct Provider: Sendable, Hashable {
            /// Such as `https://dns.example/dns-query`. The template's own `{?dns}` may stand behind it (RFC 8484 section 4.1.1).
            public var url: String
            /// Of the host in the URL. None are needed where that is an address.
            public var addresses: [IPAddress]

            /// - Parameters:
            ///   - url: with https.
            ///   - addresses: of its host, in text.
            /// - Throws: `InvalidNameProvider`.
            public init(_ url: String, addresses: [String]) throws {
                self.url = url
                self.addresses = try addresses.map { text in
                    guard let address = IPAddress(text) else {
                        throw InvalidNameProvider(description: "'\(text)' is no address")
                    }
                    return address
                }
            }

            /// Without the template's end.
            fileprivate var base: String { url.hasSuffix("{?dns}") ? String(url.dropLast(6)) : url }
        }

        /// How it asks.
        public struct Configuration: Sendable {
            /// How long one provider may take for an answer, connecting included. 2 s unless set.
            public var timeout = Duration.seconds(2)
            /// How long a provider is alone before the next one is asked beside it. 500 ms unless set.
            public var providerDelay = Duration.milliseconds(500)
            /// Whether each path of a race asks for itself, over that path alone (RFC 9623 section 4.1). Otherwise the
            /// providers are asked over the best path. True unless set.
            public var asksEachPath = true
            /// What TLS trusts.
            public var tls = TLSConfiguration.makeClientConfiguration()

            /// The defaults.
            public init() {}
        }

        /// What is shared with the resolvers behind this one.
        private final class Shared: Sendable {
            let providers: [Provider]
            let configuration: Configuration
            let client: MultipathHTTPClient
            let health = Locked(ProviderHealth())

            init(_ providers: [Provider], _ configuration: Configuration, _ client: MultipathHTTPClient) {
                (self.providers, self.configuration, self.client) = (providers, configuration, client)
            }
        }

        /// The longest answer that is taken, in bytes: as long as one may be over TCP (RFC 1035 section 4.2.2).
        private static let longestAnswer = 65_535

        private let shared: Shared
        /// How many of the first providers are left out.
        private let skipped: Int

        /// - Parameters:
        ///   - providers: the preferred one first.
        ///   - configuration: times, and what TLS trusts.
        ///   - monitor: tells of paths; the process's own unless given.
        /// - Throws: `InvalidNameProvider` for no provider, for a URL without https, for a name without addresses.
        public init(
            _ providers: [Provider], configuration: Configuration = Configuration(),
            monitor: PathMonitor = Connector.shared.monitor
        ) throws {
            guard !providers.isEmpty else { throw InvalidNameProvider(description: "no provider is given") }
            var table: [String: [IPAddress]] = [:]
            for provider in providers {
                guard let url = URL(string: provider.base, encodingInvalidCharacters: false),
                    url.scheme?.lowercased() == "https", let host = url.host(), !host.isEmpty,
                    url.user() == nil, url.fragment() == nil
                else { throw InvalidNameProvider(description: "'\(provider.url)' is no URL of https") }
                guard IPAddress(host) == nil else { continue }
                guard !provider.addresses.isEmpty else {
                    throw InvalidNameProvider(
                        description: "\(host) has no addresses: its name can't be asked for")
                }
                table[host, default: []] += provider.addresses
            }
            var asking = MultipathHTTPClient.Configuration()
            asking.tls = configuration.tls
            asking.options.maximumRedirects = 0
            asking.options.decompression = .disabled
            asking.options.requestTimeout = configuration.timeout
            asking.options.connectTimeout = configuration.timeout
            // Nothing is asked in the clear, not even of another resolver: what the table lacks is not found.
            let bootstrap = StaticResolver(table, otherwise: NoResolver())
            shared = Shared(
                providers, configuration,
                MultipathHTTPClient(
                    configuration: asking, connector: Connector(monitor: monitor, resolver: bootstrap)))
            skipped = 0
        }

        private init(_ shared: Shared, skipping skipped: Int) {
            (self.shared, self.skipped) = (shared, skipped)
        }

        public var asksEachPath: Bool { shared.configuration.asksEachPath }

        /// The providers behind the first.
        public func fallback(for host: String) -> (any Resolver)? {
            skipped + 1 < shared.providers.count ? HTTPSResolver(shared, skipping: skipped + 1) : nil
        }

        /// The addresses of one family, in the order of the answer.
        ///
        /// - Throws: `ResolutionError`, with each provider's failure where all have failed.
        public func addresses(
            of host: String, family: IPAddress.Family, over path: PathInterface?
        ) async throws(ResolutionError) -> [IPAddress] {
            try await answer(for: host, family: family, over: path).addresses
        }

        /// The same, with the shortest time to live of the answer's records, less the answer's age (RFC 8484 section 5.1), and with
        /// the provider's URL.
        public func answer(
            for host: String, family: IPAddress.Family, over path: PathInterface?
        ) async throws(ResolutionError) -> AddressAnswer {
            if host.isLocalhost {
                return AddressAnswer([family == .ipv4 ? .loopback4 : .loopback6], resolver: name)
            }
            let reply = try await ask(host, family == .ipv4 ? .ipv4 : .ipv6, path) { message in
                NameMessage.addresses(in: message, family).map {
                    Content(addresses: $0.addresses, timeToLive: $0.timeToLive)
                }
            }
            return AddressAnswer(
                reply.content.addresses, timeToLive: reply.timeToLive, resolver: reply.provider)
        }

        /// The HTTPS records, the preferred one first. An alias record (priority 0) is returned and not followed.
        ///
        /// - Throws: as `addresses(of:family:over:)`.
        public func serviceRecords(
            of host: String, port: UInt16, over path: PathInterface?
        ) async throws(ResolutionError) -> ServiceAnswer {
            if host.isLocalhost { return ServiceAnswer([]) }
            let asked = port == 443 ? host : "_\(port)._https.\(host)"
            do throws(ResolutionError) {
                let reply = try await ask(asked, .services, path) { message in
                    message.withUnsafeBytes { ServiceMessage.read($0) }.map {
                        Content(records: $0.records, timeToLive: $0.timeToLive)
                    }
                }
                return ServiceAnswer(reply.content.records, timeToLive: reply.timeToLive)
            } catch  where error.isNoSuchName {
                // A host without such records is an ordinary one, and its name for another port need not exist.
                return ServiceAnswer([])
            }
        }
    }

    // MARK: Asking

    extension HTTPSResolver {
        /// What an answer has.
        private struct Content: Sendable {
            var addresses: [IPAddress] = []
            var records: [ServiceRecord] = []
            var timeToLive: UInt32?
        }

        private struct Reply: Sendable {
            var content: Content
            var timeToLive: Duration?
            var provider: String
        }

        private typealias Reader = @Sendable ([UInt8]) -> Content?

        /// Asks the providers until one has answered.
        private func ask(
            _ host: String, _ type: NameMessage.RecordType, _ path: PathInterface?, _ read: @escaping Reader
        ) async throws(ResolutionError) -> Reply {
            guard let question = NameMessage.question(about: host, type) else {
                throw ResolutionError("'\(host)' is no name that can be asked for")
            }
            let order = shared.health.withLock {
                $0.order(of: skipped..<shared.providers.count, at: .now)
            }
            let delay = shared.configuration.providerDelay
            let found = await withTaskGroup(of: Step.self) { group -> Result<Reply, ResolutionError> in
                defer { group.cancelAll() }
                var next = order.makeIterator()
                var running: [Int: MonotonicTime] = [:]
                var failures: [ResolutionError] = []
                func start() {
                    guard let place = next.next() else { return }
                    running[place] = .now
                    group.addTask { .ended(place, await self.ask(place, question, path, read)) }
                    group.addTask {
                        try? await Task.sleep(for: delay)
                        return .hadItsTime
                    }
                }
                start()
                while !running.isEmpty, let step = await group.next() {
                    guard case .ended(let place, let result) = step else {
                        start()
                        continue
                    }
                    running[place] = nil
                    if case .failure(let error) = result, !error.isNoSuchName {
                        failures.append(error)
                        start()
                        continue
                    }
                    setBack(running, at: .now)
                    return result
                }
                let reasons = failures.map(\.reason).joined(separator: "; ")
                return .failure(ResolutionError(reasons.isEmpty ? "cancelled" : reasons))
            }
            return try found.get()
        }

        /// What happens while providers are asked.
        private enum Step: Sendable {
            case ended(Int, Result<Reply, ResolutionError>)
            /// A provider has had its time alone.
            case hadItsTime
        }

        /// Sets the providers back that another one has overtaken after they had their time alone.
        private func setBack(_ running: [Int: MonotonicTime], at now: MonotonicTime) {
            let delay = shared.configuration.providerDelay
            let slow = running.filter { $0.value.duration(to: now) >= delay }.keys
            guard !slow.isEmpty else { return }
            shared.health.withLock { health in for place in slow { health.failed(place, at: now) } }
        }

        /// Asks one provider, and remembers how that went.
        private func ask(
            _ place: Int, _ question: [UInt8], _ path: PathInterface?, _ read: Reader
        ) async -> Result<Reply, ResolutionError> {
            let provider = shared.providers[place]
            let result: Result<Reply, ResolutionError>
            do {
                result = .success(try await reply(of: provider, question, path, read))
            } catch {
                let failure =
                    error as? ResolutionError ?? ResolutionError("\(provider.base): \(error)")
                result = .failure(failure)
                if !failure.isNoSuchName {
                    // A question that was given up says nothing of the provider.
                    if !Task.isCancelled { shared.health.withLock { $0.failed(place, at: .now) } }
                    return result
                }
            }
            shared.health.withLock { $0.answered(place) }
            return result
        }

        private func reply(
            of provider: Provider, _ question: [UInt8], _ path: PathInterface?, _ read: Reader
        ) async throws -> Reply {
            func failure(_ reason: String) -> ResolutionError {
                ResolutionError("\(provider.base): \(reason)")
            }
            let base = provider.base
            let url = "\(base)\(base.contains("?") ? "&" : "?")dns=\(Data(question).base64URL)"
            let (response, body) = try await shared.client.get(
                url, headerFields: [.accept: Self.mediaType], collectUpTo: Self.longestAnswer
            ) { options in
                // What one path answers is to come over that path.
                if let path { options.policy.requiredInterface = path.name }
            }
            guard response.status == .ok else { throw failure("the status is \(response.status)") }
            let type = response.headerFields[.contentType] ?? "none"
            guard type.prefix(while: { $0 != ";" && $0 != " " }).lowercased() == Self.mediaType else {
                throw failure("the answer's type is \(type)")
            }
            let message = Array(body.readableBytesView)
            switch NameMessage.responseCode(of: message, to: question) {
            case .answered?: break
            case .noSuchName?: throw ResolutionError("no such name, says \(base)", isNoSuchName: true)
            case .failed(let code)?: throw failure("the name server fails with code \(code)")
            case nil: throw failure("the message is no answer to the question")
            }
            guard let content = read(message) else { throw failure("the answer is malformed") }
            let age = response.headerFields[.age].flatMap { Int64($0) } ?? 0
            let left = content.timeToLive.map { Duration.seconds(max(Int64($0) - max(age, 0), 0)) }
            return Reply(content: content, timeToLive: left, provider: base)
        }

        private static let mediaType = "application/dns-message"
    }

    /// A provider that can't be asked.
    public struct InvalidNameProvider: Error, Sendable, Hashable, CustomStringConvertible {
        public let description: String
    }

    /// Finds nothing.
    private struct NoResolver: Resolver {
        var asksEachPath: Bool { false }

        func addresses(
            of host: String, family: IPAddress.Family, over path: PathInterface?
        ) async throws(ResolutionError) -> [IPAddress] {
            throw ResolutionError("\(host) is no provider of names")
        }
    }

    extension IPAddress {
        fileprivate static let loopback4 = IPAddress(ipv4: 0x7F00_0001)
        fileprivate static let loopback6 = IPAddress(ipv6: 0, 1)
    }

    extension String {
        /// RFC 6761 section 6.3.
        fileprivate var isLocalhost: Bool {
            let name = lowercased().drop(while: { $0 == "." })
            let plain = name.hasSuffix(".") ? name.dropLast() : name
            return plain == "localhost" || plain.hasSuffix(".localhost")
        }
    }

    extension Data {
        /// RFC 4648 section 5, without what fills it up (RFC 8484 section 4.1.1).
        fileprivate var base64URL: String {
            base64EncodedString().filter { $0 != "=" }.map { character -> Character in
                switch character {
                case "+": "-"
                case "/": "_"
                default: character
                }
            }.reduce(into: "") { $0.append($1) }
        }
    }
#endif
