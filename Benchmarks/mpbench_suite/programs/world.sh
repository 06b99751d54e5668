#!/usr/bin/env bash
# A network to watch, in network namespaces of its own: world.sh WHAT ARGUMENTS…
#
# WHAT is one of the functions below; each prints lines for paths.py. `bench` in the environment is mpbench-paths.
# Needs iproute2, util-linux and awk. Nothing outside is changed.
set -euo pipefail

if [ -z "${INSIDE:-}" ]; then
    export INSIDE=1
    exec unshare --map-root-user --net --mount --pid --fork --kill-child bash "$(realpath "$0")" "$@"
fi

mount -t proc proc /proc
# Read-only: NetworkManager takes that for a container, and does not wait for udev to name devices.
mount -t sysfs -o ro sysfs /sys
mount -t tmpfs tmpfs /run
mkdir /run/world
cd /run/world
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

# How long 11 processes take to start up: startup WORDS…
startup() {
    for _ in $(seq 11); do "$bench" startup | sed "s|^|$* |"; done
}

# With 10 routes and with many more of each kind.
many_routes() {
    routes 10 4 add 'via 192.0.2.1 dev eth0' | ip -batch -
    startup none
    for case in '4 table 100' '4 proto bgp' '4 proto boot' '6 proto bgp'; do
        set -- $case
        gateway=192.0.2.1
        [ "$1" = 4 ] || gateway=2001:db8::1
        routes "$count" "$1" replace "via $gateway dev eth0 $2 $3" | ip "-$1" -batch -
        startup "IPv$1,$2,$3"
        ip "-$1" route flush $([ "$2" = table ] && echo table "$3" || echo root "$([ "$1" = 4 ] && echo 8.0.0.0/5 || echo 2001:1000::/20)")
    done
}

many_interfaces() {
    for i in $(seq 999); do
        echo "link add v$i type veth peer name w$i"
        echo "address add 198.51.100.$((i % 250 + 1))/32 dev v$i"
        echo "link set v$i up"
        echo "address add 203.0.113.$((i % 250 + 1))/32 dev w$i"
        echo "link set w$i up"
    done | ip -batch -
    startup interfaces
}

# latency COUNT PEER…
latency() {
    ip address flush dev eth0 scope global
    ip address add 192.0.2.2/24 dev eth0
    ip route add default via 192.0.2.1 dev eth0 metric 100
    "$bench" latency "$@"
}

foreign() {
    { routes 200000 4 add 'via 192.0.2.1 dev eth0 proto bgp'; routes 200000 4 del 'via 192.0.2.1 dev eth0 proto bgp'; } > batch
    beside "$@"
}

# storm PAIRS PEER…
storm() {
    for _ in $(seq $(($1 / 500))); do
        for i in $(seq 500); do
            echo "link add v$i group 9 type veth peer name w$i"
            echo "link set v$i up"
            echo "link set w$i up"
        done
        echo "link del group 9"
    done > batch
    shift
    beside "$@"
}

# What the changes of a batch cost us, and a peer beside us: seconds on a CPU.
beside() {
    "$@" > /dev/null &
    peer=$!
    sleep 1
    "$bench" during ip -batch batch
    cpu $peer
    kill $peer
}

# cpu PID: user and system time in seconds, without its children's.
cpu() {
    awk -v hertz="$(getconf CLK_TCK)" '{ sub(/.*\) /, ""); print ($12 + $13) / hertz }' "/proc/$1/stat"
}

# From start to the first line of a program that then stays, in milliseconds; and KiB resident: first_line COMMAND…
first_line() {
    for _ in $(seq 7); do
        mkfifo lines
        begun=$(date +%s%N)
        "$@" > lines &
        program=$!
        exec 5< lines
        read -r -u 5 _
        now=$(date +%s%N)
        resident $program "$begun" "$now"
        kill $program
        wait $program || true
        exec 5<&-
        rm lines
    done
}

# resident PID BEGUN NOW
resident() {
    echo "$((($3 - $2) / 1000))" "$(awk '/^VmRSS/ { print $2 }' "/proc/$1/status")"
}

# The same of NetworkManager, with a message bus of its own: until it says that its start-up is complete.
network_manager() {
    for place in /etc/NetworkManager /var/lib/NetworkManager; do mount -t tmpfs tmpfs $place; done
    # It can switch a machine's radios off; these are not ours.
    [ ! -e /dev/rfkill ] || mount --bind /dev/null /dev/rfkill
    mkdir /etc/NetworkManager/system-connections
    export DBUS_SYSTEM_BUS_ADDRESS="unix:path=$PWD/bus"
    cat > bus.conf <<END
<busconfig>
  <type>system</type>
  <listen>$DBUS_SYSTEM_BUS_ADDRESS</listen>
  <auth>EXTERNAL</auth>
  <policy context="default">
    <allow user="*"/> <allow own="*"/> <allow send_type="method_call"/>
    <allow send_destination="*"/> <allow receive_sender="*"/>
  </policy>
</busconfig>
END
    printf '[main]\nplugins=keyfile\nauth-polkit=false\ndns=none\nno-auto-default=*\nhostname-mode=none\n' > manager.conf
    dbus-daemon --config-file=bus.conf --nofork --nopidfile 2> /dev/null &
    for _ in $(seq 250); do [ -S bus ] && break; sleep 0.02; done
    for _ in $(seq 3); do
        begun=$(date +%s%N)
        NetworkManager --config=manager.conf --config-dir=/run/world/none --system-config-dir=/run/world/none \
            --intern-config=/run/world/intern.conf --debug --log-level=INFO 2> log &
        program=$!
        for _ in $(seq 1000); do grep -q 'startup complete' log && break; sleep 0.01; done
        resident $program "$begun" "$(date +%s%N)"
        kill $program
        wait $program || true
    done
}

"$@"
