import LinuxNet
import PathCore

extension RateTrace {
    /// Reads a trace for each direction: `FILE.up` and `FILE.down`, as mahimahi's recordings are named, or FILE for both.
    static func read(_ name: String) throws(LabTextError) -> (up: RateTrace, down: RateTrace) {
        guard !name.isEmpty else { throw LabTextError("'rate=trace:' needs a file") }
        if let both = try readFile(name) { return (both, both) }
        guard let up = try readFile(name + ".up"), let down = try readFile(name + ".down") else {
            throw LabTextError("there is no trace '\(name)', nor '\(name).up' and '\(name).down'")
        }
        return (up, down)
    }

    /// - Returns: nil where there is no such file.
    private static func readFile(_ path: String) throws(LabTextError) -> RateTrace? {
        let text: String
        do throws(SystemError) {
            text = try InputFile.text(path, limit: 32_000_000)
        } catch {
            if error.isMissing { return nil }
            throw LabTextError("\(error)")
        }
        return try RateTrace(parsing: text, name: path)
    }
}
