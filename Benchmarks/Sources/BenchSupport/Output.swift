import Foundation

/// What a benchmark's program prints.
public enum Output {
    /// A line of JSON with sorted keys.
    public static func printLine(_ value: some Encodable) throws {
        let encoder = JSONEncoder()
        encoder.outputFormatting = .sortedKeys
        FileHandle.standardOutput.write(try encoder.encode(value) + Data("\n".utf8))
    }

    /// Says how the program is called, and ends it with status 2.
    public static func fail(usage: String) -> Never {
        FileHandle.standardError.write(Data(usage.utf8))
        exit(2)
    }
}
