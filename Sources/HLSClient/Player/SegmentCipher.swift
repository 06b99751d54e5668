#if HTTP
    import Crypto
    // AES in CBC mode stands apart from swift-crypto's other ciphers, because it does not authenticate; HLS has no other
    // (RFC 8216 section 5.2).
    import CryptoExtras
    import FoundationEssentials
    import NIOCore

    /// Undoes a segment's AES-128 in CBC mode with PKCS7 padding (RFC 8216 section 4.3.2.4).
    enum SegmentCipher {
        static let keyLength = 16

        static func decrypt(
            _ bytes: ByteBuffer, key: [UInt8], vector: [UInt8]
        ) throws(FetchFailure) -> ByteBuffer {
            guard bytes.readableBytes % 16 == 0, bytes.readableBytes > 0 else {
                throw FetchFailure(
                    kind: .unusable,
                    reason: "an encrypted segment has \(bytes.readableBytes) bytes, no multiple of 16")
            }
            do {
                let plain = try AES._CBC.decrypt(
                    Array(bytes.readableBytesView), using: SymmetricKey(data: key),
                    iv: AES._CBC.IV(ivBytes: vector))
                return ByteBuffer(bytes: plain)
            } catch {
                throw FetchFailure(
                    kind: .unusable, reason: "a segment can't be decrypted: the key or the bytes are wrong")
            }
        }
    }
#endif
