import PathCore
import TestSupport
import Testing

@testable import LinuxNet

@Suite("The wait before a retry")
struct RetryDelayTests {
    @Test("doubles from one second to one minute, and starts again after a success")
    func doubles() {
        var generator = SplitMix64(seed: 7)
        var delay = RetryDelay()
        for base in [1, 2, 4, 8, 16, 32, 40, 40, 40] {
            let wait = delay.next(using: &generator)
            #expect(wait >= .seconds(base) && wait <= .seconds(base) * 1.5)
        }
        delay.reset()
        #expect(delay.next(using: &generator) <= .seconds(1.5))
    }
}
