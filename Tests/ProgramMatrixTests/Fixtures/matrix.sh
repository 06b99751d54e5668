# Programs that know nothing of paths, each twice: alone, and under a launcher. For each a line: how its connections came, and
# whether it said the same and ended the same. To be sourced where `server` and `wait_for` are (TestSupport's TwoPaths), with
#   as            what runs a command as a user without rights, of the number $user_number
#   launcher      what is put before each command the second time
#   host, host6   the server's addresses

programs_begin() {
    fixtures=$1 work=$2
    mkdir -p "$work/www/repository" "$work/ssh" "$work/home"
    head -c 40000 /dev/urandom | base64 > "$work/www/file"
    clang -O1 -pthread -o "$work/clients" "$fixtures/clients.c"
    (cd "$work" && export HOME=$work/build GO111MODULE=off CGO_ENABLED=0 GOFLAGS=-buildvcs=false && mkdir -p "$HOME" \
        && go build -o "$work/goclient" "$fixtures/client.go")
    cp "$fixtures/Client.java" "$work/"
    ffmpeg -loglevel error -f lavfi -i sine=frequency=440:duration=2 -y "$work/www/tone.wav"
    git -C "$work" init -q --bare www/repository/seed.git
    (
        cd "$work" && git init -q seed && cd seed && cp "$work/www/file" file && git add file
        git -c user.name=a -c user.email=a@example.org commit -qm first
        git push -q ../www/repository/seed.git HEAD:refs/heads/main
        git -C ../www/repository/seed.git symbolic-ref HEAD refs/heads/main
        git -C ../www/repository/seed.git update-server-info
    )
    ssh-keygen -q -t ed25519 -N '' -f "$work/ssh/host"
    ssh-keygen -q -t ed25519 -N '' -f "$work/ssh/key"
    cp "$work/ssh/key.pub" "$work/ssh/authorized"
    cat > "$work/ssh/server" << END
HostKey $work/ssh/host
AuthorizedKeysFile $work/ssh/authorized
StrictModes no
UsePAM no
PermitRootLogin yes
Subsystem sftp internal-sftp
END
    cat > "$work/ssh/client" << END
Host $host
    Port 2222
    User root
    IdentityFile $work/ssh/key
    StrictHostKeyChecking no
    UserKnownHostsFile /dev/null
    LogLevel ERROR
END
    mkdir -p /run/sshd
    chmod 755 "$work" "$work/ssh" "$work/www" && chmod 777 "$work/home" && chown -R "$user_number" "$work/ssh/key" "$work/ssh/client"
    server python3 "$fixtures/server.py" "$work/www" "$work/connections" "$work/ssh/server" 2> "$work/errors" &
    wait_for "the server" bash -c "server_is_there() { curl -s -o /dev/null http://$host:8000/file; }; server_is_there"
}

# program NAME COMMAND…: runs it alone and under $launcher, as $as.
program() {
    local name=$1 status other how
    shift
    rm -rf "$work/home/alone" "$work/home/under"
    status=0
    : > "$work/connections"
    (cd "$work/home" && HOME=$work/home $as timeout 60 "$@" > "$work/alone" 2> "$work/alone.errors") || status=$?
    if grep -q mptcp "$work/connections"; then echo "$name: mptcp without a launcher"; fi
    : > "$work/connections"
    other=0
    (cd "$work/home" && HOME=$work/home $as timeout 60 $launcher "$@" > "$work/under" 2> "$work/under.errors") || other=$?
    how=$(sort -u "$work/connections" | paste -sd ' ')
    if [ "$status" = "$other" ] && cmp -s "$work/alone" "$work/under" && [ -s "$work/under" ]; then
        echo "$name: ${how:-no connection}, the same"
    else
        echo "$name: ${how:-no connection}, status $other for $status, $(wc -c < "$work/under") bytes for $(wc -c < "$work/alone")"
        head -c 600 "$work/under.errors" >&2
    fi
}

programs_run() {
    local url=http://$host:8000/file
    program curl curl -s "$url"
    program "curl, a file that is not there" curl -sf -w '%{http_code}' "http://$host:8000/none"
    program "curl, a port without a server" curl -s -w '%{exitcode}' "http://$host:9/"
    program wget wget -qO- "$url"
    program "Python's urllib" /usr/bin/python3 -c "import sys, urllib.request as u; sys.stdout.buffer.write(u.urlopen('$url').read())"
    program "Python's asyncio" /usr/bin/python3 -c "
import asyncio, sys
async def main():
    reader, writer = await asyncio.open_connection('$host', 8000)
    writer.write(b'GET /file HTTP/1.0\\r\\n\\r\\n')
    sys.stdout.buffer.write((await reader.read()).split(b'\\r\\n\\r\\n', 1)[1])
asyncio.run(main())"
    program "Python's requests" /usr/bin/python3 -c "import sys, requests; sys.stdout.buffer.write(requests.get('$url').content)"
    program node node -e "require('http').get('$url', r => r.pipe(process.stdout))"
    program perl perl -MIO::Socket::INET -e '$s = IO::Socket::INET->new("'"$host"':8000") or die; print $s "GET /file HTTP/1.0\r\n\r\n"; local $/; print <$s> =~ s/.*?\r\n\r\n//sr'
    program bash bash -c "exec 3<> /dev/tcp/$host/8000; printf 'GET /file HTTP/1.0\r\n\r\n' >&3; cat <&3"
    program "a static program of Go" "$work/goclient" "$host:8000"
    program "git over http" bash -c "rm -rf clone; git clone -q http://$host:8000/repository/seed.git clone && sha256sum clone/file"
    program ssh ssh -F "$work/ssh/client" "$host" "cat $work/www/file"
    program scp bash -c "rm -f copy; scp -q -F $work/ssh/client $host:$work/www/file copy && sha256sum copy"
    program "rsync over ssh" bash -c "rm -f copy; rsync -e 'ssh -F $work/ssh/client' $host:$work/www/file copy && sha256sum copy"
    program ffmpeg ffmpeg -loglevel error -i "http://$host:8000/tone.wav" -f md5 -
    if command -v java > /dev/null; then program "Java's HttpClient" java "$work/Client.java" "$url"; fi
    for way in blocking nonblocking epoll-first dup threads child uring; do
        program "$way" "$work/clients" $way "$host"
    done
    program "a socket that io_uring made" "$work/clients" uring-socket "$host"
    program "IPv6" "$work/clients" nonblocking "$host6"
    program "a shell's chain of programs" sh -c "sh -c \"(curl -s $url & wait)\" | cat"
}
