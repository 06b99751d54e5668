import Multipath

/// What a snapshot says, in the words that people read. None of them can move a terminal's cursor.
enum PathWords {
    static func source<Value>(_ verdict: Verdict<Value>) -> String {
        source(verdict.source) + (verdict.inheritedFrom.map { ", inherited from \(safe($0))" } ?? "")
    }

    private static func source(_ source: VerdictSource) -> String {
        switch source {
        case .configuration: "configured"
        case .environment: InterfaceOverrides.environmentVariable
        case .settings: "mppaths set"
        case .networkManager: "NetworkManager"
        case .dhcpLease: "its DHCP lease: a telephone"
        case .interfaceType: "from its type"
        case .driver: "from its driver"
        case .kernel: "the kernel says so"
        case .name: "guessed from its name"
        case .assumed: "by default"
        }
    }

    static func expense(_ value: Expense) -> String {
        switch value {
        case .unknown: "unknown"
        case .no: "no"
        case .guessedNo: "guessed no"
        case .guessedYes: "guessed yes"
        case .yes: "yes"
        }
    }

    static func expense(_ verdict: Verdict<Expense>) -> String {
        verdict.value == .unknown && verdict.source == .assumed
            ? "unknown" : "\(expense(verdict.value)) (\(source(verdict)))"
    }

    static func tag(_ verdict: Verdict<Bool>) -> String {
        "\(verdict.value ? "yes" : "no") (\(source(verdict)))"
    }

    static func type(_ verdict: Verdict<InterfaceType>) -> String {
        "\(verdict.value.rawValue) (\(source(verdict)))"
    }

    /// `2001:db8::2/64 (temporary, deprecated)`
    static func address(_ address: InterfaceAddress) -> String {
        let marks = [
            address.isTemporary ? "temporary" : nil,
            address.state == .preferred ? nil : address.state.rawValue,
        ].compactMap { $0 }
        return address.description + (marks.isEmpty ? "" : " (\(marks.joined(separator: ", ")))")
    }

    /// What is known of the link below IP: the Wi-Fi network, its speed and signal, a tunnel's carrier.
    static func link(_ interface: PathInterface) -> [String] {
        [
            interface.ssid.map { "\"\(safe($0))\"" },
            interface.carrier.map { "carried by \(safe($0))" },
            interface.quality.linkSpeed.map { "\($0) Mbit/s" },
            interface.quality.signal.map { "signal \($0) dBm" },
        ].compactMap { $0 }
    }

    static func reason(_ excluded: ExcludedInterface) -> String { safe(excluded.reason.description) }

    static func change(_ change: PathChange) -> String { safe(change.description) }

    static func safe(_ text: String) -> String { TerminalText.safe(text) }
}
