#if HTTP
    import Crypto
    import Foundation

    /// The server's part of the opening handshake (RFC 6455 section 4.2.2), for servers that a test makes of bytes.
    enum WebSocketKey {
        static func accept(for key: String) -> String {
            let digest = Insecure.SHA1.hash(data: Data((key + "258EAFA5-E914-47DA-95CA-C5AB0DC85B11").utf8))
            return Data(digest).base64EncodedString()
        }

        /// An answer that accepts what a request asks for.
        ///
        /// - Parameter extra: further headers, each with its end of line.
        static func acceptance(of request: String, _ extra: String = "") -> [UInt8] {
            let key = request.split(separator: "\r\n").first {
                $0.lowercased().hasPrefix("sec-websocket-key:")
            }
            .map { String($0.drop { $0 != ":" }.dropFirst().drop { $0 == " " }) }
            return Array(
                """
                HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\
                Sec-WebSocket-Accept: \(accept(for: key ?? ""))\r\n\(extra)\r\n
                """.utf8)
        }
    }
#endif
