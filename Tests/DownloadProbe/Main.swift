// download-probe URL > FILE
//
// Downloads a file by HTTP over the best path this machine has, and goes on from the same byte over another
// one as soon as that path fails, or a better one is there. What happens is told on standard error.

import Foundation
import Multipath
import MultipathNIO
import NIOCore

@main
enum Main {
    static func main() async {
        guard CommandLine.arguments.count == 2, let url = URL(string: CommandLine.arguments[1]),
            url.scheme == "http", let host = url.host
        else {
            tell("usage: download-probe http://HOST[:PORT]/PATH > FILE")
            exit(2)
        }
        do {
            let path = (url.path.isEmpty ? "/" : url.path) + (url.query.map { "?\($0)" } ?? "")
            let download = Download(host: host, port: url.port ?? 80, target: path)
            tell(try await download.run())
        } catch {
            tell("\(error)")
            exit(1)
        }
    }

    static func tell(_ text: String) {
        FileHandle.standardError.write(Data("download-probe: \(text)\n".utf8))
    }
}
