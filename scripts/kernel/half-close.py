#!/usr/bin/env python3
"""After a connection's own half-close (shutdown(SHUT_WR)) no further subflow comes about, though the other direction goes
on: a download whose request ended with a FIN does not survive its path, unless another had joined before."""
import threading
import time

from world import PathManager, World, info, userspace


def serve(listener):
    connection, _ = listener.accept()
    while connection.recv(1000):
        pass
    for _ in range(200):
        connection.send(bytes(10_000))
        time.sleep(0.01)


world = World()
for closes in (False, True):
    listener = world.listen(9000)
    threading.Thread(target=serve, args=(listener,), daemon=True).start()
    with world.client, userspace():
        connection = world.connect(9000)
        connection.send(b"GET")
        time.sleep(0.2)
        manager = PathManager(connection)
        if closes:
            connection.shutdown(1)
            time.sleep(0.1)
        made = manager.create("10.0.1.2", 1, "w1", 9000)
        time.sleep(0.3)
        print(f"{'after' if closes else 'before'} the half-close: SUBFLOW_CREATE {made}, "
              f"subflows besides the first: {info(connection)['subflows']}", flush=True)
    connection.close()
    listener.close()
world.close()
