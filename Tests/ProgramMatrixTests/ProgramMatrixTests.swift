import Foundation
import TestSupport
import Testing

/// Programs that know nothing of paths, alone and under mprun: as a user without rights, with mpathd, between two networks.
@Suite(
    "Programs under mprun", .needsNamespaces, .needsRoot,
    .needs(
        "ip", "unshare", "nft", "setpriv", "curl", "wget", "python3", "node", "perl", "git", "ssh", "sshd",
        "scp",
        "ssh-keygen", "rsync", "ffmpeg", "clang"),
    .serialized)
struct ProgramMatrixTests {
    /// What `scripts/setup.sh test` installs of PyPI beside this build: Go.
    private static let tools = URL(fileURLWithPath: Program.products).deletingLastPathComponent()
        .deletingLastPathComponent().appendingPathComponent("programs/go/bin").path

    @Test("each comes as MPTCP, says the same and ends the same as without")
    func matrix() async throws {
        let fixtures = try #require(Bundle.module.url(forResource: "Fixtures", withExtension: nil))
        let result = try await TwoPaths.run(
            """
            export MPATHD_SOCKET=$PWD/mpathd.sock PATH=$PATH:\(Self.tools)
            RUNTIME_DIRECTORY=$PWD "$bin/mpathd" --listen $MPATHD_SOCKET > /dev/null 2> daemon &
            wait_for "mpathd" "$bin/mpathd" --status
            user_number=65534 host=203.0.113.1 host6=2001:db8:ff::1
            as='setpriv --reuid 65534 --regid 65534 --clear-groups --inh-caps=-all --ambient-caps=-all --bounding-set=-all'
            launcher="$bin/mprun --mode handover --"
            chmod 755 .
            source \(fixtures.path)/matrix.sh
            programs_begin \(fixtures.path) $PWD/programs
            programs_run
            """, as: .root, within: .seconds(240))
        #expect(result.status == 0, "\(result.errors)")
        #expect(result.outputText == Self.lines, "\(result.errors)")
    }

    private static let lines = """
        curl: mptcp, the same
        curl, a file that is not there: mptcp, the same
        curl, a port without a server: no connection, the same
        wget: mptcp, the same
        Python's urllib: mptcp, the same
        Python's asyncio: mptcp, the same
        Python's requests: mptcp, the same
        node: mptcp, the same
        perl: mptcp, the same
        bash: mptcp, the same
        a static program of Go: mptcp, the same
        git over http: mptcp, the same
        ssh: mptcp, the same
        scp: mptcp, the same
        rsync over ssh: mptcp, the same
        ffmpeg: mptcp, the same
        \(Program.find("java") == nil ? "" : "Java's HttpClient: mptcp, the same\n")blocking: mptcp, the same
        nonblocking: mptcp, the same
        epoll-first: mptcp, the same
        dup: mptcp, the same
        threads: mptcp, the same
        child: mptcp, the same
        uring: mptcp, the same
        a socket that io_uring made: tcp, the same
        IPv6: mptcp, the same
        a shell's chain of programs: mptcp, the same

        """
}
