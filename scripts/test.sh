#!/usr/bin/env bash
# All tests, in three processes side by side: a test in a lab mostly waits for the lab's clock. Each process runs its tests
# one after the other, because many of them look at what their own process holds. The lines that the test runner ends
# with are printed once more at the end.
#   scripts/test.sh OPTIONS…    (options of `swift build`, among them the traits)
# LEFT_OUT: names of targets whose tests are not run, with | between them.
set -euo pipefail
cd "$(dirname "$0")/.."

# What each process tests; the third has all other targets. They take about as long as each other.
library='^(EndToEnd|MultipathService|MultipathTesting)Tests\.'
programs='^(NetworkLab|MultipathHTTP|Command|HLSClient)Tests\.'

tests=$(scripts/swift.sh build --show-bin-path "$@")/swift-multipathPackageTests.xctest
scripts/swift.sh build --build-tests "$@"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
# Some tests act as another user there.
chmod 755 "$work"

# Runs the tests that the options after the name choose, and shows what they print as it comes. To a file, because the
# test runner colours what it writes to a pipe.
processes=()
part() {
    local name=$1
    shift
    mkdir "$work/$name"
    # Before what writes it and what reads it.
    : > "$work/$name.log"
    # By its own name, and not by `swift test`, of which only one at a time may use the build folder.
    TMPDIR=$work/$name "$tests" --testing-library swift-testing --no-parallel "$@" \
        ${LEFT_OUT:+--skip "^($LEFT_OUT)\."} > "$work/$name.log" 2>&1 &
    processes+=($!)
    tail -n +1 -f --pid=$! "$work/$name.log" &
}

part library --filter "$library"
part programs --filter "$programs"
part others --skip "$library" --skip "$programs"
status=0
for process in "${processes[@]}"; do
    wait "$process" || status=$?
done
wait

for name in library programs others; do
    # A process that found no test at all, or that ended before its tests did, has no such line.
    grep -a 'Test run with' "$work/$name.log" | tail -n 1 || status=1
done
exit "$status"
