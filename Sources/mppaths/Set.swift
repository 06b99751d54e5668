import ArgumentParser
import CommandSupport
import LinuxNet
import Multipath

/// `mppaths set`. A type named Set would hide Swift's from the rest of the command.
struct SetWord: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "set",
        abstract: "Say what an interface or a Wi-Fi network costs, for every program that watches paths.",
        discussion: """
            It edits the settings file, $XDG_CONFIG_HOME/multipath/paths.conf or
            ~/.config/multipath/paths.conf, which can be edited by hand as well. Where
            MULTIPATH_HOME names a folder it is that folder's paths.conf: a lab (mplab)
            has one of its own.
            Programs that are running take a change over at once. What is said of a
            Wi-Fi network counts before what is said of the interface; 'auto' takes
            back what was said.

            EXAMPLES
              mppaths set wwan0 expensive no         the contract is flat
              mppaths set 'Hotel Guest' constrained yes
              mppaths set usb0 expensive auto        as the other sources say
              mppaths set                            the settings, and where they are
              mppaths set -- -guest- expensive yes   a name that begins with a dash
            """)

    @Argument(help: ArgumentHelp("An interface's name, or a Wi-Fi network's.", valueName: "NAME"))
    var name: String?

    @Argument(
        help: ArgumentHelp(
            "expensive: traffic costs money. constrained: save data.", valueName: "expensive|constrained"))
    var property: String?

    @Argument(help: ArgumentHelp("What is so.", valueName: "yes|no|auto"))
    var value: String?

    func run() throws {
        guard let path = SettingsFile.standardPath() else {
            throw MessageError(
                "there is no home directory to keep settings in: set HOME, XDG_CONFIG_HOME or MULTIPATH_HOME")
        }
        let file = SettingsFile(path)
        do {
            guard let name else { return try list(file) }
            try set(name, in: file)
        } catch let error as SystemError {
            throw MessageError("\(error)")
        }
    }

    private func list(_ file: SettingsFile) throws {
        let text = try file.read()
        let (settings, problems) = PathSettings.parse(text ?? "")
        let note = text == nil ? " (there is no such file yet)" : ""
        try Diagnostics.tryWrite(
            (["# \(file.path)\(note)"] + settings.lines).joined(separator: "\n"), to: .output)
        for problem in problems { Diagnostics.write("mppaths: \(file.path): \(problem)") }
    }

    private func set(_ name: String, in file: SettingsFile) throws {
        let shown = PathSettings.escaped(name)
        if let problem = PathSettings.problem(withName: name) { throw ValidationError(problem) }
        // What stands in the place of bytes that are no UTF-8 would name nothing.
        guard !name.unicodeScalars.contains("\u{FFFD}") else {
            throw ValidationError("'\(shown)' is no UTF-8; such a network can't be named")
        }
        guard let property, let value else {
            throw ValidationError(
                "what about '\(shown)'? Write: mppaths set NAME expensive|constrained yes|no|auto")
        }
        guard let property = PathSettings.Property(rawValue: property) else {
            let hint = Suggestion.hint(for: property, among: PathSettings.Property.allCases.map(\.rawValue))
            throw ValidationError(
                "'\(PathSettings.escaped(property))' should be expensive or constrained\(hint)")
        }
        guard let answer = Self.answers[value] else {
            throw ValidationError("'\(PathSettings.escaped(value))' should be yes, no or auto")
        }
        var settings = PathSettings()
        try file.update { old in
            let new = PathSettings.text(old, setting: property, of: name, to: answer)
            settings = PathSettings.parse(new).settings
            return new
        }
        let words = PathSettings.Property.allCases.map { property in
            "\(property.rawValue) \(settings[name, property].map { $0 ? "yes" : "no" } ?? "auto")"
        }
        let effect = Self.override(of: name, property) ?? "running programs take it over at once"
        try Diagnostics.tryWrite("\(shown): \(words.joined(separator: ", ")); \(effect)", to: .output)
    }

    /// Says that the environment counts more than the file, where it speaks of the same.
    private static func override(of name: String, _ property: PathSettings.Property) -> String? {
        let variable = InterfaceOverrides.environmentVariable
        guard let text = ProcessEnvironment.value(variable),
            let override = (try? InterfaceOverrides.parse(text))?[name],
            let said = property == .expensive ? override.isExpensive : override.isConstrained
        else { return nil }
        return """
            programs that inherit this environment stay with \(said ? "" : "not-")\(property.rawValue): \
            \(variable) counts more than the file
            """
    }

    private static let answers: [String: Bool?] = ["yes": true, "no": false, "auto": nil]
}
