import Testing

@testable import PathCore

@Suite("Text that people write")
struct TextTests {
    @Test(
        "is read as a duration in the same forms everywhere",
        arguments: [
            ("5", 5_000_000_000), ("5s", 5_000_000_000), ("500ms", 500_000_000), ("250us", 250_000),
            ("1.5s", 1_500_000_000), ("2m", 120_000_000_000), ("2min", 120_000_000_000),
            ("1h", 3_600_000_000_000), (".5", 500_000_000),
        ] as [(String, Int64)])
    func duration(_ text: String, _ nanoseconds: Int64) {
        #expect(Duration(parsing: text) == .nanoseconds(nanoseconds))
    }

    @Test(
        "is no duration where it has no number, another unit, a sign, or says zero",
        arguments: [
            "", "s", "soon", "5 s", "5d", "-5", "+5", "5.5.5s", "0", "0ms", "1e3", "5S", "9999999999h", "٥s",
        ])
    func noDuration(_ text: String) {
        #expect(Duration(parsing: text) == nil)
    }

    @Test(
        "is told which word it was probably meant to be",
        arguments: [
            ("expensve", "expensive"), ("exepnsive", "expensive"), ("celular", "cellular"), ("WIFI", "wifi"),
            ("lst", nil), ("wfi", "wifi"), ("wwan0", nil), ("", nil), ("x", nil),
        ] as [(String, String?)])
    func suggestion(_ text: String, _ word: String?) {
        #expect(Suggestion.nearest(to: text, among: ["expensive", "wifi", "cellular"]) == word)
    }

    @Test("gets a hint only where a word is near")
    func hint() {
        #expect(Suggestion.hint(for: "lst", among: ["list", "watch"]) == " (did you mean 'list'?)")
        #expect(Suggestion.hint(for: "frobnicate", among: ["list", "watch"]) == "")
        #expect(Suggestion.hint(for: "list", among: []) == "")
    }
}
