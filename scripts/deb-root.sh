#!/usr/bin/env bash
# Tries a package in a fresh Debian: scripts/deb-root.sh DEB [SUITE]. As root; debootstrap makes the system, in a folder that goes
# afterwards. The package is installed, an ordinary user's mpconnect steers by mpathd through a Wi-Fi that falls silent, and
# the package is removed and purged: nothing of it may be left. DEBIAN_ROOT names a folder to keep debootstrap's system in.
set -euo pipefail
deb=$(realpath "$1") suite=${2:-bookworm}
if [ -z "${DEB_ROOT_INSIDE:-}" ]; then exec env DEB_ROOT_INSIDE=1 unshare --mount --propagation private "$0" "$deb" "$suite"; fi
work=$(mktemp -d)
trap 'umount "$work/root/proc" 2> /dev/null; rm -rf --one-file-system "$work"' EXIT
base=${DEBIAN_ROOT:-$work/base}
[ -e "$base/etc/debian_version" ] || debootstrap --variant=minbase --include=iproute2 "$suite" "$base" > "$work/log"
export root=$work/root
cp -a "$base" "$root"
cp "$deb" "$root/tmp/package.deb"
cp /etc/resolv.conf "$root/etc/resolv.conf"
# Swift's runtime asks /proc for the arguments.
mount -t proc proc "$root/proc"
inside() { chroot "$root" env DEBIAN_FRONTEND=noninteractive "$@"; }
files() {
    (cd "$root" && find . -xdev \( -path ./dev -o -path ./run -o -path ./tmp -o -path ./var/lib/apt -o -path ./var/cache \
        -o -path ./var/log -o -path ./proc \) -prune -o -print | sort)
}
quietly() { "$@" > "$work/log" 2>&1 || { cat "$work/log" >&2; exit 1; }; }
quietly inside apt-get update
# What the package needs stays: that it needs it is told by apt.
needs=$(dpkg-deb --field "$deb" Depends | sed 's/([^)]*)//g; s/,/ /g')
# shellcheck disable=SC2086
quietly inside apt-get install -y --no-install-recommends $needs
inside useradd -m anna
files > "$work/before"
quietly inside apt-get install -y --no-install-recommends /tmp/package.deb
echo "installed: $(dpkg-deb --field "$deb" Version), $(($(stat -c %s "$deb") / 1024)) KiB"

cat > "$work/steers" << 'END'
set -euo pipefail
mount -t proc proc /proc
mount -t proc proc "$root/proc"
mount -t tmpfs tmpfs "$root/run"
mount -t tmpfs tmpfs /run
mkdir -p /run/netns /run/work
cd /run/work
inside() { chroot "$root" "$@"; }
server() { ip netns exec server "$@"; }
wait_for() {
    local what=$1; shift
    for _ in $(seq 500); do if "$@" > /dev/null 2>&1; then return 0; fi; sleep 0.02; done
    echo "gave up waiting for $what" >&2; cat got events listener daemon >&2; exit 99
}
ip link set lo up
ip netns add server
server ip link set lo up
server ip addr add 203.0.113.1/32 dev lo
number=0
for name in wlan0 wwan0; do
    ip link add $name type veth peer name w$number netns server
    ip addr add 192.0.$number.2/24 dev $name
    server ip addr add 192.0.$number.1/24 dev w$number
    ip link set $name up
    server ip link set w$number up
    ip route add default via 192.0.$number.1 dev $name metric $((600 + number))
    number=$((number + 1))
done
# As the unit starts it: there is no systemd here.
mkdir -m 700 "$root/run/mpathd"
chown 65533 "$root/run/mpathd"
chmod 777 "$root/run"
inside env RUNTIME_DIRECTORY=/run/mpathd setpriv --reuid 65533 --regid 65533 --clear-groups \
    --inh-caps=-all,+net_admin --ambient-caps=-all,+net_admin --bounding-set=-all,+net_admin \
    /usr/sbin/mpathd --listen /run/mpathd.sock 2> daemon &
wait_for mpathd inside /usr/sbin/mpathd --status
grep VmRSS "/proc/$(pgrep -x mpathd)/status"
server chroot "$root" /usr/bin/mpconnect --listen 203.0.113.1:7000 < <(wait_for "the end" grep -q two got) > got 2> listener &
listener=$!
wait_for "the listener" grep listening listener
{
    echo one
    wait_for "the first half" grep -q one got
    wait_for "a second path" grep -q 'wwan0 joined' events
    server nft add table inet silence
    server nft add chain inet silence input '{ type filter hook input priority 0; }'
    server nft add rule inet silence input iifname w0 drop
    echo two
    wait_for "the second half" grep -q two got
} | inside setpriv --reuid anna --regid anna --init-groups --inh-caps=-all --bounding-set=-all \
    env MULTIPATH_INTERFACES='wlan0=wifi wwan0=cellular,not-expensive' \
    /usr/bin/mpconnect --mode handover -v --report 203.0.113.1:7000 2> events
wait $listener
grep -E 'moved|control|duration' events
END
unshare --net --mount --propagation private --pid --fork --kill-child bash "$work/steers"
quietly inside apt-get remove -y swift-multipath
quietly inside apt-get purge -y swift-multipath
files > "$work/after"
diff "$work/before" "$work/after" && echo "nothing is left"
