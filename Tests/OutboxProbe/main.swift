// A process with an outbox, which its test kills: outbox-probe FILE PORT COUNT FROM SEED
//
// Submits the requests FROM ..< COUNT, which must arrive, a few at a time, and says "submitted N" after each few; sends
// them to 127.0.0.1:PORT while its scripted paths come and go; and says "empty" when all have arrived.
#if Outbox
    import Foundation

    do {
        try await Probe(CommandLine.arguments).run()
    } catch {
        FileHandle.standardError.write(Data("outbox-probe: \(error)\n".utf8))
        exit(1)
    }
#endif
