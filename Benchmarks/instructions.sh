#!/usr/bin/env bash
# How many instructions connecting and closing takes in user space, beside SwiftNIO's ClientBootstrap:
#
#   instructions.sh FOLDER-OF-BUILT-COMMANDS [WHO]…
#
# FOLDER holds mplab; WHO is explained in mpbench-instructions, all without one. A release build is made first.
# Each figure is the difference between 1,100 and 100 connections, divided by 1,000, so that starting up and
# learning don't count: of connections to an address, and to a name in /etc/hosts. Needs valgrind; nothing outside
# of the lab's namespaces is changed.
set -euo pipefail
mplab=$(realpath "$1")/mplab
shift
cd "$(dirname "$0")"
swift build -c release --product mpbench-instructions > /dev/null
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
# Valgrind stumbles over the debug information of a newer compiler, and needs none.
bench=$folder/mpbench-instructions
strip --strip-debug -o "$bench" "$(swift build -c release --show-bin-path)/mpbench-instructions"
few=100
many=1100

# instructions WHO HOST COUNT
instructions() {
    "$mplab" run --quiet --wifi rtt=1ms --cellular rtt=1ms -- \
        timeout 300 valgrind --tool=callgrind --callgrind-out-file="$folder/out" \
        "$bench" "$1" "$3" "$2" 80 > "$folder/log" 2>&1 || { cat "$folder/log" >&2; exit 1; }
    awk '/^(totals|summary):/ { print $2; exit }' "$folder/out"
}

whos=("$@")
[ $# -gt 0 ] || whos=(nio nio-mptcp ours-tcp ours channel-tcp channel)
printf '%-14s%16s%16s\n' 'per connection' 'to an address' 'to a name'
for who in "${whos[@]}"; do
    printf '%-14s' "$who"
    for host in 203.0.113.10 server; do
        more=$(instructions "$who" "$host" $many)
        less=$(instructions "$who" "$host" $few)
        printf '%16d' $(((more - less) / (many - few)))
    done
    echo
done
