// What a lab's user says of its links. It is the settings file that `mppaths set` edits and that the library watches, in
// a folder of the lab's own (MULTIPATH_HOME): so a tag that changes while the lab runs comes to the client's programs by
// the way on which it comes to them everywhere, and what the machine's user says of interfaces with these names
// does not count here.

import LinuxNet
import PathCore

/// The settings of a lab's client host.
final class LabSettings: Sendable {
    /// Another program that edits the file may hold its lock: the lab goes on meanwhile.
    private static let thread = EventThread(name: "mplab-files")

    let folder: String
    private var file: SettingsFile { Self.file(in: folder) }

    /// - Parameter folder: with the file that `begin` has written.
    init(folder: String) { self.folder = folder }

    private static func file(in folder: String) -> SettingsFile {
        SettingsFile("\(folder)/\(SettingsFile.name)")
    }

    /// Writes what the plan says of its links.
    static func begin(_ plan: LabPlan, in folder: String) throws(SystemError) {
        var text: String?
        for link in plan.links {
            text = PathSettings.text(text, setting: .expensive, of: link.name, to: link.isExpensive)
            guard link.isConstrained else { continue }
            text = PathSettings.text(text, setting: .constrained, of: link.name, to: true)
        }
        let said = text ?? ""
        try file(in: folder).update { _ in said }
    }

    /// Says something of a link.
    ///
    /// - Parameter done: called on the lab's thread when it is in the file, or with the reason why it is not.
    func say(_ tag: LinkAction.Tag, of link: String, _ done: @escaping @Sendable (SystemError?) -> Void) {
        let file = file
        Self.thread.submit {
            var failure: SystemError?
            do throws(SystemError) {
                try file.update { old in
                    tag.words.reduce(old ?? "") { text, word in
                        PathSettings.text(text, setting: word.property, of: link, to: word.value)
                    }
                }
            } catch {
                failure = error
            }
            let result = failure
            Lab.thread.submit { done(result) }
        }
    }

    /// What is said now.
    ///
    /// - Parameter done: called on the lab's thread. Nothing is said where the file can't be read.
    func read(_ done: @escaping @Sendable (PathSettings) -> Void) {
        let file = file
        Self.thread.submit {
            let settings = PathSettings.parse((try? file.read()) ?? "").settings
            Lab.thread.submit { done(settings) }
        }
    }
}

extension LinkAction.Tag {
    fileprivate var words: [(property: PathSettings.Property, value: Bool?)] {
        switch self {
        case .expensive(let said): [(.expensive, said)]
        case .constrained(let said): [(.constrained, said)]
        case .automatic: PathSettings.Property.allCases.map { ($0, nil) }
        }
    }
}

extension PathSettings {
    /// What is said of a link, in a scenario's words.
    func words(of link: String) -> [String] {
        Property.allCases.compactMap { property in
            self[link, property].map { ($0 ? "" : "not-") + property.rawValue }
        }
    }
}
