#if HTTP && Outbox
    import Foundation
    import TestSupport
    import Testing

    extension Labs {
        @Suite("A folder that waits for an allowed path", .needs("python3", "curl"))
        struct Synchronizing {
            private static let script = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
                .deletingLastPathComponent().deletingLastPathComponent()
                .appendingPathComponent("scripts/sync-waiting.py").path

            private struct Report: Decodable {
                var toldAtStart, resumedFirst, told, silent, resumed, resumedAfterBudget: Double
                var bytesWhileWaiting, budget, spent: Int64
                var status, statusAfterBudget: Int32
                var same: Bool
            }

            @Test("it says at once that it waits, sends nothing meanwhile, goes on, and keeps its budget")
            func waiting() throws {
                let programs = URL(fileURLWithPath: LabCommand.program("mpsync")).deletingLastPathComponent()
                let outcome = try LabCommand.run(
                    ["/usr/bin/env", "python3", Self.script, "--bin", programs.path], deadline: .seconds(120))
                #expect(outcome.status == 0, "\(outcome)")
                let decoder = JSONDecoder()
                decoder.keyDecodingStrategy = .convertFromSnakeCase
                let report = try decoder.decode(Report.self, from: Data(outcome.output.utf8))
                let times = [
                    report.toldAtStart, report.resumedFirst, report.told, report.silent, report.resumed,
                    report.resumedAfterBudget,
                ]
                // A second on a machine that does nothing else.
                #expect(times.allSatisfy { $0 < 3 }, "\(report)")
                // What asks for names and addresses.
                #expect(report.bytesWhileWaiting < 10_000, "\(report)")
                // What the kernel's send buffer holds when the budget is spent still goes out; the file has 20 MB.
                #expect(report.spent < report.budget + 9_000_000, "\(report)")
                #expect(report.status == 0 && report.statusAfterBudget == 0 && report.same, "\(report)")
            }
        }
    }
#endif
