#!/usr/bin/env bash
# Installs what is missing of the Debian packages that building (and, with "test", testing) needs.
# Nothing is asked of the network or of sudo where all is there already.
set -euo pipefail

packages=(libmnl-dev libc-ares-dev pkg-config)
if [ "${1:-}" = test ]; then
    packages+=(iproute2 nftables util-linux nginx-light openssh-server openssh-client mptcpize perl
        iputils-ping curl iperf3 dnsmasq-base dbus-daemon network-manager openssl)
fi

if ! command -v swift > /dev/null; then
    echo "setup: no swift in PATH; install Swift 6.1 or later from https://www.swift.org/install/linux/" >&2
    exit 1
fi

missing=()
for package in "${packages[@]}"; do
    status=$(dpkg-query --show --showformat '${db:Status-Status}' "$package" 2> /dev/null || true)
    [ "$status" = installed ] || missing+=("$package")
done
[ ${#missing[@]} -gt 0 ] || exit 0

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
exit $status
