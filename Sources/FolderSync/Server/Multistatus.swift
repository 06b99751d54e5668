#if HTTP && Outbox
    import Foundation
    import FoundationXML

    // XMLParser is Foundation's own reader, by libxml2: it streams, asks no network for entities, and is mended with the
    // toolchain. A reader written here would be one more to trust with a stranger's bytes.

    /// The answer to PROPFIND (RFC 4918 section 13).
    struct Multistatus {
        /// One `response` element.
        struct Response: Hashable {
            var href = ""
            /// The status of the whole; nil where each property has its own.
            var status: Int?
            var isFolder = false
            /// Whether the server said what it is: a `resourcetype` whose status is 2xx.
            var hasType = false
            var tag: String?
            var size: Int64?
            var modified: String?
        }

        /// Why an answer can't be used.
        struct Malformed: Error, Hashable, CustomStringConvertible {
            var description: String
        }

        /// A file's length, in bytes: more is none (it is what a double counts exactly).
        static let largestSize: Int64 = 1 << 53

        /// A listing's length, in bytes: some 150,000 files in one folder.
        static let longest = 64 << 20
        /// Elements inside each other. RFC 4918's own are 6 deep.
        static let deepest = 32
        /// An element's text, in bytes. A path of 4,096 bytes may take 12,288.
        static let longestText = 16_384

        var responses: [Response] = []

        /// - Throws: `Malformed`.
        init(_ bytes: Data) throws(Malformed) {
            if bytes.contains(0) { throw Malformed(description: "the listing is not UTF-8") }
            if bytes.range(of: Data("<!DOCTYPE".utf8)) != nil || bytes.range(of: Data("<!ENTITY".utf8)) != nil
            {
                throw Malformed(description: "the listing declares a document type, as no WebDAV server does")
            }
            let reader = Reader()
            let parser = XMLParser(data: bytes)
            parser.shouldProcessNamespaces = true
            parser.shouldResolveExternalEntities = false
            parser.delegate = reader
            let isRead = parser.parse()
            if let failure = reader.failure { throw failure }
            // XMLParser takes what is cut short for whole, and a listing that is cut short would mean deletions.
            guard isRead, reader.isComplete else {
                throw Malformed(
                    description:
                        "the listing is no XML (line \(parser.lineNumber)); is there a WebDAV server at this URL?"
                )
            }
            guard reader.isMultistatus else {
                throw Malformed(description: "the listing is XML, but no answer to PROPFIND")
            }
            responses = reader.responses
        }
    }

    private final class Reader: NSObject, XMLParserDelegate {
        var responses: [Multistatus.Response] = []
        var failure: Multistatus.Malformed?
        var isMultistatus = false
        /// The outermost element has ended.
        var isComplete = false
        private var names: [String] = []
        private var text = ""
        private var response = Multistatus.Response()
        /// Of a `propstat`, which counts where its status is 200.
        private var properties = Multistatus.Response()
        private var propertyStatus: Int?

        private func fail(_ parser: XMLParser, _ reason: String) {
            if failure == nil { failure = Multistatus.Malformed(description: reason) }
            parser.abortParsing()
        }

        func parser(
            _ parser: XMLParser, didStartElement name: String, namespaceURI space: String?,
            qualifiedName: String?, attributes: [String: String]
        ) {
            let known = space == "DAV:" ? name : ""
            if names.isEmpty { isMultistatus = known == "multistatus" }
            names.append(known)
            text = ""
            if names.count > Multistatus.deepest { return fail(parser, "the listing is too deep") }
            switch known {
            case "response": response = Multistatus.Response()
            case "propstat":
                properties = Multistatus.Response()
                propertyStatus = nil
            case "resourcetype" where names.dropLast().last == "prop": properties.hasType = true
            case "collection" where names.dropLast().last == "resourcetype": properties.isFolder = true
            default: break
            }
        }

        func parser(_ parser: XMLParser, foundCharacters characters: String) {
            text += characters
            if text.utf8.count > Multistatus.longestText { fail(parser, "a text in the listing is too long") }
        }

        func parser(_ parser: XMLParser, foundCDATA block: Data) {
            self.parser(parser, foundCharacters: String(decoding: block, as: UTF8.self))
        }

        func parser(
            _ parser: XMLParser, didEndElement name: String, namespaceURI space: String?,
            qualifiedName: String?
        ) {
            let known = names.popLast() ?? ""
            let within = names.last ?? ""
            if names.isEmpty { isComplete = true }
            let value = text.trimmingCharacters(in: .whitespacesAndNewlines)
            switch (known, within) {
            // Only blanks that XML added are none of the name.
            case ("href", "response") where response.href.isEmpty: response.href = value
            case ("status", "response"): response.status = Self.status(value)
            case ("status", "propstat"): propertyStatus = Self.status(value)
            case ("getetag", "prop") where !value.isEmpty: properties.tag = value
            case ("getcontentlength", "prop"):
                properties.size = Int64(value).flatMap { 0...Multistatus.largestSize ~= $0 ? $0 : nil }
            case ("getlastmodified", "prop") where !value.isEmpty: properties.modified = value
            case ("propstat", "response") where (200..<300).contains(propertyStatus ?? 0):
                response.isFolder = response.isFolder || properties.isFolder
                response.hasType = response.hasType || properties.hasType
                response.tag = properties.tag ?? response.tag
                response.size = properties.size ?? response.size
                response.modified = properties.modified ?? response.modified
            case ("response", "multistatus"): responses.append(response)
            default: break
            }
            text = ""
        }

        func parser(
            _ parser: XMLParser, foundInternalEntityDeclarationWithName name: String, value: String?
        ) { fail(parser, "the listing declares entities") }

        /// `HTTP/1.1 200 OK`
        private static func status(_ line: String) -> Int? {
            let words = line.split(separator: " ")
            return words.count > 1 ? Int(words[1]) : nil
        }
    }
#endif
