#if HTTP
    import Foundation
    import HTTPTypes
    import Multipath
    import NIOCore
    import NIOSSL
    import TestSupport
    import Testing

    @testable import MultipathHTTP

    @Suite("nginx with TLS", .needs("nginx", "openssl"), .timeLimit(.minutes(2)))
    struct NginxTests {
        @Test(
            "answers over HTTP/2 and HTTP/1.1, as both agree",
            arguments: [HTTPRequestMetrics.ProtocolName.http2, .http1])
        func page(_ name: HTTPRequestMetrics.ProtocolName) async throws {
            let nginx = try await Nginx()
            let client = nginx.client(name == .http2 ? [.http1, .http2] : [.http1])
            for round in 0..<2 {
                let (response, body) = try await client.get(nginx.url("/"), collectUpTo: 1_000)
                #expect(response.status == .ok)
                #expect(String(buffer: body) == "a page of nginx\n")
                #expect(response.metrics.protocolName == name)
                #expect(response.metrics.isReusedConnection == (round > 0))
                #expect((response.metrics.secureConnection != nil) == (round == 0))
            }
            await client.close()
        }

        @Test(
            "answers a thousand requests, 64 at a time, each whole",
            arguments: [HTTPRequestMetrics.ProtocolName.http2, .http1],
            [HTTPRequestOptions.Decompression.enabled(), .disabled])
        func many(
            _ name: HTTPRequestMetrics.ProtocolName, _ decompression: HTTPRequestOptions.Decompression
        ) async throws {
            let nginx = try await Nginx()
            let client = nginx.client([name])
            try await withThrowingTaskGroup(of: Void.self) { group in
                for number in 0..<1_000 {
                    if number >= 64 { try await group.next() }
                    group.addTask {
                        let (response, body) = try await client.get(nginx.url("/"), collectUpTo: 1_000) {
                            $0.decompression = decompression
                        }
                        #expect(response.status == .ok)
                        #expect(body.readableBytes == 16)
                    }
                }
                try await group.waitForAll()
            }
            await client.close()
        }

        @Test(
            "gives a long body no faster than it is read",
            arguments: [HTTPRequestMetrics.ProtocolName.http2, .http1])
        func longBody(_ name: HTTPRequestMetrics.ProtocolName) async throws {
            let nginx = try await Nginx()
            let client = nginx.client([name])
            let request = try MultipathHTTPClient.request(.get, nginx.url("/million"))
            let length = try await client.perform(request: request) { _, body in
                var length = 0
                for try await part in body {
                    if length < 200_000 { try await Task.sleep(for: .milliseconds(1)) }
                    length += part.readableBytes
                }
                return length
            }
            #expect(length == 1_000_000)
            await client.close()
        }

        @Test(
            "takes a body that is written while it is sent",
            arguments: [HTTPRequestMetrics.ProtocolName.http2, .http1])
        func put(_ name: HTTPRequestMetrics.ProtocolName) async throws {
            let nginx = try await Nginx()
            let client = nginx.client([name])
            for (path, length) in [("/put/known", Int64(3_000_000)), ("/put/chunked", nil)] {
                let request = try MultipathHTTPClient.request(.put, nginx.url(path))
                let body = HTTPRequestBody.restartable(length: length) { writer in
                    for number in 0..<30 {
                        try await writer.write(ByteBuffer(repeating: UInt8(number), count: 100_000))
                    }
                }
                let status = try await client.perform(request: request, body: body) { response, _ in
                    response.status
                }
                #expect(status == .created, "\(path)")
                let expected = (0..<30).reduce(into: Data()) {
                    $0 += Data(repeating: UInt8($1), count: 100_000)
                }
                #expect(nginx.content(path) == expected)
            }
            await client.close()
        }

        @Test(
            "compresses, and the client undoes it, unless it is told not to",
            arguments: [HTTPRequestMetrics.ProtocolName.http2, .http1])
        func compression(_ name: HTTPRequestMetrics.ProtocolName) async throws {
            let nginx = try await Nginx()
            let client = nginx.client([name])
            for isEnabled in [true, false, true] {
                let (response, body) = try await client.get(nginx.url("/text.html"), collectUpTo: 1 << 20) {
                    $0.decompression = isEnabled ? .enabled() : .disabled
                }
                #expect((response.headerFields[.contentEncoding] == "gzip") == isEnabled)
                #expect(body.readableBytes == 105_000)
                #expect(body.getString(at: 0, length: 21) == "all work and no play ")
            }
            await client.close()
        }

        @Test("drops the rest of a body that its reader leaves, and the connection serves on")
        func leave() async throws {
            let nginx = try await Nginx()
            let client = nginx.client([.http2])
            let request = try MultipathHTTPClient.request(.get, nginx.url("/million"))
            for _ in 0..<20 {
                try await client.perform(request: request) { _, body in
                    for try await _ in body { break }
                }
            }
            let (response, body) = try await client.get(nginx.url("/"), collectUpTo: 100)
            #expect(body.readableBytes == 16)
            #expect(response.metrics.isReusedConnection)
            await client.close()
        }

        // MARK: Certificates

        @Test("is not spoken to where its certificate is not trusted, has expired, or is another host's")
        func certificates() async throws {
            for certificate in ["expired", "stranger"] {
                let nginx = try await Nginx(certificate)
                let client = nginx.client()
                let error = await #expect(throws: MultipathHTTPError.self) {
                    try await client.get(nginx.url("/"), collectUpTo: 100)
                }
                #expect(error?.code == .notConnected, "\(certificate)")
                #expect(error?.description.contains("not trusted") == true, "\(error?.description ?? "")")
                await client.close()
            }
            let nginx = try await Nginx()
            let client = MultipathHTTPClient(
                configuration: nginx.client().configuration,
                connector: .init(resolver: StaticResolver(["other.example": [IPAddress("127.0.0.1")!]])))
            let error = await #expect(throws: MultipathHTTPError.self) {
                try await client.get("https://other.example:\(nginx.port)/", collectUpTo: 100)
            }
            #expect(error?.description.contains("for other names") == true, "\(error?.description ?? "")")
            await client.close()
        }

        @Test("is spoken to by its address where the certificate carries that")
        func address() async throws {
            let nginx = try await Nginx()
            let client = nginx.client()
            let (_, body) = try await client.get("https://127.0.0.1:\(nginx.port)/", collectUpTo: 100)
            #expect(body.readableBytes == 16)
            await client.close()
        }

        @Test("is spoken to only where a key of the chain that makes it trusted is pinned")
        func pins() async throws {
            let nginx = try await Nginx()
            func pin(_ file: String) async throws -> String {
                let result = try await Program.run([
                    "bash", "-c",
                    "openssl x509 -pubkey -noout -in '\(file)' | openssl pkey -pubin -outform der | "
                        + "openssl dgst -sha256 -binary | base64",
                ])
                return result.outputText.trimmingCharacters(in: .whitespacesAndNewlines)
            }
            let other = "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA="
            let folder = nginx.certificates.folder.path
            // Its own, its issuer's, and the root's, which it does not present.
            for file in ["good.pem", "middle.pem", "root.pem"] {
                let good = try await PublicKeyPins([pin("\(folder)/\(file)"), other])
                let pinned = nginx.client { $0.publicKeyPins[Nginx.name] = good }
                let (_, body) = try await pinned.get(nginx.url("/"), collectUpTo: 100)
                #expect(body.readableBytes == 16, "\(file)")
                await pinned.close()
            }
            let wrong = try PublicKeyPins([other, "BBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBB="])
            let strict = nginx.client { $0.publicKeyPins[Nginx.name] = wrong }
            let error = await #expect(throws: MultipathHTTPError.self) {
                try await strict.get(nginx.url("/"), collectUpTo: 100)
            }
            #expect(
                error?.description.contains("none of those that are pinned") == true,
                "\(error?.description ?? "")")
            await strict.close()
            #expect(throws: InvalidPins.self) { try PublicKeyPins([other]) }
            #expect(throws: InvalidPins.self) { try PublicKeyPins([other, "nonsense"]) }
        }

        @Test("is not spoken to where it presents a pinned certificate that has no part in its being trusted")
        func adornedChain() async throws {
            let nginx = try await Nginx("good", adornedWith: "stranger-root")
            let result = try await Program.run([
                "bash", "-c",
                "openssl x509 -pubkey -noout -in '\(nginx.certificates.folder.path)/stranger-root.pem' | "
                    + "openssl pkey -pubin -outform der | openssl dgst -sha256 -binary | base64",
            ])
            let pins = try PublicKeyPins([
                result.outputText.trimmingCharacters(in: .whitespacesAndNewlines),
                "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=",
            ])
            let client = nginx.client { $0.publicKeyPins[Nginx.name] = pins }
            let error = await #expect(throws: MultipathHTTPError.self) {
                try await client.get(nginx.url("/"), collectUpTo: 100)
            }
            #expect(error?.description.contains("none of those that are pinned") == true)
            await client.close()
        }

        @Test("gets the client's certificate where it asks for one")
        func clientCertificate() async throws {
            let nginx = try await Nginx(
                "good", "ssl_verify_client optional_no_ca; location = /who { return 200 $ssl_client_s_dn; }")
            let folder = nginx.certificates.folder.path
            let made = try await Program.run([
                "bash", "-c",
                "openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -subj /CN=visitor "
                    + "-days 2 -keyout '\(folder)/visitor.key' -out '\(folder)/visitor.pem'",
            ])
            #expect(made.status == 0, "\(made.errors)")
            let chain = try NIOSSLCertificate.fromPEMFile(folder + "/visitor.pem")
            let key = try NIOSSLPrivateKey(file: folder + "/visitor.key", format: .pem)
            let client = nginx.client { configuration in
                configuration.tls.certificateChain = chain.map { .certificate($0) }
                configuration.tls.privateKey = .privateKey(key)
            }
            let (_, body) = try await client.get(nginx.url("/who"), collectUpTo: 100)
            #expect(String(buffer: body) == "CN=visitor")
            await client.close()
        }
    }
#endif
