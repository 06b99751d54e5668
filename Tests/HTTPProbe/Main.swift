// A client that tests start in a lab:
//
//   httpprobe requests URL SECONDS RATE        asks RATE times a second, each without waiting for the one before
//   httpprobe segments URL COUNT PAUSE-MS      asks one after the other
//   httpprobe download URL FILE                downloads into a file
//   httpprobe upload FILE URL                  uploads a file, and prints the server's answer
//   httpprobe serve PORT                       a server for that, of NIOResumableUpload: it answers with the SHA-256
//   httpprobe lowdata URL SMALL COUNT PAUSE-MS asks for the one or the other
//   httpprobe flood URL COUNT PARALLEL         as many requests as that, so many at a time
//
// Before the words: --ca FILE trusts those authorities, --h1 offers HTTP/1.1 alone, --wait waits for a path.

#if HTTP
    import Foundation
    import LinuxNet
    import Multipath
    import MultipathHTTP
    import NIOCore
    import NIOSSL

    @main
    enum Main {
        static func main() async throws {
            var words = Array(CommandLine.arguments.dropFirst())
            var configuration = MultipathHTTPClient.Configuration()
            while let word = words.first, word.hasPrefix("--") {
                words.removeFirst()
                switch word {
                case "--ca": configuration.tls.trustRoots = .file(words.removeFirst())
                case "--h1": configuration.protocols = [.http1]
                case "--wait": configuration.options.waitsForConnectivity = true
                default: fatalError("no option \(word)")
                }
            }
            if words[0] == "serve" { return try await UploadServer.run(port: Int(words[1])!) }
            let client = MultipathHTTPClient(configuration: configuration)
            let probe = Probe(client: client)
            switch words[0] {
            case "requests": try await probe.requests(words[1], Int(words[2])!, Int(words[3])!)
            case "segments": try await probe.segments(words[1], Int(words[2])!, Int(words[3])!)
            case "download": try await probe.download(words[1], words[2])
            case "upload": try await probe.upload(words[1], words[2])
            case "lowdata": try await probe.lowData(words[1], words[2], Int(words[3])!, Int(words[4])!)
            case "flood": try await probe.flood(words[1], Int(words[2])!, Int(words[3])!)
            default: fatalError("no such probe")
            }
            await client.close()
        }
    }

    private struct Probe: Sendable {
        let client: MultipathHTTPClient

        /// Prints one line for each request: when it began, how long it took, over which path, by what.
        func requests(_ url: String, _ seconds: Int, _ rate: Int) async throws {
            let begun = MonotonicTime.now
            let results = Locked(
                [(at: Double, took: Double, path: String, moves: Int, retries: Int, failure: String)]())
            await withDiscardingTaskGroup { group in
                for number in 0..<(seconds * rate) {
                    let due = begun.advanced(by: .milliseconds(number * 1000 / rate))
                    let wait = MonotonicTime.now.duration(to: due)
                    if wait > .zero { try? await Task.sleep(for: wait) }
                    group.addTask {
                        let start = MonotonicTime.now
                        var (path, retries, failure, moves) = ("none", 0, "", 0)
                        do {
                            let (response, _) = try await client.get(url, collectUpTo: 1 << 20)
                            let metrics = response.metrics
                            path = metrics.path?.id.name ?? "none"
                            (retries, moves) = (metrics.retryCount, metrics.moves.count)
                        } catch {
                            failure = "\(error)"
                        }
                        let (at, took) = (begun.duration(to: start), start.duration(to: .now))
                        let line = (at.inMilliseconds, took.inMilliseconds, path, moves, retries, failure)
                        results.withLock { $0.append(line) }
                    }
                }
            }
            let sorted = results.withLock { $0 }.sorted { $0.at < $1.at }
            for result in sorted {
                print(
                    "request \(Int(result.at)) \(Int(result.took)) \(result.path) moves \(result.moves) retries \(result.retries) \(result.failure)"
                )
            }
            print("longest \(Int(sorted.map(\.took).max() ?? 0))")
            print("failed \(sorted.count { !$0.failure.isEmpty })")
            print("retried \(sorted.count { $0.retries > 0 })")
            print("last \(sorted.last?.path ?? "none")")
        }

        func segments(_ url: String, _ count: Int, _ pause: Int) async throws {
            for number in 0..<count {
                let start = MonotonicTime.now
                do {
                    let (response, body) = try await client.get(url, collectUpTo: 1 << 30)
                    let metrics = response.metrics
                    print(
                        "segment \(number) \(Int(start.duration(to: .now).inMilliseconds)) \(metrics.path?.id ?? "none")",
                        "\(body.readableBytes) reused \(metrics.isReusedConnection) moves \(metrics.moves.count)",
                        "began \(metrics.establishment?.path ?? "")")
                } catch {
                    print("segment \(number) failed \(error)")
                }
                try await Task.sleep(for: .milliseconds(pause))
            }
        }

        func download(_ url: String, _ file: String) async throws {
            let last = Locked((resumed: Int64(0), transferred: Int64(0), total: Int64(0)))
            do {
                try await client.download(url, to: file) { progress in
                    last.withLock { $0 = (progress.resumed, progress.transferred, progress.total ?? 0) }
                }
            } catch {
                print("failed \(error)")
                exit(1)
            }
            let (resumed, transferred, total) = last.withLock { $0 }
            print("resumed \(resumed) transferred \(transferred) total \(total)")
        }

        func upload(_ file: String, _ url: String) async throws {
            let last = Locked((resumed: Int64(0), transferred: Int64(0)))
            do {
                let (_, body) = try await client.upload(file, to: url) { progress in
                    last.withLock { $0 = (progress.resumed, progress.transferred) }
                }
                let (resumed, transferred) = last.withLock { $0 }
                print("resumed \(resumed) transferred \(transferred)")
                print(String(buffer: body))
            } catch {
                print("failed \(error)")
                exit(1)
            }
        }

        func lowData(_ url: String, _ small: String, _ count: Int, _ pause: Int) async throws {
            for _ in 0..<count {
                do {
                    let body = try await client.data(url, lowData: small)
                    print("got \(body.readableBytes)")
                } catch {
                    print("failed \(error)")
                }
                try await Task.sleep(for: .milliseconds(pause))
            }
        }

        func flood(_ url: String, _ count: Int, _ parallel: Int) async throws {
            let start = MonotonicTime.now
            let (bytes, failures, names) = (Locked(0), Locked(0), Locked(Set<String>()))
            // What every other answer has to be like.
            let first = try await client.get(url, collectUpTo: 1 << 30).body
            try await withThrowingTaskGroup(of: Void.self) { group in
                func add() {
                    group.addTask {
                        do {
                            let (response, body) = try await client.get(url, collectUpTo: 1 << 30)
                            guard response.status == .ok, body == first else {
                                throw Different()
                            }
                            bytes.withLock { $0 += body.readableBytes }
                            names.withLock { _ = $0.insert(response.metrics.protocolName.rawValue) }
                        } catch {
                            if failures.withLock({ count in
                                count += 1
                                return count == 1
                            }) {
                                print("error \(error)")
                            }
                        }
                    }
                }
                for number in 0..<count {
                    if number >= parallel { try await group.next() }
                    add()
                }
                try await group.waitForAll()
            }
            let seconds = start.duration(to: .now).inSeconds
            var usage = rusage()
            getrusage(__rusage_who_t(RUSAGE_SELF.rawValue), &usage)
            let processor =
                Double(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec)
                + Double(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) / 1e6
            print(
                "flood \(count) in \(seconds) s: \(Int(Double(count) / seconds)) a second,",
                "\(Int(processor / Double(count) * 1e6)) us of processor each, \(bytes.withLock { $0 }) bytes,",
                "failed \(failures.withLock { $0 }), by \(names.withLock { $0.sorted() }), \(usage.ru_maxrss) kB"
            )
        }
    }
    /// An answer is not like the first.
    private struct Different: Error {}
#else
    @main
    enum Main {
        static func main() { print("built without the trait HTTP") }
    }
#endif
