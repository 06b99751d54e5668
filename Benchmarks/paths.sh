#!/usr/bin/env bash
# Measures the path monitor, in network namespaces of its own: paths.sh [startup|latency|foreign|storm]…, all without
# an argument. Needs iproute2, util-linux and awk; a release build is made first. Nothing outside is changed.
set -euo pipefail
cd "$(dirname "$0")"

if [ -z "${INSIDE:-}" ]; then
    swift build -c release --product mpbench-paths > /dev/null
    bench=$(swift build -c release --show-bin-path)/mpbench-paths
    measures=("$@")
    [ $# -gt 0 ] || measures=(startup latency foreign storm)
    for measure in "${measures[@]}"; do
        INSIDE=1 bench=$bench unshare --map-root-user --net --mount --pid --fork --kill-child \
            bash "$PWD/paths.sh" "$measure"
    done
    exit
fi

mount -t proc proc /proc
mount -t sysfs sysfs /sys
mount -t tmpfs tmpfs /run
cd /run
ip link set lo up
ip link add eth0 type veth peer name far0
ip address add 192.0.2.2/24 dev eth0
ip address add 2001:db8::2/64 dev eth0 nodad
ip link set eth0 up
ip link set far0 up
ip route add default via 192.0.2.1 dev eth0 metric 100
ip -6 route add default via 2001:db8::1 dev eth0 metric 100
sysctl -qw net.ipv6.route.max_size=4000000

# Duplicate address detection ends, so that nothing changes by itself any more.
for _ in $(seq 100); do
    ip -6 address show tentative | grep -q inet6 || break
    sleep 0.1
done

# IPv4 or IPv6 routes, as `ip -batch` reads them: routes COUNT FAMILY COMMAND WHAT-FOLLOWS
routes() {
    awk -v count="$1" -v family="$2" -v command="$3" -v rest="$4" 'BEGIN {
        for (i = 0; i < count; i++)
            if (family == 4) printf "route %s %d.%d.%d.0/24 %s\n", command, 11 + int(i / 65536), int(i / 256) % 256, i % 256, rest
            else printf "route %s 2001:%x:%x::/48 %s\n", command, 4096 + int(i / 65536), i % 65536, rest
    }'
}

# The median of 15 processes that start up: milliseconds, those of CPU, KiB.
median() {
    for _ in $(seq 15); do "$bench" startup; done > runs
    awk '{ print $1 }' runs | sort -n | sed -n 8p > time
    awk '{ print $2 }' runs | sort -n | sed -n 8p > cpu
    awk '{ print $3 }' runs | sort -n | sed -n 8p > memory
    echo "$(cat time) ms ($(cat cpu) ms of CPU), worst $(awk '{ print $1 }' runs | sort -n | tail -n 1) ms; $(cat memory) KiB resident; primary $(tail -n 1 runs | cut -d ' ' -f 6-)"
}

startup() {
    routes 10 4 add 'via 192.0.2.1 dev eth0' | ip -batch -
    echo "start-up with 10 routes: $(median)"
    for case in '4 table 100' '4 proto bgp' '4 proto boot' '6 table 100' '6 proto bgp'; do
        set -- $case
        gateway=192.0.2.1
        [ "$1" = 4 ] || gateway=2001:db8::1
        routes 500000 "$1" replace "via $gateway dev eth0 $2 $3" | ip "-$1" -batch -
        echo "start-up with 500,000 more IPv$1 routes ($2 $3): $(median)"
        ip "-$1" route flush $([ "$2" = table ] && echo table "$3" || echo root "$([ "$1" = 4 ] && echo 8.0.0.0/5 || echo 2001:1000::/20)")
    done
    for i in $(seq 999); do
        echo "link add v$i type veth peer name w$i"
        echo "address add 198.51.100.$((i % 250 + 1))/32 dev v$i"
        echo "link set v$i up"
        echo "address add 203.0.113.$((i % 250 + 1))/32 dev w$i"
        echo "link set w$i up"
    done | ip -batch -
    echo "start-up with 2,000 interfaces: $(median)"
}

latency() {
    ip address flush dev eth0 scope global
    ip address add 192.0.2.2/24 dev eth0
    ip route add default via 192.0.2.1 dev eth0 metric 100
    "$bench" latency 4000
}

foreign() {
    { routes 200000 4 add 'via 192.0.2.1 dev eth0 proto bgp'; routes 200000 4 del 'via 192.0.2.1 dev eth0 proto bgp'; } > batch
    echo "400,000 changes of other routes: $("$bench" during ip -batch batch)"
}

storm() {
    for _ in $(seq 20); do
        for i in $(seq 500); do
            echo "link add v$i group 9 type veth peer name w$i"
            echo "link set v$i up"
            echo "link set w$i up"
        done
        echo "link del group 9"
    done > batch
    echo "10,000 veth pairs added and removed: $("$bench" during ip -batch batch)"
}

"$1"
