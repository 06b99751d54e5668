#!/usr/bin/env python3
"""A connection without any subflow lives, takes data, and delivers it over the next one that is made."""
import threading
import time

from world import PathManager, World, subflows, userspace


def take(listener, got):
    connection, _ = listener.accept()
    while data := connection.recv(65536):
        got.append((time.monotonic(), len(data)))


world = World()
listener, got = world.listen(9000), []
threading.Thread(target=take, args=(listener, got), daemon=True).start()
with world.client, userspace():
    connection = world.connect(9000)
    connection.send(bytes(1000))
    time.sleep(0.2)
    manager = PathManager(connection)
    print("SUBFLOW_DESTROY of the only subflow:", manager.destroy(*subflows(connection)[0]))
    time.sleep(0.1)
    connection.send(bytes(2000))
    time.sleep(2.9)
    begun = time.monotonic()
    print("3 s later SUBFLOW_CREATE on the other path:", manager.create("10.0.1.2", 1, "w1", 9000))
    time.sleep(0.5)
received = sum(length for _, length in got)
print(f"{received} of 3000 bytes arrived, the last {1e3 * (got[-1][0] - begun):.0f} ms after", flush=True)
world.close()
