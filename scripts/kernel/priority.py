#!/usr/bin/env python3
"""MP_PRIO right after a join: SET_FLAGS says that there is no such subflow, or is taken; when it begins to work. The
subflow is in MPTCP_SUBFLOW_ADDRS from the SYN on."""
import time

from world import BACKUP, PathManager, World, subflows, userspace


world = World()
world.sink(9000)
with world.client, userspace():
    connection = world.connect(9000)
    connection.send(b"x")
    time.sleep(0.2)
    manager = PathManager(connection)
    begun = time.monotonic()
    print("SUBFLOW_CREATE", manager.create("10.0.1.2", 1, "w1", 9000))
    last = None
    while time.monotonic() < begun + 0.3:
        pair = next((pair for pair in subflows(connection) if pair[0][0] == "10.0.1.2" and pair[0][1]), None)
        answer = manager.set_flags(*pair, BACKUP) if pair else "not listed"
        if answer != last:
            print(f"{1e3 * (time.monotonic() - begun):5.1f} ms after: SET_FLAGS {answer}", flush=True)
            last = answer
world.close()
