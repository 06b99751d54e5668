import ArgumentParser
import CommandSupport
import NetworkLab

struct Set: ParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Change a running lab's link: its conditions, a fault, or what its user says of it.",
        discussion: """
            FAULTS
            \(LinkAction.words.map { "  \($0.0): \($0.1)" }.joined(separator: "\n"))

            TAGS
            \(LinkAction.tagWords.map { "  \($0.0): \($0.1)" }.joined(separator: "\n"))
              They stand in a settings file of the lab's own, which the client's programs read
              as they read a user's: 'mppaths set' inside the lab changes the same.

            EXAMPLES
              mplab set wlan0 rtt=200ms,loss=5%      only these change
              mplab set wifi blackhole
              mplab set wlan0 blackhole=none
              mplab set wwan0 satellite              a kind of network, with all its conditions
              mplab set wwan0 carrier off
              mplab set wlan0 constrained            the user switches Low Data Mode on
              mplab set wwan0 expensive no
              mplab set                              what the links are like now
            """)

    @Option(
        help: ArgumentHelp(
            "The process number of the lab's mplab run, where there are several.", valueName: "pid"))
    var lab: Int32?

    @Argument(help: ArgumentHelp("An interface's name, or its type.", valueName: "LINK"))
    var link: String?

    @Argument(help: ArgumentHelp("Conditions, a fault's words, or a tag's.", valueName: "COND"))
    var action: [String] = []

    func run() throws {
        let words = action.joined(separator: " ")
        do {
            guard let link else {
                Diagnostics.write(try LabControl.links(lab: lab), to: .output)
                return
            }
            // What can't be read is told here, where it was written.
            _ = try LinkAction(parsing: words)
            try LabControl.set(link, words, lab: lab)
        } catch let error as LabTextError {
            throw ValidationError(error.description)
        } catch let error as LabControl.Failure {
            throw MessageError(error.description)
        }
    }
}
