#!/usr/bin/env python3
"""After its first subflow is gone, a connection sends some 64 kB a round trip, for good: the joined subflow's send buffer is
what it began with and never grows (tcp_sndbuf_expand is for sockets whose own writer found no room; this one's writer is the
MPTCP socket above it). Segments of 1 MB one after the other; the first path dies after the tenth, and its endpoint is
deleted at once. With SO_SNDBUF set (SO_SNDBUFFORCE, 4 MB, where allowed) the same connection keeps its rate."""
import threading
import time

from world import World, send_buffers, sh


def serve(listener):
    connection, _ = listener.accept()
    with connection:
        while True:
            missing = 1_000_000
            while missing:
                missing -= len(connection.recv(missing)) or exit()
            connection.send(b".")


world = World()
world.endpoint(1, "subflow backup")
for pinned in (None, 4 << 20):
    world.dead[0] = 0
    listener = world.listen(9000)
    threading.Thread(target=serve, args=(listener,), daemon=True).start()
    connection = world.connect(9000, send_buffer=pinned)
    times, buffers = [], []
    for number in range(20):
        if number == 10:
            world.kill(0)
            with world.client:
                sh("ip mptcp endpoint delete id 0 10.0.0.2")
        begun = time.monotonic()
        connection.sendall(bytes(1_000_000))
        connection.recv(1)
        times.append(round(1e3 * (time.monotonic() - begun)))
        buffers.append(send_buffers(world.client))
        time.sleep(0.05)
    print(f"SO_SNDBUF {'set' if pinned else 'automatic'}: ms before {times[:10]}, after {times[10:]}; "
          f"subflows' send buffers before {buffers[9]}, after {buffers[-1]}", flush=True)
    connection.close()
    listener.close()
world.close()
