"""Programs that know nothing of paths: how each fetches a file, the ways to start it, and the server of the file."""
import os
import shlex
import subprocess
import sys

from .environment import PROGRAMS, PROJECT
from .lab import SERVER, Network, path_manager
from .programs import broker

HOST = SERVER["ipv4"]
SIZE = 7_000_000
LIBRARY = "mpconnect"
LIBRARIES = (LIBRARY, "rsync over mpconnect", "git over mpconnect")
WAYS = ("alone", "kernel", "mprun", "mprun-mpathd")
PYTHON = """
import sys, urllib.request
with urllib.request.urlopen(sys.argv[1]) as answer:
    while data := answer.read(65536):
        sys.stdout.buffer.write(data)
"""
# A process of mpconnect's for each connection to a port of this host.
FORWARDER = """
import os, socket, subprocess, sys
listener = socket.create_server(('127.0.0.1', 9000))
while True:
    connection = listener.accept()[0]
    subprocess.Popen([os.environ['BIN'] + '/mpconnect', sys.argv[1] + ':8000'], stdin=connection, stdout=connection)
    connection.close()
"""
NODE = "require('http').get(process.argv[1], answer => answer.pipe(process.stdout))"
RSYNC = "rsync -e \"ssh -F $FOLDER/ssh/client{}\" $2:$FOLDER/www/file got"
# Shell commands; what comes is in the file `got`. $1 is the URL, $2 the server's address.
COMMANDS = {
    "curl": "curl -sS -o got $1",
    "wget": "wget -q -O got $1",
    "Python": "python3 -c \"$PYTHON\" $1 > got",
    "node": "node -e \"$NODE\" $1 > got",
    "git": "git clone -q http://$2:8000/repository/seed.git clone && cp clone/file got",
    "rsync": RSYNC.format(""),
    LIBRARIES[1]: RSYNC.format(" -o ProxyCommand='$BIN/mpconnect %h:%p'"),
    LIBRARIES[2]: "python3 -c \"$FORWARDER\" $2 & until git clone -q http://127.0.0.1:9000/repository/seed.git clone "
                  "2> /dev/null; do sleep 0.1; done; kill $!; cp clone/file got",
    # Its standard input stays open, as curl's sending end does.
    LIBRARY: "sh -c 'printf \"GET /file HTTP/1.0\\r\\n\\r\\n\"; exec sleep 30' | $BIN/mpconnect $2:8000 > answer; "
             "tail -c $SIZE answer > got",
}
# What has to be installed.
NEEDED = ("curl", "wget", "node", "git", "rsync", "ssh", "mptcpize")


def command(binaries, folder, way, program):
    """The words that fetch the file in one of the ways; `folder` is the server's."""
    known = {"PYTHON": PYTHON, "NODE": NODE, "FORWARDER": FORWARDER, "BIN": binaries, "FOLDER": folder, "SIZE": SIZE}
    steered = [f"{binaries}/mprun", "-q", "--mode", "handover", "--"]
    before = {"alone": [], "kernel": ["mptcpize", "run"], "mprun": steered,
              "mprun-mpathd": [*broker.RIGHTLESS, *steered]}
    return ["env", *(f"{name}={value}" for name, value in known.items()), *before[way],
            "sh", "-c", COMMANDS[program], "sh", f"http://{HOST}:8000/file", HOST]


def fetching(binaries, folder, way, program, action):
    """The words of the client host: they print a run's result, in which `action` happens to Wi-Fi."""
    kind = "open" if program == LIBRARY else "tcp" if way == "alone" and program not in LIBRARIES else "mptcp"
    words = [sys.executable, str(PROGRAMS / "fetching.py"), f"{binaries}/mplab", action, f"{folder}/www/file", kind,
             *command(binaries, folder, way, program)]
    if way == "mprun-mpathd":
        words = [sys.executable, str(PROGRAMS / "broker.py"), f"{binaries}/mpathd", *words]
    prepared = path_manager(Network(), "kernel", True) if way == "kernel" else []
    script = "\n".join(["set -e", f"until curl -s -m 2 -o /dev/null http://{HOST}:8000/small; do sleep 0.05; done",
                        *prepared, 'exec "$@"'])
    return ["sh", "-c", script, "sh", *words]


def serving(folder, sender):
    """The shell command of the server host, which sends under a congestion control."""
    server = PROJECT / "Tests/ProgramMatrixTests/Fixtures/server.py"
    words = ["python3", str(server), f"{folder}/www", "/dev/null", f"{folder}/ssh/server"]
    return f"CONGESTION={sender} exec {shlex.join(words)} 2> /dev/null"


def make_server(folder):
    """The files, a repository and the keys."""
    for name in ("www/repository", "ssh"):
        (folder / name).mkdir(parents=True)
    (folder / "www/file").write_bytes(os.urandom(SIZE))
    (folder / "www/small").write_text("small\n")
    quiet = {"check": True, "stdout": subprocess.DEVNULL, "env": os.environ | {
        "GIT_AUTHOR_NAME": "a", "GIT_AUTHOR_EMAIL": "a@example.org", "GIT_COMMITTER_NAME": "a",
        "GIT_COMMITTER_EMAIL": "a@example.org"}}
    subprocess.run(f"""set -e
        cd '{folder}'
        git init -q --bare www/repository/seed.git
        git init -q seed && cd seed && cp ../www/file file && git add file && git commit -qm first
        git push -q ../www/repository/seed.git HEAD:refs/heads/main
        git -C ../www/repository/seed.git symbolic-ref HEAD refs/heads/main
        git -C ../www/repository/seed.git repack -adq
        git -C ../www/repository/seed.git update-server-info
        cd .. && rm -rf seed
        ssh-keygen -q -t ed25519 -N '' -f ssh/host
        ssh-keygen -q -t ed25519 -N '' -f ssh/key
        mkdir -p /run/sshd""", shell=True, **quiet)
    (folder / "ssh/server").write_text(
        f"HostKey {folder}/ssh/host\nAuthorizedKeysFile {folder}/ssh/key.pub\nStrictModes no\nUsePAM no\n"
        "PermitRootLogin yes\n")
    (folder / "ssh/client").write_text(
        f"Host *\n    Port 2222\n    User root\n    IdentityFile {folder}/ssh/key\n    StrictHostKeyChecking no\n"
        "    UserKnownHostsFile /dev/null\n    LogLevel ERROR\n")
