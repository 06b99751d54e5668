#if HTTP
    import HTTPTypes
    import Testing

    @testable import MultipathHTTP

    @Suite("What is sent next")
    struct RequestPlanTests {
        private func plan(
            _ method: HTTPRequest.Method = .get, _ body: HTTPRequestBody? = nil, from path: String = "/a",
            configure: (inout HTTPRequestOptions) -> Void = { _ in }
        ) -> RequestPlan {
            var options = HTTPRequestOptions()
            configure(&options)
            let request = HTTPRequest(
                method: method, scheme: "https", authority: "one.example", path: path,
                headerFields: [.authorization: "secret", .contentType: "text/plain"])
            return RequestPlan(request, body, options)
        }

        private func redirect(_ status: Int, _ location: String) -> HTTPResponse {
            HTTPResponse(status: .init(code: status), headerFields: [.location: location])
        }

        private func follows(_ plan: inout RequestPlan, _ response: HTTPResponse) -> Bool {
            if case .follow = plan.ingest(response) { true } else { false }
        }

        private func failure(_ plan: inout RequestPlan, _ response: HTTPResponse) -> MultipathHTTPError.Code?
        {
            if case .fail(let error) = plan.ingest(response) { error.code } else { nil }
        }

        @Test(
            "A redirect makes a GET of what RFC 9110 says, and leaves the rest as it is",
            arguments: [
                (301, HTTPRequest.Method.post, HTTPRequest.Method.get), (302, .post, .get),
                (303, .post, .get),
                (303, .put, .get), (303, .head, .head), (301, .put, .put), (307, .post, .post),
                (308, .put, .put),
                (302, .get, .get),
            ])
        func methods(_ status: Int, _ before: HTTPRequest.Method, _ after: HTTPRequest.Method) {
            var plan = plan(before, before == .get ? nil : .text("x"))
            #expect(follows(&plan, redirect(status, "/b")))
            #expect(plan.request.method == after)
            #expect(plan.hasBody == (before == after && before != .get))
            #expect(plan.request.path == "/b")
            #expect(plan.request.authority == "one.example")
            #expect((plan.request.headerFields[.contentType] == nil) == (before != after))
        }

        @Test(
            "A location is read from where it was said",
            arguments: [
                ("/x/y?z", "/c", "/c"), ("/x/y", "z", "/x/z"), ("/x/y/", "../z", "/x/z"),
                ("/x", "?q=1", "/x?q=1"), ("/x", "//one.example:443/q", "/q"),
            ])
        func relative(_ base: String, _ location: String, _ path: String) {
            var plan = plan(from: base)
            #expect(follows(&plan, redirect(302, location)))
            #expect(plan.request.path == path)
        }

        @Test("What authorizes at one origin goes to no other")
        func credentials() {
            var plan = plan()
            #expect(follows(&plan, redirect(302, "/b")))
            #expect(plan.request.headerFields[.authorization] == "secret")
            #expect(follows(&plan, redirect(302, "https://two.example/b")))
            #expect(plan.request.headerFields[.authorization] == nil)
        }

        @Test("A field that is said to authorize goes to no other origin either")
        func credentialFields() throws {
            let key = try #require(HTTPField.Name("X-Api-Key"))
            var options = HTTPRequestOptions()
            options.credentialFields = [key]
            let request = HTTPRequest(
                method: .get, scheme: "https", authority: "one.example", path: "/a",
                headerFields: [key: "secret", .userAgent: "test"])
            var plan = RequestPlan(request, nil, options)
            #expect(follows(&plan, redirect(302, "/b")))
            #expect(plan.request.headerFields[key] == "secret")
            #expect(follows(&plan, redirect(302, "https://two.example/b")))
            #expect(plan.request.headerFields[key] == nil && plan.request.headerFields[.userAgent] == "test")
            #expect(!plan.maySend(key))
        }

        @Test("What the client itself authorizes with goes to no other origin either, nor back from there")
        func clientCredentials() {
            var plan = plan()
            #expect(follows(&plan, redirect(302, "/b")) && plan.maySend(.authorization))
            for location in ["https://two.example/b", "https://one.example/c"] {
                #expect(follows(&plan, redirect(302, location)))
                #expect(!plan.maySend(.authorization) && !plan.maySend(.cookie) && plan.maySend(.userAgent))
            }
        }

        @Test(
            "A redirect that leads nowhere, or out of TLS, is an error",
            arguments: ["http://one.example/", "ftp://x/", "mailto:x"])
        func nowhere(_ location: String) {
            var plan = plan()
            #expect(failure(&plan, redirect(302, location)) == .invalidRedirect)
        }

        @Test("Redirects that lead back are a loop, and too many are an error of their own")
        func loops() {
            var plan = plan()
            #expect(follows(&plan, redirect(302, "/b")))
            #expect(failure(&plan, redirect(302, "/a")) == .redirectLoop)
            var long = self.plan { $0.maximumRedirects = 3 }
            for step in 0..<3 { #expect(follows(&long, redirect(302, "/\(step)"))) }
            #expect(failure(&long, redirect(302, "/more")) == .tooManyRedirects)
            var none = self.plan { $0.maximumRedirects = 0 }
            if case .deliver = none.ingest(redirect(302, "/b")) {
            } else {
                Issue.record("it was not delivered")
            }
        }

        @Test("A body that can't be made again is not redirected")
        func onceOnly() {
            var plan = plan(.post, .once { _ in })
            #expect(failure(&plan, redirect(307, "/b")) == .invalidRedirect)
            #expect(follows(&plan, redirect(303, "/b")))
        }

        // MARK: Repetition

        private let lost = MultipathHTTPError(.connectionLost, "")
        private let refused = MultipathHTTPError(.refused, "")

        @Test("A request that broke is sent again where that is safe, and only there")
        func retries() {
            typealias Case = (HTTPRequest.Method, MultipathHTTPError, isSent: Bool, isAnswered: Bool, Bool)
            let cases: [Case] = [
                (.get, lost, true, false, true), (.get, lost, true, true, false),
                (.post, lost, true, false, false),
                (.post, lost, false, false, true), (.post, refused, true, false, true),
                (.put, lost, true, false, true),
                (.patch, lost, true, false, false),
                (.get, MultipathHTTPError(.malformedAnswer, ""), true, false, false),
                (.get, MultipathHTTPError(.stalled, ""), true, false, false),
            ]
            for (method, error, isSent, isAnswered, isAgain) in cases {
                var plan = plan(method, method == .get ? nil : .text("x"))
                let progress = Exchange.Progress(isSent: isSent, isAnswered: isAnswered)
                #expect(plan.retries(after: error, progress) == isAgain, "\(method) \(error) \(progress)")
            }
        }

        @Test("A request is sent three times at most")
        func limit() {
            var plan = plan()
            let progress = Exchange.Progress(isSent: true)
            #expect(plan.retries(after: lost, progress) == true)
            #expect(plan.retries(after: lost, progress) == true)
            #expect(plan.retries(after: lost, progress) == false)
            #expect(plan.retryCount == 2)
        }

        @Test("A body that can't be made again is sent again only where nothing of it has left")
        func bodies() {
            var plan = plan(.put, .once { _ in })
            #expect(plan.retries(after: lost, Exchange.Progress(isSent: true)) == false)
            #expect(plan.retries(after: lost, Exchange.Progress(isSent: false)) == true)
        }
    }
#endif
