import FoundationEssentials
import PathCore

/// One JSON object a line, with its keys in alphabetical order so that lines can be compared, and with
/// nothing in it that a terminal would obey.
public enum JSONLine {
    public static func text(_ value: some Encodable) -> String {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        // The values are this project's own and hold nothing JSON can't say.
        guard let data = try? encoder.encode(value) else { preconditionFailure("not encodable: \(value)") }
        return SafeText.json(String(decoding: data, as: UTF8.self))
    }
}
