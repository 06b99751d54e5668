import LinuxNet

// Which resolver is asked for the name over which path, and what becomes of the answers.

extension RaceRunner {
    private var asksEachPath: Bool { names.resolver?.asksEachPath ?? false }

    /// Asks for the name: every path that may for itself, or the system once for all. Each asks
    /// once.
    func resolve() {
        guard IPAddress(host) == nil else { return }
        if asksEachPath {
            for path in planner.askingPaths { ask(path.index, over: path) }
        } else if planner.mayAskTheSystem(for: host) {
            ask(nil, over: nil)
        }
    }

    private func ask(_ scope: RacePlanner.Scope, over path: PathInterface?) {
        guard resolutions[scope] == nil else { return }
        questions += 1
        let number = questions
        let resolution = Resolution(
            number: number, network: path.map(AnswerNetwork.init), hadNoPath: !planner.hasAllowedPath)
        resolution.machine.begin(.both)
        resolutions[scope] = resolution
        for family in IPAddress.Family.allCases {
            lookUp(host, family, over: path) { $0.answered(scope, number, family, $1) }
        }
        askForServices(scope, number, over: path)
    }

    /// Whether there is another resolver, and a way to ask it.
    var mayAskNext: Bool {
        guard names.hasNext else { return false }
        return planner.hasAllowedPath
            || !configuration.waitsForPath && planner.mayAskTheSystem(for: host)
    }

    /// Asks the next resolver too, because what the others said leads nowhere, or to another host. What is under way goes
    /// on; an answer of the resolvers before that has not come yet is not waited for.
    func askNextResolver() {
        names.advance(after: planner.addresses) { resolutions[$0]?.network }
        resolutions = ShortDictionary()
        resolve()
        // Where no path may ask there is nothing to wait for.
        if isResolved { plan() } else { setTimer() }
    }

    private typealias Answer = Swift.Result<[IPAddress], ResolutionError>

    /// Where the caller says what it speaks, the host's HTTPS records say where that is spoken (RFC 9460).
    private func askForServices(_ scope: RacePlanner.Scope, _ number: Int, over path: PathInterface?) {
        guard !configuration.applicationProtocols.isEmpty, let resolver = names.resolver else { return }
        let (host, port) = (host, request.port)
        jobs?.continuation.yield {
            // It is no part of the question whether there is a connection.
            guard let answer = try? await resolver.serviceRecords(of: host, port: port, over: path) else {
                return
            }
            await self.found(answer, from: resolver.name, scope, number)
        }
    }

    private func found(
        _ answer: ServiceAnswer, from resolver: String, _ scope: RacePlanner.Scope, _ number: Int
    ) {
        guard !isOver, !answer.records.isEmpty, let resolution = resolutions[scope],
            resolution.number == number
        else {
            return
        }
        names.note(answer, from: resolver)
        let usable = answer.records.filter {
            $0.isUsable(speaking: configuration.applicationProtocols, port: request.port)
        }
        let hints = usable.flatMap(\.addressHints).map(\.asDestination).unique
        perform(resolution.machine.hinted(hints, at: .now), scope)
        setTimer()
    }

    /// - Parameter body: called on the event thread, never from inside this.
    private func lookUp(
        _ host: String, _ family: IPAddress.Family, over path: PathInterface?,
        _ body: @escaping @Sendable (isolated RaceRunner, Answer) -> Void
    ) {
        guard let resolver = names.resolver else {
            // The system's has threads of its own, and needs no task. It can't be cancelled; its answer is dropped then.
            return NameLookup.addresses(of: host, family) { [weak self] answer in
                guard let self else { return }
                submit { body($0, answer) }
            }
        }
        jobs?.continuation.yield {
            do throws(ResolutionError) {
                let answer = try await resolver.answer(for: host, family: family, over: path)
                await self.note(answer)
                await body(self, .success(answer.addresses))
            } catch {
                await body(self, .failure(error))
            }
        }
    }

    private func note(_ answer: AddressAnswer) { names.note(answer) }

