import Foundation
import Multipath
import MultipathNIO
import MultipathService
import NIOCore

func follow(_ connection: MultipathConnection) async throws {
    // snippet
    for await event in connection.events { print(event) }
    let report = connection.transferReport()
    for part in report.paths {
        print(part.path, part.bytesSent, part.bytesReceived, part.smoothedRTT)
    }
    // end
}

func encode(_ report: EstablishmentReport) throws {
    // snippet
    print(report.text)  // the same in words
    print(String(decoding: try JSONEncoder().encode(report), as: UTF8.self))
    // end
}

#if Service
    func observe(_ group: any EventLoopGroup) {
        // snippet
        let connector = Connector(observers: [ConnectionMetrics(), ConnectionTracing()])
        let bootstrap = MultipathBootstrap(group: group, connector: connector)
        // end
        _ = bootstrap
    }
#endif

func inspect(_ channel: any Channel) async throws {
    // snippet
    print(try await ChannelInspection(of: channel))
    // end
}
