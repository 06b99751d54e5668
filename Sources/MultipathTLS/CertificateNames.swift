/// Whether a certificate is one for a name (RFC 9525 section 6.3).
public enum CertificateNames {
    /// Whether one of a certificate's names is the one that was asked for.
    ///
    /// - Parameters:
    ///   - name: what the user asked for; no address.
    ///   - presented: the certificate's DNS names. Each may begin with `*.`, for exactly one label.
    public static func match(_ name: String, _ presented: [String]) -> Bool {
        let wanted = normalized(name)
        guard !wanted.isEmpty else { return false }
        // Everything behind the first label, with its dot.
        let parent = wanted.firstIndex(of: ".").map { wanted[$0...] }
        return presented.map(normalized).contains { candidate in
            if candidate == wanted { return true }
            // A wildcard for a whole top-level domain says nothing about the host.
            guard candidate.hasPrefix("*."), let parent, parent.dropFirst().contains(".") else {
                return false
            }
            return candidate.dropFirst() == parent
        }
    }

    /// Lower case for ASCII alone, and without the final dot.
    private static func normalized(_ name: String) -> String {
        let name = name.hasSuffix(".") ? String(name.dropLast()) : name
        return String(decoding: name.utf8.map { (0x41...0x5A).contains($0) ? $0 | 0x20 : $0 }, as: UTF8.self)
    }
}
