#!/usr/bin/env bash
# Runs the programs of Examples against nginx, in network namespaces that end with this: a client with two paths to
# a server that speaks HTTP/2 by TLS over MPTCP, with a certificate for server.example and for 203.0.113.1.
set -euo pipefail
bin=$1

# In the namespaces: see the last lines.
run() {
    mount -t proc proc /proc
    mount -t tmpfs tmpfs /run
    mkdir -p /run/netns /run/work
    cd /run/work
    ip link set lo up
    ip netns add server
    server ip link set lo up
    server ip addr add 203.0.113.1/32 dev lo
    path wlan0 w0 192.0.2 600
    path wwan0 w1 198.51.100 700
    certificates 2> openssl.log || { cat openssl.log; exit 1; }
    start_nginx

    expect 'HTTP/2 over the better path' 0 '^attempt wlan0 mptcp 203.0.113.1:443 .*: won$' \
        '^200, 7 bytes; mptcp to 203.0.113.1:443: wlan0 ' -- http2 server.example root.pem
    expect 'a certificate for the address alone is refused' 1 'the certificate is not for other.example' \
        -- http2 other.example root.pem
    expect 'an unknown authority is refused' 1 CERTIFICATE_VERIFY_FAILED -- http2 server.example stranger.pem
    expect 'AsyncHTTPClient with MPTCP, HTTP/2' 0 '^HTTP/2 connection 1 opened: mptcp to 203.0.113.1:443: ' \
        '^200 by HTTP/2.*, 7 bytes$' '^HTTP/2 connection 1 now: mptcp ' -- http_client 443
    expect 'AsyncHTTPClient with MPTCP, HTTP/1.1' 0 '^HTTP/1.1 connection 1 opened: mptcp to 203.0.113.1:444: ' \
        '^200 by HTTP/1.1, 7 bytes$' -- http_client 444
    # The last one: Wi-Fi is dead from here on.
    server nft -f - <<< 'table inet silence { chain input { type filter hook input priority 0; iifname "w0" drop; }; }'
    expect 'HTTP/2 over the other path, when the better one is silent' 0 \
        '^attempt wlan0 mptcp .*: no answer yet' '^attempt wwan0 mptcp .*: won$' '^200, 7 bytes; mptcp .*: wwan0 ' \
        -- http2 server.example root.pem
    echo 'examples: all is as it should be'
}

server() { ip netns exec server "$@"; }

# path NAME ITS-END NETWORK METRIC
path() {
    ip link add "$1" type veth peer name "$2" netns server
    ip addr add "$3.2/24" dev "$1"
    server ip addr add "$3.1/24" dev "$2"
    ip link set "$1" up
    server ip link set "$2" up
    ip route add default via "$3.1" dev "$1" metric "$4"
}

certificates() {
    for name in root stranger; do
        openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -keyout $name.key -out $name.pem -days 30 \
            -subj "/CN=Test $name" -addext basicConstraints=critical,CA:TRUE -addext keyUsage=critical,keyCertSign
    done
    openssl req -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -keyout server.key -out server.csr -subj /CN=server
    openssl x509 -req -in server.csr -CA root.pem -CAkey root.key -days 30 -out server.pem \
        -extfile <(echo 'subjectAltName=DNS:server.example,IP:203.0.113.1')
}

start_nginx() {
    echo a page > index.html
    cat > nginx.conf <<- END
	user root; daemon off; master_process off; pid $PWD/pid; error_log $PWD/error.log;
	events { worker_connections 64; }
	http {
	    access_log off; root $PWD; ssl_certificate $PWD/server.pem; ssl_certificate_key $PWD/server.key;
	    client_body_temp_path $PWD/a; proxy_temp_path $PWD/b;
	    fastcgi_temp_path $PWD/c; uwsgi_temp_path $PWD/d; scgi_temp_path $PWD/e;
	    server { listen 443 ssl http2; }
	    server { listen 444 ssl; }
	}
	END
    server mptcpize run nginx -c "$PWD/nginx.conf" -e "$PWD/error.log" &
    for _ in $(seq 500); do
        if server bash -c 'exec 3<>/dev/tcp/203.0.113.1/444' 2> /dev/null; then return; fi
        sleep 0.02
    done
    cat error.log
    exit 1
}

http2() { "$bin/multipath-http2" "$1" 443 / "$2" 203.0.113.1; }
http_client() { "$bin/multipath-http-client" "https://server.example:$1/" root.pem 203.0.113.1; }

# expect WHAT STATUS PATTERN… -- COMMAND…
expect() {
    local what=$1 status=$2 patterns=() got=0
    shift 2
    while [ "$1" != -- ]; do patterns+=("$1"); shift; done
    shift
    "$@" > output 2>&1 || got=$?
    for pattern in "${patterns[@]}"; do
        grep -Eq -- "$pattern" output || { echo "examples: $what: nothing matches '$pattern' in:"; cat output; exit 1; }
    done
    [ "$got" = "$status" ] || { echo "examples: $what: it ended with $got, not $status:"; cat output; exit 1; }
    echo "examples: $what"
}

if [ "${2:-}" = inside ]; then
    run
elif ! unshare --map-root-user --net --mount true 2> /dev/null; then
    echo "examples: no network namespaces here, so the programs were built and not run" >&2
    [ "${LAB_REQUIRED:-}" != 1 ]
else
    PATH=$PATH:/usr/sbin:/sbin unshare --map-root-user --net --mount --pid --fork --kill-child timeout 60 "$0" "$bin" inside
fi
