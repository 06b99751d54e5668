import LinuxNet
import TestSupport
import Testing

@testable import Multipath

@Suite("A replay")
struct PathReplayTests {
    /// This machine's paths, and the recording of how they were found.
    private func recorded() async throws -> (path: PathSnapshot, bytes: [UInt8]) {
        let bytes = Locked<[UInt8]>([])
        var configuration = PathMonitor.Configuration()
        configuration.overrides["lo"] = InterfaceOverride(isExpensive: true, isConstrained: true)
        let monitor = PathMonitor(
            configuration, recorder: PathRecorder { chunk in bytes.withLock { $0 += chunk } })
        let path = try await monitor.currentPath()
        return (path, bytes.withLock { $0 })
    }

    @Test("gives the snapshots that were told, from the bytes alone")
    func sameSnapshot() async throws {
        let (path, bytes) = try await recorded()
        var replay = try PathReplay(bytes)
        let first = try #require(try replay.next())
        #expect(first.snapshot == path)
        #expect(first.snapshot.interface(named: "lo")?.expensive == Verdict(.yes, .configuration))
        #expect(replay.malformed == 0)
        // Whatever else this machine's network did meanwhile.
        while let (time, snapshot) = try replay.next() {
            #expect(time >= first.time)
            #expect(snapshot.generation > 1)
        }
    }

    @Test("is a source for a monitor, at the pace of the recording")
    func source() async throws {
        let (path, bytes) = try await recorded()
        let monitor = PathMonitor(source: RecordedPaths(try PathReplay(bytes)))
        var updates = monitor.updates.makeAsyncIterator()
        #expect(await updates.next() == path)
        let broken = PathMonitor(source: RecordedPaths(try PathReplay(Array(bytes.dropLast()))))
        for await _ in broken.updates {}
        let error = await #expect(throws: PathMonitorError.self) { _ = try await broken.currentPath() }
        #expect(error?.description.hasSuffix("the file ends within a record") == true)
    }

    @Test("of records with other bytes in them, and of records in any order, ends; it never traps")
    func nonsense() async throws {
        let (_, bytes) = try await recorded()
        var reader = try PathRecord.Reader(bytes)
        var records: [PathRecord] = []
        while let record = try reader.next() { records.append(record) }
        var random = SplitMix64(seed: 1_812)
        var (ends, errors) = (0, 0)
        for _ in 0..<3_000 {
            var records = records
            for _ in 0..<3 {
                let place = Int.random(in: 0..<records.count, using: &random)
                if random.oneIn(4) {
                    records.swapAt(place, Int.random(in: 0..<records.count, using: &random))
                } else if !records[place].payload.isEmpty {
                    let byte = Int.random(in: 0..<records[place].payload.count, using: &random)
                    records[place].payload[byte] = UInt8.random(in: 0...255, using: &random)
                    // Tables are notifications too, and the other way round.
                    if random.oneIn(8) {
                        records[place].kind = [.notification, .links, .routes].randomElement(using: &random)!
                    }
                    if random.oneIn(8) { records[place].payload.removeLast(byte) }
                }
            }
            do throws(RecordingError) {
                // Told twice, and applied, so that nothing waits unread.
                let file =
                    PathRecord.header + records.flatMap(\.bytes)
                    + PathRecord(.taken, at: .seconds(1), [0]).bytes
                    + PathRecord(.told, at: .seconds(1)).bytes
                var replay = try PathReplay(file)
                while try replay.next() != nil {}
                ends += 1
            } catch {
                errors += 1
            }
        }
        #expect(ends > 500 && errors > 10, "\(ends) ends, \(errors) errors")
    }
}
