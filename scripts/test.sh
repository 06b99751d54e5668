#!/usr/bin/env bash
# All tests, in two processes side by side: a test in a lab mostly waits for the lab's clock. Each process runs its tests
# one after the other, because many of them look at what their own process holds. Both lines that the test runner ends
# with are printed once more at the end.
#   scripts/test.sh OPTIONS…    (options of `swift test`, among them the traits)
set -euo pipefail
cd "$(dirname "$0")/.."

# The targets whose tests run in labs. All others are the second process's.
labs='^(NetworkLabTests|EndToEndTests|MultipathHTTPTests)\.'

swift build --build-tests "$@"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
# Some tests act as another user there.
chmod 755 "$work"

# Runs the tests that the options after the name choose.
part() {
    local name=$1
    shift
    mkdir "$work/$name"
    # The build folder's lock would make the second process wait for the first.
    TMPDIR=$work/$name swift test --skip-build --ignore-lock --no-parallel --disable-xctest "$@" 2>&1 |
        tee "$work/$name.log"
}

status=0
part labs --filter "$labs" "$@" &
labs_process=$!
part others --skip "$labs" "$@" || status=$?
wait "$labs_process" || status=$?

for name in labs others; do
    # A process that found no test at all, or that ended before its tests did, has no such line.
    grep -a 'Test run with' "$work/$name.log" | tail -n 1 || status=1
done
exit "$status"
