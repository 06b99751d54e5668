#!/usr/bin/env python3
"""Which path manager serves a connection is decided when socket() is called, by net.mptcp.path_manager as it is in that
moment, and again when connect() to AF_UNSPEC disconnects a socket that is not connected. A socket can't ask for one: a
process has to write a setting of the whole namespace around one of those calls. (The library does it around the second.)"""
import threading
import time

from world import PathManager, World, mptcp, userspace, SERVER


def take(listener):
    while True:
        connection, _ = listener.accept()
        threading.Thread(target=lambda: connection.recv(1000) and time.sleep(5), daemon=True).start()


world = World()
listener = world.listen(9000)
threading.Thread(target=take, args=(listener,), daemon=True).start()
with world.client:
    with userspace():
        of_user = mptcp()
    of_kernel = mptcp()
    for name, connection in (("made while it was userspace", of_user), ("made after that", of_kernel)):
        connection.connect((SERVER, 9000))
        connection.send(b"x")
        time.sleep(0.2)
        print(f"{name}: SUBFLOW_CREATE", PathManager(connection).create("10.0.1.2", 1, "w1", 9000), flush=True)
world.close()
