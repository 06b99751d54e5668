#if HTTP
    import Testing

    @testable import MultipathHTTP

    @Suite("A date as servers write it")
    struct HTTPDateTests {
        @Test(
            "is read as the seconds since 1970",
            arguments: [
                ("Sun, 06 Nov 1994 08:49:37 GMT", 784_111_777), ("Thu, 01 Jan 1970 00:00:00 GMT", 0),
                ("Wed, 31 Dec 1969 23:59:59 GMT", -1), ("Thu, 29 Feb 2024 12:00:00 GMT", 1_709_208_000),
                ("Sat, 31 Dec 2016 23:59:60 GMT", 1_483_228_800),
                // Cookies have hyphens.
                ("Sun, 06-Nov-1994 08:49:37 GMT", 784_111_777),
            ])
        func reads(text: String, seconds: Int64) { #expect(HTTPDate.seconds(text) == seconds) }

        @Test(
            "is none in any other form",
            arguments: [
                "", "Sun, 06 Nov 1994 08:49:37", "Sunday, 06-Nov-94 08:49:37 GMT", "Sun Nov  6 08:49:37 1994",
                "Sun, 6 Nov 1994 08:49:37 GMT", "Sun, 06 Nov 1994 24:00:00 GMT",
                "Sun, 00 Nov 1994 08:49:37 GMT",
                "Sun, 32 Nov 1994 08:49:37 GMT", "Sun, 06 Nov 1994 08:60:37 GMT",
                "Sun, 06 Nov 1994 08:49:61 GMT",
                "Sun, 06 Nob 1994 08:49:37 GMT", "Sun, 06 Nov 1994 08:49:37 CET",
                "Sun, ٠٦ Nov 1994 08:49:37 GMT",
                "sun, 06 Nov 1994 08:49:37 GMT", "Sun, 06 Nov +994 08:49:37 GMT",
                "Sun, 06/Nov/1994 08:49:37 GMT",
            ])
        func refuses(text: String) { #expect(HTTPDate.seconds(text) == nil) }
    }
#endif
