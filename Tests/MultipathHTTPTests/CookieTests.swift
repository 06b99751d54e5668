#if HTTP
    import HTTPTypes
    import TestSupport
    import Testing

    @testable import MultipathHTTP

    @Suite("A cookie jar")
    struct CookieTests {
        private let secure = HTTPOrigin(isSecure: true, host: "one.example", port: 443)

        private func jar(_ fields: String..., at path: String = "/a/b?c") -> HTTPCookieJar {
            let jar = HTTPCookieJar()
            var response = HTTPResponse(status: .ok)
            response.headerFields[values: .setCookie] = fields
            jar.ingest(response, from: secure, path: path)
            return jar
        }

        @Test("sends a cookie back to the host and the folder that it came from")
        func host() {
            let jar = jar("id=1")
            #expect(jar.field(for: secure, path: "/a/x") == "id=1")
            #expect(jar.field(for: secure, path: "/a") == "id=1")
            #expect(jar.field(for: secure, path: "/ab") == nil)
            #expect(jar.field(for: secure, path: "/") == nil)
            let other = HTTPOrigin(isSecure: true, host: "two.example", port: 443)
            #expect(jar.field(for: other, path: "/a/x") == nil)
        }

        @Test("sends the cookie of the longest path first, and replaces one of the same name")
        func order() {
            let jar = jar("a=1; Path=/", "b=2; Path=/a/b", "a=3; Path=/", "a=4; Path=/a")
            #expect(jar.field(for: secure, path: "/a/b/c") == "b=2; a=4; a=3")
        }

        @Test("keeps a secure cookie from origins without TLS")
        func isSecure() {
            let jar = jar("a=1; Path=/; Secure; HttpOnly", "b=2; Path=/")
            let plain = HTTPOrigin(isSecure: false, host: "one.example", port: 80)
            #expect(jar.field(for: plain, path: "/") == "b=2")
            #expect(jar.field(for: secure, path: "/") == "a=1; b=2")
        }

        @Test(
            "forgets what is over",
            arguments: [
                "a=1; Path=/; Max-Age=0", "a=1; Path=/; Max-Age=-5",
                "a=1; Path=/; Expires=Thu, 01 Jan 1970 00:00:00 GMT",
            ])
        func expiry(_ field: String) {
            #expect(jar("a=0; Path=/", field).field(for: secure, path: "/") == nil)
        }

        @Test(
            "takes no nonsense",
            arguments: ["", "=", "=1", "a", ";", "; Path=/", String(repeating: "x", count: 5_000) + "=1"])
        func nonsense(_ field: String) { #expect(jar(field).field(for: secure, path: "/a/b") == nil) }

        @Test("keeps so many cookies of a host, the newest, and no more")
        func limit() {
            let jar = HTTPCookieJar()
            var response = HTTPResponse(status: .ok)
            response.headerFields[values: .setCookie] = (0..<200).map { "c\($0)=1; Path=/" }
            jar.ingest(response, from: secure, path: "/")
            let kept = jar.field(for: secure, path: "/")?.split(separator: "; ")
            #expect(kept == (136..<200).map { "c\($0)=1" })
        }

        @Test("lets those that are over make room before others")
        func overBeforeOthers() {
            let jar = HTTPCookieJar()
            var response = HTTPResponse(status: .ok)
            response.headerFields[values: .setCookie] =
                ["login=1; Path=/"] + (0..<63).map { "c\($0)=1; Path=/; Max-Age=1" }
            jar.ingest(response, from: secure, path: "/")
            #expect(eventually { jar.field(for: secure, path: "/") == "login=1" })
            response.headerFields[values: .setCookie] = ["new=1; Path=/"]
            jar.ingest(response, from: secure, path: "/")
            #expect(jar.field(for: secure, path: "/") == "login=1; new=1")
        }
    }
#endif
