#!/usr/bin/env bash
# A thousand connections of one process in a lab, with a fault every few seconds: see Tests/Soak/Main.swift.
#
#   scripts/soak.sh FOLDER SECONDS [GAP]     FOLDER holds mplab and soak
set -euo pipefail
folder=$1 seconds=$2 gap=${3:-5}
scenario=$(mktemp)
trap 'rm -f "$scenario"' EXIT
cat > "$scenario" <<'END'
link wlan0 wifi rtt=20ms,rate=200mbit
link wwan0 cellular,not-expensive rtt=30ms,rate=200mbit
END
"$folder/mplab" run --quiet --scenario "$scenario" -- "$folder/soak" --seconds "$seconds" --gap "$gap"
