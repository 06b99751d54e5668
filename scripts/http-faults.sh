#!/usr/bin/env bash
# Transfers by MultipathHTTP in the lab, while links go bad and the client is killed:
#
#     scripts/http-faults.sh [FOLDER OF THE PROGRAMS [CONGESTION CONTROL …]]
#
# 100 MB through ten faults (with MPTCP, and over TCP alone), downloads and uploads that are killed 50 times. Each has to come whole,
# by SHA-256. How many bytes of TCP's payload came twice is printed for those through faults: at the client's interfaces, or the
# server's. Those through faults are run once for each congestion control that is named (bbr, cubic, reno), at the sending end, or with the
# kernel's own. It takes some minutes. `swift build --product httpprobe` and `--product mplab` make the programs.
set -u
programs=$(cd "${1:-.build/debug}" && pwd)
senders=("${@:2}")
[ ${#senders[@]} -gt 0 ] || senders=("")
export PATH=$programs:$PATH
count=$(cd "$(dirname "$0")/../Benchmarks/mpbench_suite/programs" && pwd)/count.py
export count
failed=0
links=(--wifi rtt=20ms,rate=100mbit,queue=40ms --cellular rtt=40ms,rate=100mbit,queue=40ms)

# check NAME OUTPUT: the last two lines are the digest of what came and of what was to come.
check() {
    mapfile -t last < <(tail -n 2 <<< "$2")
    if [ "${#last[0]}" = 64 ] && [ "${last[0]}" = "${last[1]}" ]; then
        echo "$1: whole; $(grep -E '^(resumed|killed|received|failed|seconds)' <<< "$2" | tr '\n' ' ')"
    else
        echo "$1: NOT WHOLE: $2"
        failed=1
    fi
}

# Ten faults, one after the other, of every kind; each link is well again before the other goes.
faults='
faults() {
    for fault in "wlan0 blackhole" "wwan0 blackhole" "wlan0 carrier off" "wwan0 blackhole=down" "wlan0 blackhole=up" \
        "wlan0 carrier off" "wwan0 carrier off" "wlan0 blackhole=down" "wwan0 blackhole=up" "wlan0 blackhole"; do
        sleep 1
        mplab set $fault > /dev/null
        sleep 1.2
        case $fault in
            *carrier*) mplab set ${fault%% *} carrier on > /dev/null ;;
            *) mplab set ${fault%% *} blackhole=none > /dev/null ;;
        esac
    done
}
# beyond: how many bytes of payload the counts say were received, beyond 100 MB.
beyond() {
    grep "^{" | python3 -c "
import json, sys
beyond = sum(json.loads(line)[\"received\"] for line in sys.stdin) - 100_000_000
print(\"received beyond 100 MB:\", beyond, f\"({beyond / 1e6:.2f} %)\")"
}
'
slow=(--wifi rtt=20ms,rate=35mbit,queue=40ms --cellular rtt=40ms,rate=35mbit,queue=40ms)
download_through_faults() { # SENDER SERVER
    output=$(mplab run --quiet ${1:+--congestion server=$1} $2 "${slow[@]}" -- bash -c "$faults"'
        cd "$(mktemp -d)"
        python3 "$count" wlan0 python3 "$count" wwan0 httpprobe download http://server/100000000 film > counts & probe=$!
        faults & injector=$!
        begun=$(date +%s)
        wait $probe
        echo "seconds $(($(date +%s) - begun))"
        if kill $injector 2> killed; then echo "the download ended before the last fault"; fi
        grep -v "^{" counts
        beyond < counts
        sha256sum < film | cut -c 1-64
        curl -s http://server/sha256/100000000 | cut -c 1-64')
    check "100 MB download, ten faults${2:+, TCP alone}${1:+, $1}" "$output"
}

output=$(mplab run --quiet "${links[@]}" -- bash -c '
    cd "$(mktemp -d)"
    for kill in $(seq 50); do
        httpprobe download http://server/100000000 film & probe=$!
        sleep 0.$((RANDOM % 250 + 100))
        kill -KILL $probe 2>> kills || break
        wait $probe 2>> kills
    done
    echo "killed $kill"
    httpprobe download http://server/100000000 film
    sha256sum < film | cut -c 1-64
    curl -s http://server/sha256/100000000 | cut -c 1-64')
check "100 MB download, killed at random moments" "$output"

upload() { # SENDER KILLS
    kills=$2
    shared=$(mktemp -d)
    export shared
    # The server's interface is counted until the client has ended.
    output=$(mplab run --quiet ${1:+--congestion client=$1} --serve 'httpprobe serve 80 &
        exec python3 "$count" eth0 sh -c "until test -e \"\$shared/over\"; do sleep 0.1; done" > "$shared/counting"' "${slow[@]}" -- bash -c "kills=$kills; $faults"'
        cd "$(mktemp -d)"
        head -c 100000000 /dev/urandom > film
        for _ in $(seq 100); do if curl -s -o /dev/null http://server/; then break; fi; sleep 0.1; done
        if [ $kills = 0 ]; then
            faults & injector=$!
        else
            for kill in $(seq $kills); do
                httpprobe upload film http://server/film & probe=$!
                sleep 0.$((RANDOM % 300 + 200))
                kill -KILL $probe 2>> kills || break
                wait $probe 2>> kills
            done
            echo "killed $kill"
        fi
        httpprobe upload film http://server/film
        if [ $kills = 0 ]; then
            kill $injector 2> killed && echo "the upload ended before the last fault"
            touch "$shared/over"
            for _ in $(seq 100); do if [ -s "$shared/counting" ]; then break; fi; sleep 0.1; done
            beyond < "$shared/counting"
        fi
        sha256sum < film | cut -c 1-64' | awk '/^[0-9a-f]+$/ { digests = digests $0 "\n"; next } { print } END { printf "%s", digests }')
    rm -rf "$shared"
    check "100 MB upload, $([ $kills = 0 ] && echo ten faults || echo killed at random moments)${1:+, $1}" "$output"
}

for sender in "${senders[@]}"; do
    download_through_faults "$sender" ""
    download_through_faults "$sender" --tcp-only-server
    # What the machine allows a server's host it may not allow a client's.
    if mplab run --quiet ${sender:+--congestion client=$sender} -- true; then
        upload "$sender" 0
    else
        echo "100 MB upload, ten faults, $sender: not run"
    fi
done
upload "" 50
exit $failed
