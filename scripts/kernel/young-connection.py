#!/usr/bin/env python3
"""Until the peer has acknowledged a first byte (RFC 8684 section 3.1) the kernel makes no further subflow (mptcp_is_fully_established,
__mptcp_subflow_connect, net/mptcp/subflow.c): a connection whose only path goes before that is lost with it."""
import time

from world import PathManager, World, userspace

for answers in (True, False):
    world = World()
    world.sink(9000)
    with world.client, userspace():
        connection = world.connect(9000)
        if not answers:
            world.kill(0)
        connection.send(b"1")
        time.sleep(0.3)
        world.kill(0)
        created = PathManager(connection).create("10.0.1.2", 1, "w1", 9000)
    print(f"a byte sent, {'acknowledged' if answers else 'not acknowledged'}: SUBFLOW_CREATE {created}", flush=True)
    connection.close()
    world.close()
