// Hummingbird as a server for clients that are measured or proven:
//
//   mpbench-hummingbird PORT [CHAIN KEY]
//
// `/bytes/N` answers N bytes, `/digest` the number of bytes that came and their sum modulo 65,521. With a chain and its key
// it speaks TLS, and HTTP/2 or HTTP/1.1 as the client likes.

import Hummingbird
import HummingbirdHTTP2
import HummingbirdTLS
import NIOCore
import NIOSSL

@main
enum Main {
    static func main() async throws {
        let words = CommandLine.arguments
        let router = Router()
        router.get("/bytes/:count") { _, context in
            let count = try context.parameters.require("count", as: Int.self)
            let block = ByteBuffer(repeating: UInt8(ascii: "x"), count: min(count, 64 * 1024))
            return Response(
                status: .ok, headers: [.contentLength: "\(count)"],
                body: ResponseBody { writer in
                    var left = count
                    while left > 0 {
                        let part = block.getSlice(at: 0, length: min(left, block.readableBytes))!
                        try await writer.write(part)
                        left -= part.readableBytes
                    }
                    try await writer.finish(nil)
                })
        }
        router.post("/digest") { request, _ in
            var (count, sum) = (0, 0)
            for try await part in request.body {
                count += part.readableBytes
                for byte in part.readableBytesView { sum = (sum + Int(byte)) % 65_521 }
            }
            return "\(count) \(sum)"
        }
        let configuration = ApplicationConfiguration(address: .hostname("127.0.0.1", port: Int(words[1])!))
        guard words.count > 3 else {
            return try await Application(router: router, configuration: configuration).runService()
        }
        let tls = try TLSConfiguration.makeServerConfiguration(
            certificateChain: NIOSSLCertificate.fromPEMFile(words[2]).map { .certificate($0) },
            privateKey: .privateKey(NIOSSLPrivateKey(file: words[3], format: .pem)))
        try await Application(
            router: router, server: .http2Upgrade(tlsConfiguration: tls), configuration: configuration
        ).runService()
    }
}
