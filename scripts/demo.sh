#!/usr/bin/env bash
# The main job, end to end: two streams in a lab while Wi-Fi fails, one steered by the kernel alone and one by this
# library; curl while Wi-Fi fails, alone and under mprun; a live stream while Wi-Fi falls silent; a folder that waits for
# an allowed path; then this machine's own paths, and a connection over the best of them that carries 64 MiB, whose
# checksum must be the same at both ends.
set -euo pipefail
bin=$1
work=$(mktemp -d)
listener=
cleanup() {
    if [ -n "$listener" ]; then kill "$listener" 2> /dev/null || true; fi
    rm -rf "$work"
}
trap cleanup EXIT

cat > "$work/two-paths" <<'END'
link wlan0 wifi rtt=20ms,rate=50mbit
link wwan0 cellular,not-expensive rtt=40ms,rate=50mbit
END
show() {
    echo "== $1"
    "$bin/mplab" run --quiet --scenario "$work/two-paths" -- "$bin/side-by-side" "$2"
    echo
}
# Where labs are forbidden mplab names the setting; the rest works there too.
if "$bin/mplab" run --quiet -- true; then
    show "Two streams of 4 Mbit/s; Wi-Fi (20 ms) falls silent, cellular (40 ms) is there" blackhole
    show "The same, and Wi-Fi's interface goes down" down
    echo "== curl as it is, 8 MB at 4 MB/s; Wi-Fi falls silent after a second: alone, and under mprun"
    cat > "$work/curl" <<'END'
bin=$1 work=$2
for how in "" "$bin/mprun --report"; do
    "$bin/mplab" set wlan0 blackhole=none
    (sleep 1; "$bin/mplab" set wlan0 blackhole=both) &
    echo "-- ${how:+mprun --report }curl"
    rm -f "$work/film"
    $how curl -sS --limit-rate 4M --max-time 12 -o "$work/film" http://server/8000000 || true
    wait
    echo "$(stat -c %s "$work/film" 2> /dev/null || echo 0) of 8000000 bytes"
done
END
    "$bin/mplab" run --quiet --scenario "$work/two-paths" -- bash "$work/curl" "$bin" "$work"

    # Media packets without a picture: what counts here is who carries them, and whether the viewer has to wait.
    echo "== Ten seconds of a live stream; after 4 s Wi-Fi falls silent: mpstream --report"
    { cat "$work/two-paths"; echo "at 4s wlan0 blackhole"; } > "$work/walk"
    server="python3 '$(dirname "$0")/hls-server.py' > /dev/null"
    url="http://server:8080/made/master.m3u8"
    "$bin/mplab" run --quiet --scenario "$work/walk" --serve "$server" -- bash -c "
        until curl -s -o /dev/null $url; do sleep 0.1; done
        '$bin/mpstream' --verbose --report '$url?live=1&duration=22' 2>&1 > /dev/null | grep -v ' segment [0-9]* of '"
    echo

    echo "== A folder of 40 MB goes to a WebDAV server; Wi-Fi becomes constrained on the way, then falls silent: mpsync --push"
    mkdir "$work/photos"
    for number in 1 2 3 4 5 6 7 8; do head -c 5000000 /dev/urandom > "$work/photos/$number.jpg"; done
    cat > "$work/sync" <<'END'
bin=$1 work=$2
until curl -s -o /dev/null http://server:8080/; do sleep 0.1; done
"$bin/mplab" set wwan0 expensive
(
    sleep 2; "$bin/mplab" set wlan0 constrained
    sleep 1; "$bin/mplab" set wlan0 constrained no
    sleep 2; "$bin/mplab" set wwan0 expensive no; "$bin/mplab" set wlan0 blackhole=both
) &
"$bin/mpsync" --push --verbose "$work/photos" http://server:8080/
wait
(cd "$work/photos" && sha256sum ./*.jpg) | (cd "$work/served" && sha256sum --check --quiet) && echo "the server has the same"
END
    "$bin/mplab" run --quiet --scenario "$work/two-paths" \
        --serve "exec python3 '$(dirname "$0")/dav-server.py' python '$work/served' > /dev/null 2>&1" \
        -- bash "$work/sync" "$bin" "$work"
    echo
fi

echo "== This machine's paths: mppaths"
"$bin/mppaths"

echo
echo "== A listener, and 64 MiB to it: mpconnect --listen, mpconnect --report"
head -c 67108864 /dev/urandom > "$work/sent"
"$bin/mpconnect" --listen 127.0.0.1:0 < /dev/null > "$work/received" 2> "$work/listener" &
listener=$!
for _ in $(seq 100); do
    port=$(sed -n 's/.*listening on .*:\([0-9]*\)$/\1/p' "$work/listener")
    [ -z "$port" ] || break
    sleep 0.1
done
if [ -z "$port" ]; then
    echo "demo: the listener did not start: $(cat "$work/listener")" >&2
    exit 1
fi
"$bin/mpconnect" --report "127.0.0.1:$port" < "$work/sent"
wait "$listener"
listener=
cat "$work/listener"

echo
echo "== SHA-256 of what was sent, and of what arrived"
sent=$(sha256sum < "$work/sent" | cut -d' ' -f1)
received=$(sha256sum < "$work/received" | cut -d' ' -f1)
echo "sent      $sent"
echo "received  $received"
if [ "$sent" != "$received" ]; then
    echo "demo: the checksums differ" >&2
    exit 1
fi
echo "the same: every byte arrived"
