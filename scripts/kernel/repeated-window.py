#!/usr/bin/env python3
"""What the peer has and this end does not know of is sent again first, as far as the send buffer allows: with a new subflow's
first acknowledgement comes what has arrived, and the kernel reads that after it has filled the subflow (ack_update_msk,
net/mptcp/options.c). An upload over w0; w0's link goes, the first subflow is ended, w1 is joined. The longest time in which
the receiver gets nothing new: with the buffer that the kernel leaves, with 4 MB set at once, and with 4 MB set 200 ms later."""
import threading

from world import World, longest_pause, set_buffer, sh


def upload(connection, goes_on):
    try:
        while goes_on.is_set():
            connection.send(bytes(65536))
    except OSError:
        pass


def move(world):
    with world.client:
        sh("ip link set w0 down", "ip mptcp endpoint delete id 0 10.0.0.2", "ip mptcp endpoint add 10.0.1.2 dev w1 subflow")


world = World()
for when in (None, 0.0, 0.2):
    pauses = []
    for _ in range(4):
        listener = world.listen(9000)
        connection = world.connect(9000)
        receiver, _ = listener.accept()
        goes_on = threading.Event()
        goes_on.set()
        threading.Thread(target=upload, args=(connection, goes_on), daemon=True).start()
        steps = [(1.5, lambda: move(world))]
        if when is not None:
            steps.append((1.5 + when, lambda: set_buffer(connection, "SNDBUF", 4 << 20)))
        pauses.append(longest_pause(receiver, 3, steps))
        goes_on.clear()
        for each in (connection, receiver, listener):
            each.close()
        world.restore()
    words = "left alone" if when is None else f"set {1e3 * when:.0f} ms after the link's end"
    print(f"send buffer {words}: longest pauses {pauses} ms", flush=True)
world.close()
