/// Finds the word that a misspelt one was probably meant to be.
package enum Suggestion {
    /// The word of a list that is nearest to `text`.
    ///
    /// - Returns: nil where none is near enough: one edit for each three letters, and at least one, may be missing.
    package static func nearest(to text: some StringProtocol, among words: [String]) -> String? {
        let typed = Array(text.lowercased())
        // At least as many edits as one is longer than the other: what comes from outside may be long.
        let similar = words.filter {
            abs($0.count - typed.count) <= max(1, min(typed.count, $0.count) / 3)
        }
        let nearest = similar.map { (word: $0, distance: distance(typed, Array($0.lowercased()))) }
            .min { $0.distance < $1.distance }
        guard let nearest, nearest.distance <= max(1, min(typed.count, nearest.word.count) / 3),
            nearest.distance < typed.count
        else { return nil }
        return nearest.word
    }

    /// ` (did you mean 'list'?)`, or nothing where no word is near enough.
    package static func hint(for text: some StringProtocol, among words: [String]) -> String {
        nearest(to: text, among: words).map { " (did you mean '\($0)'?)" } ?? ""
    }

    /// How many letters must be inserted, removed, replaced or swapped with their neighbour (optimal string
    /// alignment, a form of the Damerau-Levenshtein distance).
    private static func distance(_ from: [Character], _ to: [Character]) -> Int {
        var rows = [Array(0...to.count)]
        for i in 1..<(from.count + 1) {
            var row = [i]
            for j in 1..<(to.count + 1) {
                let substitution = rows[i - 1][j - 1] + (from[i - 1] == to[j - 1] ? 0 : 1)
                var least = min(rows[i - 1][j] + 1, row[j - 1] + 1, substitution)
                if i > 1, j > 1, from[i - 1] == to[j - 2], from[i - 2] == to[j - 1] {
                    least = min(least, rows[i - 2][j - 2] + 1)
                }
                row.append(least)
            }
            rows.append(row)
        }
        return rows[from.count][to.count]
    }
}
