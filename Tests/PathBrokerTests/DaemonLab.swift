import TestSupport

/// A lab with the daemon as an administrator's service, with CAP_NET_ADMIN alone; and clients of another user without any right.
enum DaemonLab {
    /// Starts the daemon; `$user` runs a command as a user without rights.
    private static let start = """
        export MPATHD_SOCKET=$PWD/mpathd.sock
        # First in line on a busy machine: a client waits for an answer for 20 ms, then it connects without the daemon.
        service='nice -n -15 setpriv --reuid 65533 --regid 65533 --clear-groups --inh-caps=-all,+net_admin --ambient-caps=-all,+net_admin --bounding-set=-all,+net_admin'
        user='nice -n -15 setpriv --reuid 65534 --regid 65534 --clear-groups --inh-caps=-all --ambient-caps=-all --bounding-set=-all'
        chmod 777 .
        mkdir -p journal
        chmod 700 journal
        chown 65533 journal
        start_daemon() {
            RUNTIME_DIRECTORY=$PWD/journal $service "$bin/mpathd" --listen $MPATHD_SOCKET > /dev/null 2>> daemon &
            daemon=$!
            wait_for "mpathd" "$bin/mpathd" --status
        }
        start_daemon
        # Of a daemon that was killed: what runs in a pipeline can't wait for a process that its shell started.
        is_gone() { ! "$bin/mpathd" --status; }

        """

    static func run(_ script: String) async throws -> Program.Result {
        try await TwoPaths.run(start + script, as: .root)
    }

    /// A conversation in whose middle something happens.
    static func conversation(_ meanwhile: String) -> String {
        """
        server "$bin/mpconnect" --listen 203.0.113.1:7000 < <(wait_for "the end" grep -q two got) > got 2> listener &
        listener=$!
        wait_for "the listener" grep listening listener
        {
            echo one; wait_for "the first half" grep -q one got
            \(meanwhile)
            echo two; wait_for "the second half" grep -q two got
        } | MULTIPATH_INTERFACES='wlan0=wifi wwan0=cellular,not-expensive' $user "$bin/mpconnect" -v --report 203.0.113.1:7000 2> events
        wait $listener
        cat got events /proc/sys/net/mptcp/path_manager >&2

        """
    }
}
