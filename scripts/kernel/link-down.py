#!/usr/bin/env python3
"""The kernel path manager hears of no link and no address. A download over w0 with a backup endpoint on w1; `ip link set
w0 down`, or its address goes. Where the first subflow is not bound to w0 its segments leave by w1 with w0's source address:
the peer hears acknowledgements from there, and the download may never go on."""
import select
import threading
import time

from world import World, sh


def serve(listener):
    connection, _ = listener.accept()
    try:
        while True:
            connection.send(bytes(65536))
    except OSError:
        pass


world = World()
for bound in (True, False):
    for action in ("ip link set w0 down", "ip address delete 10.0.0.2/24 dev w0"):
        world.endpoint(1, "subflow backup")
        listener = world.listen(9000)
        threading.Thread(target=serve, args=(listener,), daemon=True).start()
        connection = world.connect(9000, interface="w0" if bound else None)
        begun = last = time.monotonic()
        happened, worst = None, 0.0
        while (now := time.monotonic()) < begun + 8:
            if happened is None and now > begun + 1.5:
                with world.client:
                    sh(action)
                happened = last = time.monotonic()
            if select.select([connection], [], [], 0.01)[0] and connection.recv(1 << 20):
                now = time.monotonic()
                if happened:
                    worst = max(worst, now - last)
                last = now
        silent = time.monotonic() - last
        words = f"never goes on ({silent:.1f} s)" if silent > 3 else f"longest pause {1e3 * worst:.0f} ms"
        print(f"first subflow {'bound to w0' if bound else 'not bound'}, {action}: {words}", flush=True)
        connection.close()
        listener.close()
        world.restore()
world.close()
