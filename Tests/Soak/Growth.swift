import Foundation
import LabNet

extension ProcessHoldings {
    /// What is more than it was, in words. Connections are closed and opened meanwhile, and each has more descriptors while
    /// it asks about a path: some dozens are no growth. Neither is a tenth of the memory.
    ///
    /// - Parameter memory: when what is bounded had reached its limit; nil for not yet.
    func growth(since start: ProcessHoldings, inMemory memory: ProcessHoldings?) -> [String] {
        var lines: [String] = []
        if descriptors > start.descriptors + max(32, start.descriptors / 50) {
            lines.append("descriptors \(start.descriptors) -> \(descriptors)")
        }
        if threads > start.threads + 4 { lines.append("threads \(start.threads) -> \(threads)") }
        guard let memory else { return lines }
        if resident > memory.resident * 11 / 10 + 4_096 {
            lines.append("resident \(memory.resident) -> \(resident) KiB")
        }
        if heap > memory.heap * 11 / 10 + 2_048 { lines.append("heap \(memory.heap) -> \(heap) KiB") }
        return lines
    }

    static func raiseDescriptorLimit() {
        var limit = rlimit()
        let resource = __rlimit_resource_t(RLIMIT_NOFILE.rawValue)
        getrlimit(resource, &limit)
        limit.rlim_cur = limit.rlim_max
        setrlimit(resource, &limit)
    }
}
