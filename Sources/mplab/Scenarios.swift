import ArgumentParser
import CommandSupport
import LinuxNet
import NetworkLab
import PathCore

struct Scenarios: ParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "List the built-in scenarios, or print one as a file to start from.",
        discussion: """
            EXAMPLES
              mplab scenarios
              mplab scenarios train > commute.lab
              mplab run --scenario commute.lab -- ./player
            """)

    @Argument(help: ArgumentHelp("The one to print.", valueName: "NAME"))
    var name: String?

    func run() throws {
        guard let name else {
            let width = Scenario.builtIns.map(\.name.count).max() ?? 0
            for scenario in Scenario.builtIns {
                let padding = String(repeating: " ", count: width - scenario.name.count)
                try Diagnostics.tryWrite("\(scenario.name)\(padding)  \(scenario.about)", to: .output)
            }
            return
        }
        guard let text = Scenario.builtInText(name) else {
            throw ValidationError("there is no scenario '\(name)'; mplab scenarios lists those there are")
        }
        try Diagnostics.tryWrite(text, to: .output)
    }
}

extension Scenario {
    /// The built-in scenario of that name, or the one in that file.
    static func named(_ word: String) throws(LabTextError) -> Scenario {
        if let scenario = builtIn(word) { return scenario }
        let text: String
        do throws(SystemError) {
            text = try InputFile.text(word, limit: 1_000_000)
        } catch {
            if !word.contains("/"), !word.contains(".") {
                let names = builtIns.map(\.name)
                throw LabTextError(
                    """
                    --scenario: '\(word)' is no file and no scenario\
                    \(Suggestion.hint(for: word, among: names)); there are \(names.joined(separator: ", "))
                    """)
            }
            throw LabTextError("--scenario: \(error)")
        }
        do throws(LabTextError) {
            return try Scenario(parsing: text, name: word)
        } catch {
            throw error.at(word)
        }
    }
}
