// The files that say something of interfaces, each kind with a thread of its own.

import Glibc
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
        guard let list = opendir(folder) else { return [] }
        defer { closedir(list) }
        var numbers: [InterfaceIndex] = []
        // More interfaces than that don't have leases; more files are a mistake.
        while numbers.count < 1024, let entry = readdir(list) {
            // By its address: an entry ends with its name, and the structure does not.
            guard let offset = MemoryLayout<dirent>.offset(of: \.d_name) else { return numbers }
            let name = UnsafeRawPointer(entry) + offset
            let text = String(cString: name.assumingMemoryBound(to: CChar.self))
            if let number = InterfaceIndex(text) { numbers.append(number) }
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
