import PathCore

/// The file that keeps what was found out about networks' memories. Its calls wait for the disk.
package struct HeartbeatFile: Sendable {
    package let file: StateFile

    package init(_ path: String) { file = StateFile(path, limit: HeartbeatMemory.fileLimit) }

    package static func standardPath() -> String? { StateFile.standardPath("heartbeats") }

    /// - Returns: nil where there is no such file, or none to be believed.
    package func read() -> HeartbeatMemory? {
        guard let text = try? file.read() else { return nil }
        return HeartbeatMemory.parse(text, now: Int(WallClock.secondsSince1970)).memory
    }

    /// Notes what was found about a network, where that is another interval than the one that is noted.
    package func note(_ search: SilenceSearch, of network: HeartbeatNetwork) {
        let now = Int(WallClock.secondsSince1970)
        try? file.update { text in
            let old = HeartbeatMemory.parse(text ?? "", now: now).memory
            var memory = old
            memory.note(search, of: network, now: now)
            return memory == old ? nil : memory.text
        }
    }
}

/// The thread on which the state folder's files are read and written: a disk may take its time. It starts when first used.
package enum StateFiles {
    package static let thread = EventThread(name: "multipath-state", mayWait: true)
}
