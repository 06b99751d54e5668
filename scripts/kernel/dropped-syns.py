#!/usr/bin/env python3
"""A middlebox that drops SYNs with MP_CAPABLE costs one connection 3 s, and then every other one of the namespace its
MPTCP, for blackhole_timeout (an hour, doubled each time), also those to other hosts. nft drops them here."""
import subprocess
import threading
import time

from world import MPTCP, SERVER, World, mptcp, sh


def take(listener):
    while True:
        listener.accept()


world = World()
listener = world.listen(9000)
other = world.listen(9001)
for each in (listener, other):
    threading.Thread(target=take, args=(each,), daemon=True).start()
with world.server:
    subprocess.run(["nft", "-f", "-"], input=b"""table inet box {
        chain in {
            type filter hook input priority 0;
            tcp dport 9000 tcp option mptcp exists drop
        }
    }""", check=True)
for port, words in ((9000, "through the box"), (9001, "to a port that the box lets through, after that")):
    with world.client:
        connection = mptcp()
        begun = time.monotonic()
        connection.connect((SERVER, port))
        took = time.monotonic() - begun
        try:
            connection.getsockopt(284, 1, 16)
            carried = "MPTCP"
        except OSError:
            carried = "plain TCP"
    print(f"{words}: {1e3 * took:.0f} ms, {carried}", flush=True)
world.close()
