#!/usr/bin/env python3
"""A middlebox takes MPTCP's option out of what the server sends, but for its SYN: the client falls back to TCP. A server that
gets more data after that falls back, too. One that gets only the FIN does not: without a DATA_FIN its connection stays
established, while its only subflow is being closed. nft is the box here."""
import socket
import subprocess
import threading
import time

from world import World

BOX = b"""table inet box {
    chain out {
        type filter hook output priority 0;
        tcp sport 9000 tcp flags & syn == 0 reset tcp option mptcp
    }
}"""
PATIENCE = 90


def carried(connection):
    try:
        connection.getsockopt(284, 1, 16)
        return "MPTCP"
    except OSError:
        return "plain TCP"


def serve(listener, found):
    connection, _ = listener.accept()
    connection.settimeout(PATIENCE)
    count = 0
    try:
        while data := connection.recv(1000):
            count += len(data)
        found.update(end="the end")
    except OSError as error:
        found.update(end=f"'{error}'")
    found.update(bytes=count, at=time.monotonic())


world = World()
for has_box in (False, True):
    if has_box:
        with world.server:
            subprocess.run(["nft", "-f", "-"], input=BOX, check=True)
    listener, found = world.listen(9000), {}
    server = threading.Thread(target=serve, args=(listener, found))
    server.start()
    connection = world.connect(9000)
    connection.send(bytes(1000))
    time.sleep(0.2)
    words = carried(connection)
    begun = time.monotonic()
    connection.shutdown(socket.SHUT_WR)
    server.join()
    print(f"{'with' if has_box else 'without'} the box: the client's is {words}; the server got {found['bytes']} bytes, and "
          f"{found['end']} {found['at'] - begun:.1f} s after the FIN", flush=True)
    connection.close()
    listener.close()
world.close()
