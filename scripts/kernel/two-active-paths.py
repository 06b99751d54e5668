#!/usr/bin/env python3
"""Two subflows that both may carry, small messages, and one path goes silent: what arrives out of order fills the receive
buffer (128 KiB to begin with; a small message takes some 700 bytes of it), what is missing finds no room, and the
connection never goes on, not even when the path is back. With SO_RCVBUF set at the receiver, or with the second endpoint as
a backup, it does. 64 bytes every millisecond; w0 is silent from 2 to 8 s. two-active-paths.py [RUNS]"""
import contextlib
import socket
import sys
import threading
import time

from world import World, sh

SECONDS = 16


def take(listener, arrivals):
    with contextlib.suppress(OSError):
        connection, _ = listener.accept()
        while connection.recv(65536):
            arrivals.append(time.monotonic())


def run(world, port, flags, buffer):
    """When the last bytes arrived, in seconds, and the longest pause before."""
    world.dead[0] = 0
    world.endpoint(1, flags)
    listener, arrivals = world.listen(port), []
    if buffer:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, buffer)
    threading.Thread(target=take, args=(listener, arrivals), daemon=True).start()
    connection = world.connect(port)
    connection.setblocking(False)
    begun, due = time.monotonic(), 0.0
    while (now := time.monotonic() - begun) < SECONDS:
        world.dead[0] = 2 < now < 8
        while due <= now:
            due += 0.001
            with contextlib.suppress(BlockingIOError):
                connection.send(bytes(64))
        time.sleep(max(due - now, 0))
    connection.close()
    listener.close()
    with world.client:
        sh("ip mptcp endpoint flush")
    return arrivals[-1] - begun, max(after - before for before, after in zip(arrivals, arrivals[1:]))


world, port = World(), 9000
for flags, buffer in (("subflow", None), ("subflow", 212_992), ("subflow backup", None)):
    found = []
    for _ in range(int(sys.argv[1]) if len(sys.argv) > 1 else 2):
        found.append(run(world, port, flags, buffer))
        port += 1
    stuck = sum(last < SECONDS - 2 for last, _ in found)
    words = ", ".join(f"{last:.1f} s" for last, _ in found)
    print(f"endpoint {flags}{', SO_RCVBUF set' if buffer else ''}: {stuck} of {len(found)} stuck; last bytes at {words} of "
          f"{SECONDS}; longest pause before {max(pause for _, pause in found):.2f} s", flush=True)
world.close()
