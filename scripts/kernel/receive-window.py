#!/usr/bin/env python3
"""The receive window that a connection has on one path it keeps on the next, where it may be more than the path and its queue
hold (mptcp_rcv_space_adjust, net/mptcp/protocol.c). A sender by BBR, which begins on the second path, doubles what it has under
way until the queue overflows, and repairs that for some round trips. A download over w0, w1 stands by; w0's link goes. The
longest time without new bytes in the three seconds after it: with the buffer that the kernel allows, and with smaller ones."""
import socket
import threading
import time

from world import World, sh, sysctl


def serve(sender):
    try:
        while True:
            sender.send(bytes(65536))
    except OSError:
        pass


world = World()
for most in (6 << 20, 3 << 20, 3 << 19):
    pauses = []
    for _ in range(6):
        with world.client:
            sh("ip mptcp endpoint add 10.0.1.2 dev w1 subflow backup")
            sysctl("ipv4/tcp_rmem", f"4096 131072 {most}")
        listener = world.listen(9000)
        listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, b"bbr")
        connection = world.connect(9000)
        sender, _ = listener.accept()
        threading.Thread(target=serve, args=(sender,), daemon=True).start()
        begun = last = time.monotonic()
        happened, worst = None, 0.0
        connection.settimeout(3)
        while (now := time.monotonic()) < begun + 4.5:
            if happened is None and now > begun + 1.5:
                happened = now
                with world.client:
                    sh("ip link set w0 down", "ip mptcp endpoint delete id 0 10.0.0.2")
            if not connection.recv(1 << 20):
                break
            now = time.monotonic()
            worst = max(worst, now - last) if happened else 0.0
            last = now
        pauses.append(round(1e3 * worst))
        for each in (connection, sender, listener):
            each.close()
        with world.client:
            sh("ip mptcp endpoint flush", "ip address flush dev w0", "ip address add 10.0.0.2/24 dev w0", "ip link set w0 up",
               "ip route replace default via 10.0.0.1 dev w0 metric 1")
        time.sleep(0.5)
    print(f"receive buffer at most {most >> 10} KiB: longest pauses {sorted(pauses)} ms", flush=True)
world.close()
