/// What tests' bash scripts share.
public enum ShellFunctions {
    /// `wait_for WHAT COMMAND…` waits until a command succeeds; after a minute it says for what, and ends the script with 99.
    public static let waitFor = #"""
        wait_for() {
            local what=$1; shift
            for _ in $(seq 3000); do if "$@" > /dev/null 2>&1; then return 0; fi; sleep 0.02; done
            echo "gave up waiting for $what" >&2; exit 99
        }

        """#

    /// How long a script may take: longer than it waits for one thing, or it never says for what. A sanitizer's programs are some
    /// five times slower, a busy machine's as well, and there they meet.
    public static let patience = Duration.seconds(Requirement.isSanitized ? 240 : 120)
}
