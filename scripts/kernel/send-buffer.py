#!/usr/bin/env python3
"""After its first subflow is gone, a connection sends 64 kB a round trip, for good: its send buffer begins again with the
joined subflow's and never grows. Segments of 1 MB one after the other; the first path dies after the tenth, and its
endpoint is deleted at once. With SO_SNDBUF set (here SO_SNDBUFFORCE, 4 MB) the same connection keeps its rate."""
import threading
import time

from world import World, info, send_buffer, sh


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
        buffers.append(send_buffer(connection) // 1000)
        time.sleep(0.05)
    print(f"SO_SNDBUF {'set' if pinned else 'automatic'}: ms before {times[:10]}, after {times[10:]}; "
          f"buffer in kB before {buffers[9]}, after {buffers[-1]}; subflows {info(connection)['subflows']}", flush=True)
    connection.close()
    listener.close()
world.close()