    private func answered(
        _ scope: RacePlanner.Scope, _ number: Int, _ family: IPAddress.Family,
        _ answer: Answer
    ) {
        guard let resolution = resolutions[scope], resolution.number == number else { return }
        let now = MonotonicTime.now
        let action: ResolutionMachine.Action? =
            switch answer {
            case .success(let addresses):
                resolution.machine.answered(family, addresses.map(\.asDestination), at: now)
            case .failure(let error):
                resolution.machine.failed(family, reason: error.reason, at: now)
            }
        perform(action, scope)
        setTimer()
    }

    func perform(_ action: ResolutionMachine.Action?, _ scope: RacePlanner.Scope) {
        switch action {
        case .use(let addresses, let isFinal):
            resolvedAt = resolvedAt ?? .now
            planner.addresses[scope] = names.addresses(
                IPAddress.Family.allCases.reversed().flatMap { addresses[$0] ?? [] }, of: scope)
            resolutions[scope]?.isOpen = !isFinal
            plan()
        case .fail(let error):
            resolutions[scope]?.isOpen = false
            resolutionFailed(error, scope)
        case nil: break
        }
    }

    private func resolutionFailed(_ error: ResolutionError, _ scope: RacePlanner.Scope) {
        if !planner.addresses.isEmpty { return plan() }
        if resolutions[scope]?.hadNoPath == true {
            // Without a path no resolver can answer: it is asked again as soon as there is one.
            if planner.hasAllowedPath {
                resolutions[scope] = nil
                return resolve()
            }
            if configuration.waitsForPath {
                resolutions[scope] = nil
                return plan()
            }
        }
        guard isResolved else { return }
        if mayAskNext { return askNextResolver() }
        perform(machine.resolutionFailed(error, at: .now))
    }

    /// The paths whose own name servers have not answered, and that are worth waiting for.
    func unansweredPaths(at now: MonotonicTime) -> Set<InterfaceIndex> {
        guard asksEachPath else { return [] }
        return Set(
            resolutions.compactMap { scope, resolution in
                guard let scope, resolution.isOpen, planner.addresses[scope] == nil,
                    planner.paths.network(of: scope).map({ !history.wasSilent($0, destination, at: now) })
                        ?? true
                else { return nil }
                return scope
            })
    }

    /// Forgets what was answered on networks that are gone.
    func forgetGoneNetworks() {
        for (scope, resolution) in resolutions {
            guard let scope else { continue }
            let path = planner.askingPaths.first { $0.index == scope }
            guard path.map(AnswerNetwork.init) != resolution.network else { continue }
            resolutions[scope] = nil
            planner.addresses[scope] = nil
            names.forget(scope)
            forgetTranslation(scope)
        }
        for (scope, network) in names.earlierScopes {
            guard let scope, let network else { continue }
            let path = planner.askingPaths.first { $0.index == scope }
            guard path.map(AnswerNetwork.init) != network else { continue }
            names.forget(scope)
            if resolutions[scope] == nil { planner.addresses[scope] = nil }
        }
        for scope in translationsAsked where planner.translations[scope] == nil { forgetTranslation(scope) }
    }

    private func forgetTranslation(_ scope: RacePlanner.Scope) {
        planner.translations[scope] = nil
        translationsAsked.remove(scope)
        translationsOpen.remove(scope)
    }

    /// Where a path has IPv6 only and the destination IPv4 only, asks whether its network translates. The
    /// system's resolver can't say for which path its answer holds: it is asked where there is only one.
    func askForTranslations() {
        guard planner.paths.mayNeedTranslation else { return }
        let needy = planner.allowedPaths.filter(planner.needsTranslation)
        guard asksEachPath || needy.count == 1 else { return }
        for path in needy where translationsAsked.insert(path.index).inserted {
            translationsOpen.insert(path.index)
            lookUp(NAT64Prefix.discoveryName, .ipv6, over: asksEachPath ? path : nil) {
                $0.translationFound(path.index, NAT64Prefix(discoveredIn: (try? $1.get()) ?? []))
            }
        }
    }

    private func translationFound(_ scope: RacePlanner.Scope, _ prefix: NAT64Prefix?) {
        guard translationsOpen.remove(scope) != nil else { return }
        planner.translations[scope] = prefix
        plan()
        perform([])
    }
}
