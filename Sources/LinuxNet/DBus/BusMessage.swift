import Glibc

/// A message that arrived, read from front to back. It is valid only while its handler runs.
///
/// The bytes are another process's: what does not read as it should throws, and traps nothing. After that the
/// rest of the message can't be read.
struct BusMessage {
    private let library: SystemdLibrary
    private let message: SystemdLibrary.Message

    init(_ message: SystemdLibrary.Message, _ library: SystemdLibrary) {
        self.message = message
        self.library = library
    }

    /// The next thing in the message is not of the type that belongs there.
    struct Malformed: Error {
        /// The type that was expected, as a D-Bus signature.
        var expected: String
    }

    /// The object that sent a signal.
    var path: String { library.path(message).map { String(cString: $0) } ?? "" }
    var member: String { library.member(message).map { String(cString: $0) } ?? "" }

    /// The client that sent it, by the unique name that only the bus can give (":1.7"), or the bus's own name.
    var sender: String { library.sender(message).map { String(cString: $0) } ?? "" }

    /// The name of the error that this is instead of an answer: `org.freedesktop.DBus.Error.…`
    var errorName: String? {
        library.error(message)?.load(as: SystemdLibrary.Text?.self).map { String(cString: $0) }
    }

    // MARK: Basic values

    func string() throws(Malformed) -> String { try text("s") }
    func objectPath() throws(Malformed) -> String { try text("o") }
    func number() throws(Malformed) -> UInt32 { try basic("u", UInt32(0)) }

    func bytes() throws(Malformed) -> [UInt8] {
        var start: UnsafeRawPointer?
        var count = 0
        guard library.readArray(message, Self.character("y"), &start, &count) > 0 else {
            throw Malformed(expected: "ay")
        }
        return [UInt8](UnsafeRawBufferPointer(start: start, count: count))
    }

    private func text(_ type: Unicode.Scalar) throws(Malformed) -> String {
        guard let text = try basic(type, SystemdLibrary.Text?.none) else {
            throw Malformed(expected: String(type))
        }
        return String(cString: text)
    }

    private func basic<Value>(_ type: Unicode.Scalar, _ empty: Value) throws(Malformed) -> Value {
        var value = empty
        let status = withUnsafeMutablePointer(to: &value) {
            library.readBasic(message, Self.character(type), $0)
        }
        guard status > 0 else { throw Malformed(expected: String(type)) }
        return value
    }

    // MARK: Containers

    /// Reads the elements of an array, each by one call.
    func array(
        of contents: String, _ element: () throws(Malformed) -> Void
    ) throws(Malformed) {
        try enter("a", contents)
        while try !isAtEnd() { try element() }
        try exit("a")
    }

    /// Reads an array of pairs: a dictionary.
    func dictionary(of contents: String, _ entry: () throws(Malformed) -> Void) throws(Malformed) {
        try array(of: "{\(contents)}") { () throws(Malformed) in
            try enter("e", contents)
            try entry()
            try exit("e")
        }
    }

    /// Reads a variant that holds this type; one that holds another is passed over.
    func variant<Value>(
        of contents: String, _ body: () throws(Malformed) -> Value
    ) throws(Malformed) -> Value? {
        var held: SystemdLibrary.Text?
        var type: CChar = 0
        guard library.peekType(message, &type, &held) > 0, type == Self.character("v"), let held else {
            throw Malformed(expected: "v")
        }
        guard strcmp(held, contents) == 0 else {
            try skip("v")
            return nil
        }
        try enter("v", contents)
        let value = try body()
        try exit("v")
        return value
    }

    func skip(_ signature: String) throws(Malformed) {
        guard library.skip(message, signature) > 0 else { throw Malformed(expected: signature) }
    }

    /// Whether the container that is being read has nothing left.
    private func isAtEnd() throws(Malformed) -> Bool {
        let status = library.peekType(message, nil, nil)
        guard status >= 0 else { throw Malformed(expected: "an element") }
        return status == 0
    }

    private func enter(_ type: Unicode.Scalar, _ contents: String) throws(Malformed) {
        guard library.enter(message, Self.character(type), contents) > 0 else {
            throw Malformed(expected: "\(type)(\(contents))")
        }
    }

    private func exit(_ type: Unicode.Scalar) throws(Malformed) {
        guard library.exit(message) >= 0 else { throw Malformed(expected: "the end of \(type)") }
    }

    private static func character(_ scalar: Unicode.Scalar) -> CChar {
        CChar(truncatingIfNeeded: scalar.value)
    }
}
