// The files that say something of interfaces, each kind with a thread of its own.

import PathCore

/// The threads that wait for files. They start when first used and end with the process.
private enum FileThreads {
    static let settings = EventThread(name: "multipath-files", mayWait: true)
    static let leases = EventThread(name: "multipath-lease", mayWait: true)
    static let resolver = EventThread(name: "multipath-names", mayWait: true)
}

extension FileFacts where Facts == PathSettings {
    /// The user's settings.
    ///
    /// - Parameter path: nil for a user without a home.
    static func settings(on owner: EventThread, at path: @escaping @Sendable () -> String?) -> FileFacts {
        FileFacts(on: owner, files: FileThreads.settings, empty: PathSettings()) {
            path().map { [.file($0)] } ?? []
        } read: { places, reading in
            guard let path = places.first?.path else { return }
            let (settings, problems) = PathSettings.parse(reading.text(path) ?? "")
            (reading.facts, reading.malformed) = (settings, problems.count)
        }
    }
}

extension FileFacts where Facts == [InterfaceIndex: LeaseHint] {
    /// systemd-networkd's leases.
    static func leases(on owner: EventThread, in folder: String) -> FileFacts {
        FileFacts(on: owner, files: FileThreads.leases, empty: [:]) {
            [.folder(folder)]
        } read: { _, reading in
            (reading.facts, reading.malformed) = ([:], 0)
            for index in numbers(in: folder) {
                guard let text = reading.text("\(folder)/\(index)") else { continue }
                if let lease = LeaseHint(networkdLease: text) {
                    reading.facts[index] = lease
                } else {
                    reading.malformed += 1
                }
            }
        }
    }

    /// The files of a folder whose names are numbers: the others are on their way to such a name.
    private static func numbers(in folder: String) -> [InterfaceIndex] {
        var numbers: [InterfaceIndex] = []
        Folder.forEachName(in: folder) { name in
            if let number = InterfaceIndex(name) { numbers.append(number) }
            // More interfaces than that don't have leases; more files are a mistake.
            return numbers.count < 1024
        }
        return numbers
    }
}

extension FileFacts where Facts == ResolverText {
    /// The system's name servers.
    ///
    /// - Parameter upstream: what systemd-resolved asks, where the file leads to it.
    static func resolver(on owner: EventThread, at file: String, upstream: String) -> FileFacts {
        FileFacts(on: owner, files: FileThreads.resolver, empty: ResolverText()) {
            [.file(file), .file(upstream)]
        } read: { _, reading in
            reading.facts = ResolverText(parsing: reading.text(file) ?? "")
            if reading.facts.isResolvedStub, let text = reading.text(upstream) {
                let behind = ResolverText(parsing: text)
                if !behind.nameServers.isEmpty { reading.facts = behind }
            }
        }
    }
}
