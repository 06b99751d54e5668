import ArgumentParser
import CommandSupport
import LinuxNet
import Multipath

@main
enum Main {
    static func main() async {
        await MPPaths.runAsProcess()
    }
}

struct MPPaths: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "mppaths",
        abstract: "This machine's network paths: which there are, in which order, and why.",
        discussion: """
            EXAMPLES
              mppaths                    the paths now
              mppaths list --all         the same, with every interface that software made
              mppaths list --json        the same as one JSON object
              mppaths watch              a live table; in a pipe a line for every change, with its reasons
              mppaths watch --json | jq -r .primary
              mppaths check example.org:443      what is wrong on the way, over each path
              mppaths record trouble.mpp --duration 1m
              mppaths replay trouble.mpp

              MULTIPATH_INTERFACES='eth1=cellular,expensive eth0=not-constrained' mppaths
                                         what you know better, for this process
            """,
        version: projectVersion,
        subcommands: [
            List.self, Watch.self, Check.self, SetWord.self, Budget.self, Record.self, Replay.self,
        ],
        defaultSubcommand: List.self)
}
