#if HTTP
    import NIOCore

    /// A picture as a portable pixmap (PPM), the simplest format there is: a line of text, then three bytes a pixel.
    struct Picture: Sendable {
        let width: Int
        let height: Int
        private let pixels: [UInt8]

        /// Paints a dish: the same scene in whatever size, of which a large one shows more.
        init(of dish: Dish, width: Int, height: Int) {
            (self.width, self.height) = (width, height)
            var pixels: [UInt8] = []
            for row in 0..<height {
                for column in 0..<width {
                    // From -1 to 1, upwards and to the right.
                    let x = Double(2 * column + 1) / Double(width) - 1
                    let y = 1 - Double(2 * row + 1) / Double(height)
                    pixels += dish.colour(x, y)
                }
            }
            self.pixels = pixels
        }

        /// Reads one that was sent; nil where it is none.
        init?(_ bytes: ByteBuffer) {
            let head = bytes.readableBytesView.prefix { $0 != UInt8(ascii: "\n") }
            let words = String(decoding: head, as: UTF8.self).split(separator: " ")
            guard words.count == 4, words[0] == "P6", words[3] == "255", let width = Int(words[1]),
                let height = Int(words[2]), 1...2_000 ~= width, 1...2_000 ~= height
            else { return nil }
            let pixels = Array(bytes.readableBytesView.dropFirst(head.count + 1))
            guard pixels.count == width * height * 3 else { return nil }
            (self.width, self.height, self.pixels) = (width, height, pixels)
        }

        var bytes: ByteBuffer {
            var bytes = ByteBuffer(string: "P6 \(width) \(height) 255\n")
            bytes.writeBytes(pixels)
            return bytes
        }

        /// For a terminal with colours: two pixels a character, one above the other, at most 32 characters a line.
        var drawing: String {
            let columns = min(width, 32)
            let rows = columns * height / width / 2
            return (0..<rows).map { row in
                let line = (0..<columns).map { column in
                    let upper = pixel(column * width / columns, 2 * row * height / (2 * rows))
                    let lower = pixel(column * width / columns, (2 * row + 1) * height / (2 * rows))
                    return "\u{1B}[38;2;\(upper);48;2;\(lower)m\u{2580}"
                }
                return line.joined() + "\u{1B}[0m"
            }.joined(separator: "\n")
        }

        private func pixel(_ column: Int, _ row: Int) -> String {
            let place = (row * width + column) * 3
            return pixels[place..<place + 3].map(String.init).joined(separator: ";")
        }
    }

    /// What the pub has.
    enum Dish: String, CaseIterable, Sendable {
        case ale = "Old Ale"
        case pie = "Cottage Pie"
        case crumble = "Apple Crumble"

        /// What a ray of light sees at a place of the picture, as red, green and blue.
        func colour(_ x: Double, _ y: Double) -> [UInt8] {
            let isFar = x * x + y * y > 0.8
            switch self {
            case .ale:
                // A glass that is wider at the top, with foam, and light from the left.
                guard abs(x) < 0.45 + 0.12 * y, abs(y) < 0.85 else { return [38, 34, 48] }
                return y > 0.5 ? Self.lit([250, 243, 222], x) : Self.lit([196, 112, 28], x)
            case .pie:
                guard !isFar else { return [70, 88, 74] }
                let isCrust = x * x + y * y > 0.6
                return Self.lit(isCrust ? [166, 106, 52] : [228, 184, 108], (x + y) * 2)
            case .crumble:
                guard !isFar else { return [92, 60, 66] }
                let isCrumb = Int((x + 1) * 23) ^ Int((y + 1) * 17) & 3 == 0
                return Self.lit(isCrumb ? [206, 158, 88] : [180, 196, 96], x)
            }
        }

        private static func lit(_ colour: [Double], _ x: Double) -> [UInt8] {
            colour.map { UInt8(clamping: Int($0 * (1 - 0.35 * x))) }
        }
    }
#endif
