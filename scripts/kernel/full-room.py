#!/usr/bin/env python3
"""A peer has room for so many subflows beside the first (`ip mptcp limits`, 2), and counts each until it hears that it has ended:
by a FIN, a reset, RM_ADDR over another subflow, or its own repetitions without an answer, for some 15 minutes. Where all are lost
at once there is no subflow over which to say so, and a peer that was full takes no further one: it answers the handshake of the
join, and resets it as prohibited (MP_TCPRST 3, subflow_syn_recv_sock, net/mptcp/subflow.c)."""
import time

from world import PathManager, World, sh, subflows, userspace

for others in (1, 2):
    world = World()
    world.sink(9000)
    with world.client, userspace():
        connection = world.connect(9000)
        connection.send(b"1")
        time.sleep(0.2)
        manager = PathManager(connection)
        sh("ip address add 10.0.0.3/24 dev w0")
        for address, number, name in (("10.0.1.2", 1, "w1"), ("10.0.0.3", 2, "w0"))[:others]:
            manager.create(address, number, name, 9000)
        time.sleep(0.3)
        had = len(subflows(connection))
        # Other addresses on both paths: nothing that is sent from the old ones leaves this host.
        sh("ip address flush dev w0", "ip address flush dev w1",
           "ip address add 10.0.0.9/24 dev w0", "ip address add 10.0.1.9/24 dev w1")
        for local, remote in subflows(connection):
            manager.destroy(local, remote)
        answer = manager.create("10.0.1.9", 9, "w1", 9000)
        time.sleep(0.5)
        lives = any(local[0] == "10.0.1.9" for local, _ in subflows(connection))
    print(f"{had} subflows lost at once: SUBFLOW_CREATE {answer}, and half a second later it "
          f"{'lives' if lives else 'is gone'}", flush=True)
    connection.close()
    world.close()
