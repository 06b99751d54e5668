#!/usr/bin/env bash
# Runs a command in a host that a veth pair joins to another one, where mpbench-plain serves:
#
#   two_hosts.sh MPBENCH-PLAIN COMMAND…
#
# The command finds the other host at 198.51.100.2, and $PEER_PROCESS is a process in it. Nothing outside of the
# network namespaces that it makes is touched, and all it started ends with it.
set -euo pipefail
if [ "${TWO_HOSTS_INSIDE:-}" = "" ]; then
    TWO_HOSTS_INSIDE=1 exec unshare --map-root-user --net --mount --pid --fork --kill-child bash "$0" "$@"
fi
unset TWO_HOSTS_INSIDE
mount -t proc proc /proc
mount -t sysfs sysfs /sys
plain=$1
shift

own=$(readlink /proc/self/ns/net)
unshare --net sleep infinity &
export PEER_PROCESS=$!
for _ in $(seq 500); do
    [ "$(readlink /proc/$PEER_PROCESS/ns/net)" != "$own" ] && break
    sleep 0.01
done
in_peer() { nsenter --net=/proc/$PEER_PROCESS/ns/net "$@"; }

# Congestion control is inherited when a socket is made, so it comes before the server. Reno is what every namespace
# may choose; with BBR, which some machines begin with, MPTCP's sender rests for 200 ms at a time (Linux 6.18).
calm='echo reno > /proc/sys/net/ipv4/tcp_congestion_control
for name in accept_dad accept_ra router_solicitations; do echo 0 > /proc/sys/net/ipv6/conf/default/$name; done
# Thousands of connections one after the other each leave their port behind for a minute.
echo 1024 65535 > /proc/sys/net/ipv4/ip_local_port_range
ip link set lo up'
sh -c "$calm"
in_peer sh -c "$calm"
ip link add eth0 type veth peer name eth0 netns $PEER_PROCESS
ip address add 198.51.100.1/24 dev eth0
in_peer ip address add 198.51.100.2/24 dev eth0
ip link set eth0 up
in_peer ip link set eth0 up
# What has no default route is no path to this library.
ip route add default via 198.51.100.2
in_peer "$plain" serve &
for _ in $(seq 500); do
    in_peer ss -Htln sport = :19 | grep -q . && break
    sleep 0.01
done
exec "$@"
