import Foundation

/// A certificate authority of a test's own, made by openssl in a folder that goes with it: a root, an
/// intermediate, and servers' certificates with their chains.
public final class TestCertificates: Sendable {
    public let folder: URL

    /// The file of the root, for clients that trust it.
    public var root: String { folder.appendingPathComponent("root.pem").path }
    /// The file of a server's certificate and the intermediate that signed it.
    public func chain(_ server: String) -> String { folder.appendingPathComponent("\(server).pem").path }
    /// The file with the key of every server.
    public var key: String { folder.appendingPathComponent("server.key").path }

    /// Makes certificates for a name: `good`, `expired` (yesterday), and `stranger`, whose root no client trusts.
    public init(name: String = "server.example", addresses: [String] = ["203.0.113.1"]) async throws {
        folder = FileManager.default.temporaryDirectory.appendingPathComponent(
            "certificates-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        let names = (["DNS:\(name)"] + addresses.map { "IP:\($0)" }).joined(separator: ",")
        let made = try await Program.run(
            ["bash", "-c", Self.script], environment: ["folder": folder.path, "names": names])
        guard made.status == 0 else {
            throw Program.TimedOut(description: "openssl made no certificates: \(made.errors)")
        }
    }

    deinit { try? FileManager.default.removeItem(at: folder) }

    private static let script = #"""
        set -euo pipefail
        cd "$folder"
        key() { openssl ecparam -name prime256v1 -genkey -noout -out "$1"; }
        request() { openssl req -new -key "$1" -subj "/CN=$2" -out request.csr; }
        root() {
            key "$1.key"
            openssl req -x509 -new -key "$1.key" -subj "/CN=Test $1" -days 30 -out "$1.pem" \
                -addext basicConstraints=critical,CA:TRUE -addext keyUsage=critical,keyCertSign
        }
        # sign OUT ISSUER DAYS EXTENSIONS
        sign() {
            openssl x509 -req -in request.csr -CA "$2.pem" -CAkey "$2.key" -CAcreateserial -days "$3" \
                -extfile <(printf '%s\n' "${@:4}") -out "$1" 2> /dev/null
        }
        root root
        root stranger-root
        key middle.key
        request middle.key "Test intermediate"
        sign middle.pem root 30 basicConstraints=critical,CA:TRUE,pathlen:0 keyUsage=critical,keyCertSign
        key server.key
        request server.key server
        leaf=(basicConstraints=CA:FALSE extendedKeyUsage=serverAuth "subjectAltName=$names")
        sign leaf.pem middle 30 "${leaf[@]}"
        cat leaf.pem middle.pem > good.pem
        sign leaf.pem middle -1 "${leaf[@]}"
        cat leaf.pem middle.pem > expired.pem
        sign stranger.pem stranger-root 30 "${leaf[@]}"
        """#
}
