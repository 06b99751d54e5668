#!/usr/bin/env python3
"""The receive window that a connection has on one path it keeps on the next, where it may be more than the path and its queue
hold (mptcp_rcv_space_adjust, net/mptcp/protocol.c). A sender by BBR, which begins on the second path, doubles what it has under
way until the queue overflows, and repairs that for some round trips. A download over w0, w1 stands by; w0's link goes. The
longest time without new bytes in the three seconds after it: with the buffer that the kernel allows, and with smaller ones."""
import socket
import threading

from world import World, longest_pause, sh, sysctl


def serve(sender):
    try:
        while True:
            sender.send(bytes(65536))
    except OSError:
        pass


def lose(world):
    with world.client:
        sh("ip link set w0 down", "ip mptcp endpoint delete id 0 10.0.0.2")


world = World()
for most in (6 << 20, 3 << 20, 3 << 19):
    pauses = []
    for _ in range(6):
        world.endpoint(1, "subflow backup")
        with world.client:
            sysctl("ipv4/tcp_rmem", f"4096 131072 {most}")
        listener = world.listen(9000)
        listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, b"bbr")
        connection = world.connect(9000)
        sender, _ = listener.accept()
        threading.Thread(target=serve, args=(sender,), daemon=True).start()
        pauses.append(longest_pause(connection, 4.5, [(1.5, lambda: lose(world))]))
        for each in (connection, sender, listener):
            each.close()
        world.restore()
    print(f"receive buffer at most {most >> 10} KiB: longest pauses {sorted(pauses)} ms", flush=True)
world.close()
