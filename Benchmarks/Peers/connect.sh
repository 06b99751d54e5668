#!/bin/sh
# Connects RUNS times with curl and prints its own time_connect in milliseconds; "-" for an attempt that made no
# connection within LIMIT seconds (10).
#   connect.sh RUNS HOST PORT
for _ in $(seq "$1"); do
    curl --silent --max-time "${LIMIT:-10}" --output /dev/null --write-out '%{time_connect}\n' "http://$2:$3/1" |
        awk '{ if ($1 > 0) printf "%.2f\n", $1 * 1000; else print "-" }'
    sleep 0.03
done
