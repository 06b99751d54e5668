#!/usr/bin/env python3
"""The kernel forgets an address's id with the first subflow of that address that is destroyed, even where another one of it
lives: REMOVE then has nothing to withdraw. And RM_ADDR is sent once: over a subflow that has just joined the peer ignores
it."""
import time

from world import PathManager, World, subflows, userspace


world = World()
world.sink(9000)
with world.client, userspace():
    connection = world.connect(9000)
    connection.send(b"x")
    time.sleep(0.2)
    manager = PathManager(connection)
    for number in (1, 2):
        print(f"subflow {number} of 10.0.1.2: SUBFLOW_CREATE", manager.create("10.0.1.2", 1, "w1", 9000))
        time.sleep(0.2)
    of_it = [pair for pair in subflows(connection) if pair[0][0] == "10.0.1.2"]
    print(f"{len(of_it)} subflows; one ends: SUBFLOW_DESTROY", manager.destroy(*of_it[0]))
    time.sleep(0.2)
    left = [pair for pair in subflows(connection) if pair[0][0] == "10.0.1.2"]
    print(f"{len(left)} of 10.0.1.2 left; REMOVE of its id:", manager.remove(1), flush=True)
world.close()
