#!/usr/bin/env python3
"""Two subflows that both may carry, small messages, and one path goes silent: out-of-order data fills the receive buffer
and the connection never goes on, not even when the path comes back. With SO_RCVBUF set at both ends, or with the second
endpoint as a backup, it does. An echo of 64 bytes every 3 ms; Wi-Fi is silent from 2 to 10 s."""
import select
import socket
import sys
import threading
import time

from world import World


def echo(listener):
    connection, _ = listener.accept()
    while data := connection.recv(65536):
        connection.sendall(data)


world = World()
cases = [("subflow", False), ("subflow", True), ("subflow backup", False)]
for flags, pinned in cases:
    world.dead[0] = 0
    world.endpoint(1, flags)
    listener = world.listen(9000)
    if pinned:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 106_496)
    threading.Thread(target=echo, args=(listener,), daemon=True).start()
    connection = world.connect(9000)
    if pinned:
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 106_496)
    connection.setblocking(False)
    begun, heard = time.monotonic(), 0.0
    while (now := time.monotonic() - begun) < 20:
        world.dead[0] = 2 < now < 10
        try:
            connection.send(bytes(64))
        except BlockingIOError:
            pass
        while select.select([connection], [], [], 0)[0] and connection.recv(65536):
            heard = time.monotonic() - begun
        time.sleep(0.003)
    verdict = "goes on" if heard > 19 else "STUCK"
    print(f"endpoint {flags}{', SO_RCVBUF set' if pinned else ''}: last bytes at {heard:.1f} of 20 s: {verdict}", flush=True)
    connection.close()
    listener.close()
    with world.client:
        import subprocess
        subprocess.run("ip mptcp endpoint flush".split(), check=True)
world.close()
