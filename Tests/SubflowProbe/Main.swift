// A process that makes steered sockets, for tests which look at it from outside, or end it.
//
//   level               what it may do, and why no more
//   order               what the kernel says to a command for no connection
//   make COUNT FOLDER   makes sockets one after the other; with FOLDER for the journal, or - for none
//   hold FOLDER         stays between the two writes of the setting

import LinuxNet
import PathCore

@main
enum SubflowProbe {
    static func main() throws {
        let arguments = Array(CommandLine.arguments.dropFirst())
        func journal(_ place: Int) -> SysctlJournal? {
            arguments[place] == "-" ? nil : SysctlJournal(folder: arguments[place])
        }
        switch arguments.first {
        case "level":
            let level = LocalSocketSource(journal: nil).level
            print(level.name, level, separator: "\n")
        case "order":
            do throws(SystemError) {
                try SubflowCommands().remove(ConnectionToken(1), localID: 1)
                print("done")
            } catch {
                print(error.errno)
            }
        case "make":
            let source = LocalSocketSource(journal: journal(2), patience: .seconds(20))
            let count = Int(arguments[1])!
            var steered = 0
            let start = MonotonicTime.now
            for number in 0..<count {
                if try source.makeSocket(.ipv4).level == .perConnection { steered += 1 }
                if number == 0 { say("begun") }
            }
            print(steered, start.duration(to: .now).wholeNanoseconds / Int64(1_000 * count))
        case "hold":
            let selection = UserspaceSelection(PathManagerSetting.current!, journal: journal(1))
            try selection.during { () throws(SystemError) in
                say("held")
                _ = readLine()
            }
        default:
            fatalError("usage: subflow-probe level | order | make COUNT FOLDER | hold FOLDER")
        }
    }

    /// At once: print keeps it back when it isn't for a terminal.
    private static func say(_ line: String) {
        Array("\(line)\n".utf8).withUnsafeBytes { try? StandardStream.output.write($0) }
    }
}
