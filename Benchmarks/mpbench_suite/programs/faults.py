"""Takes addresses and routes away and puts them back while a command runs: faults.py FAULTS COMMAND…

FAULTS is a list in JSON, each [from, to, "address" | "route", interface], in seconds after the start. The exit status
is the command's."""
import json
import subprocess
import sys
import threading
import time


def ip(*words):
    return subprocess.run(["ip", *words], capture_output=True, text=True).stdout


def remove(kind, link):
    """Removes an interface's addresses or default routes; returns the words that `ip` restores them by."""
    restoring = []
    # The kernel removes an address's routes with the address, so that these are listed before.
    addresses = [line.split() for line in ip("-o", "addr", "show", "dev", link, "scope", "global").splitlines()]
    routes = [(family, line.split()) for family in ("-4", "-6")
              for line in ip(family, "route", "show", "default", "dev", link).splitlines()]
    if kind == "address":
        for words in addresses:
            ip("addr", "del", words[3], "dev", link)
            restoring.append(("addr", "add", words[3], "dev", link) + (("nodad",) if words[2] == "inet6" else ()))
    for family, words in routes:
        ip(family, "route", "del", *words, "dev", link)
        if "linkdown" in words:
            words.remove("linkdown")
        restoring.append((family, "route", "add", *words, "dev", link))
    return restoring


def make(faults):
    begun = time.monotonic()
    for start, end, kind, link in faults:
        time.sleep(max(0, begun + start - time.monotonic()))
        restoring = remove(kind, link)
        time.sleep(max(0, begun + end - time.monotonic()))
        for words in restoring:
            ip(*words)


def main():
    faults, command = json.loads(sys.argv[1]), sys.argv[2:]
    threading.Thread(target=make, args=(faults,), daemon=True).start()
    sys.exit(subprocess.run(command).returncode)


if __name__ == "__main__":
    main()
