#!/usr/bin/env python3
"""RM_ADDR is sent once. A peer for which the subflow that brings it is not fully established ignores it, and so it does right
after a join: w0 is dead, w1 joins, and REMOVE of w0's id follows at once or some time later. RmAddr counts at the peer."""
import threading
import time

from world import PathManager, World, counter, info, userspace


def take(listener):
    connection, _ = listener.accept()
    try:
        while connection.recv(65536):
            pass
    except OSError:
        pass


world = World()
for number, wait in enumerate((0, 0.02, 0.05, 0.1, 0.2)):
    world.dead[0] = 0
    listener = world.listen(9000 + number)
    threading.Thread(target=take, args=(listener,), daemon=True).start()
    with world.client, userspace():
        connection = world.connect(9000 + number)
        connection.send(b"x")
        time.sleep(0.2)
        manager = PathManager(connection)
        world.kill(0)
        before = counter(world.server, "RmAddr")
        manager.create("10.0.1.2", 1, "w1", 9000 + number)
        while info(connection)["subflows"] == 0:
            time.sleep(0.001)
        # It counts from the SYN on; the SYN/ACK takes a round trip of 40 ms.
        time.sleep(0.045 + wait)
        answer = manager.remove(0)
        time.sleep(0.5)
    heard = counter(world.server, "RmAddr") - before
    print(f"REMOVE {1e3 * wait:.0f} ms after the join: {answer}; the peer heard {heard}", flush=True)
    connection.close()
    listener.close()
world.close()
