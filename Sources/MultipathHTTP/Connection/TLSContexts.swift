#if HTTP
    import Crypto
    import FoundationEssentials
    import LinuxNet
    import MultipathTLS
    package import NIOSSL

    /// The public keys that a host's servers, or those that issue their certificates, may have (as in RFC 7469): the one in use,
    /// and at least one that is kept for the day when that has to be replaced. One of them has to be in the chain that was
    /// validated, from the server's own certificate to the root.
    public struct PublicKeyPins: Sendable, Hashable {
        /// SHA-256 of each key as a SubjectPublicKeyInfo (RFC 5280 section 4.1), in Base64.
        public let hashes: Set<String>

        /// - Parameter hashes: SHA-256 of each key as a SubjectPublicKeyInfo in DER, in Base64, as printed by
        ///   `openssl x509 -pubkey -noout | openssl pkey -pubin -outform der | openssl dgst -sha256 -binary | base64`.
        /// - Throws: `InvalidPins` for fewer than two, or for what is no SHA-256 in Base64.
        public init(_ hashes: Set<String>) throws {
            guard hashes.count >= 2 else {
                throw InvalidPins(
                    description: "one pin locks the client out when that key is lost: pin a spare one as well"
                )
            }
            for hash in hashes where !Self.isHash(hash) {
                throw InvalidPins(description: "'\(hash)' is no SHA-256 in Base64")
            }
            self.hashes = hashes
        }

        /// 32 bytes take 43 characters and one for filling.
        private static func isHash(_ text: String) -> Bool {
            text.utf8.count == 44 && text.hasSuffix("=") && !text.hasSuffix("==")
                && text.dropLast().utf8.allSatisfy {
                    switch $0 {
                    case UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "a")...UInt8(ascii: "z"),
                        UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "+"), UInt8(ascii: "/"):
                        true
                    default: false
                    }
                }
        }

        /// - Parameter chain: as it was validated, the server's own certificate first. One pinned key in it is enough (RFC 7469
        ///   section 2.6).
        func check(_ chain: [NIOSSLCertificate]) throws {
            let own = try chain.map { certificate in
                let key = try certificate.extractPublicKey().toSPKIBytes()
                return Data(SHA256.hash(data: key)).base64EncodedString()
            }
            guard hashes.isDisjoint(with: own) else { return }
            throw CertificateFailure(
                .keyNotPinned,
                reason: "the keys of the server and its issuers are none of those that are pinned: "
                    + own.joined(separator: ", "),
                names: chain.first?.dnsNames ?? [])
        }
    }

    /// Pins that can't be used.
    public struct InvalidPins: Error, Sendable, Hashable, CustomStringConvertible {
        public let description: String
    }

    /// What TLS trusts, shows and pins, and the contexts made of that: to make one reads every root of the system.
    package final class TLSContexts: Sendable {
        private let configuration: TLSConfiguration
        /// Whether a certificate has to have the host's name.
        var verifiesNames: Bool { configuration.certificateVerification == .fullVerification }
        /// By host, in lower case.
        private let pins: [String: PublicKeyPins]
        private let contexts = Locked<[[String]: NIOSSLContext]>([:])

        /// - Parameters:
        ///   - configuration: roots, client certificate. Its application protocols are those of each channel.
        ///   - pins: by host.
        package init(_ configuration: TLSConfiguration, pins: [String: PublicKeyPins]) {
            var configuration = configuration
            switch configuration.minimumTLSVersion {
            case .tlsv1, .tlsv11: configuration.minimumTLSVersion = .tlsv12
            case .tlsv12, .tlsv13: break
            }
            self.configuration = configuration
            self.pins = Dictionary(pins.map { (Self.name(of: $0.key), $0.value) }) { _, last in last }
        }

        /// A final dot says that a name is complete, and makes it no other (RFC 1034 section 3.1).
        private static func name(of host: String) -> String {
            let name = host.lowercased()
            return name.hasSuffix(".") ? String(name.dropLast()) : name
        }

        func client(for host: String, _ applicationProtocols: [String]) throws -> TLSClient {
            var inspectChain: (@Sendable ([NIOSSLCertificate]) throws -> Void)?
            if let pins = pins[Self.name(of: host)] { inspectChain = { try pins.check($0) } }
            return try TLSClient(
                host: host, context: context(applicationProtocols),
                isVerified: configuration.certificateVerification != .none, inspectChain: inspectChain)
        }

        private func context(_ applicationProtocols: [String]) throws -> NIOSSLContext {
            if let known = contexts.withLock({ $0[applicationProtocols] }) { return known }
            var configuration = configuration
            configuration.applicationProtocols = applicationProtocols
            let new = try NIOSSLContext(configuration: configuration)
            contexts.withLock { $0[applicationProtocols] = new }
            return new
        }
    }
#endif
