import Multipath
import MultipathNIO

func watchPath(_ film: Film) async throws {
    // snippet
    let connection = try await MultipathConnection.connect(host: "media.example", port: 443) {
        $0.allowsConstrainedPaths = false
    }
    print(connection.currentPath.map { "\($0)" } ?? "")  // wlan0 (wifi)
    for await event in connection.events {
        switch event {
        case .pathChanged(let path): await film.savesData(path.isConstrained)
        // wlan0 is not allowed any more: constrained; wwan0 is
        case .pathNotAllowed(let refusal): print(refusal)
        default: break
        }
    }
    // end
}

func endWhenRefused() async throws {
    // snippet
    let sync = try await MultipathConnection.connect(host: "backup.example", port: 443) {
        $0.allowsExpensivePaths = false
        $0.whenPathIsRefused = .close
    }
    // end
    _ = sync
}

actor Film {
    func savesData(_ isSaving: Bool) {}
}
