#!/usr/bin/env python3
"""A first subflow that is destroyed goes on receiving: the kernel only sends a FIN there (__mptcp_subflow_disconnect,
net/mptcp/protocol.c), and the peer sends what it had queued. A reset (SOCK_DESTROY of sock_diag) has the peer drop that, and send it
over the other path. A download; at 2 s its first subflow, over w0, is given up, with another standing by or none yet."""
import socket
import struct
import threading
import time

from world import BACKUP, REMOVE, SERVER, PathManager, World, info, subflows, userspace


def give(listener):
    connection, _ = listener.accept()
    connection.recv(1)
    chunk = bytes(1 << 16)
    try:
        while True:
            connection.send(chunk)
    except OSError:
        pass



def carried(name):
    """Bytes that came in over an interface, of this thread's namespace whatever /sys shows."""
    with open("/proc/thread-self/net/dev") as file:
        return next(int(line.split(":")[1].split()[0]) for line in file if line.strip().startswith(name + ":"))


def reset(local, remote, interface):
    """SOCK_DESTROY (21) with struct inet_diag_req_v2."""
    netlink = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 4)
    request = struct.pack("=BBBBI", socket.AF_INET, socket.IPPROTO_TCP, 0, 0, 0xFFFFFFFF)
    request += struct.pack("!HH", local[1], remote[1])
    request += socket.inet_aton(local[0]) + bytes(12) + socket.inet_aton(remote[0]) + bytes(12)
    request += struct.pack("=III", socket.if_nametoindex(interface), 0xFFFFFFFF, 0xFFFFFFFF)
    netlink.send(struct.pack("=IHHII", 16 + len(request), 21, 5, 1, 0) + request)
    return -struct.unpack_from("=i", netlink.recv(4096), 16)[0]


for stands_by in (True, False):
    for resets in (False, True):
        world = World(rate=10e6, queue=0.100)
        listener = world.listen(9000)
        threading.Thread(target=give, args=(listener,), daemon=True).start()
        with world.client, userspace():
            connection = world.connect(9000)
            connection.send(b"1")
            manager = PathManager(connection)
            begun, last, at, after, got = time.monotonic(), None, None, 0, 0
            joined = ended = None
            while time.monotonic() < begun + 5:
                got += len(connection.recv(1 << 20))
                now = time.monotonic() - begun
                if joined is None and now > (1 if stands_by else 2):
                    joined = manager.create("10.0.1.2", 1, "w1", 9000, BACKUP if stands_by else None)
                if ended is None and now > 2:
                    first = subflows(connection)[0]
                    at, before = now, carried("w0")
                    if stands_by:
                        manager.remove(0)
                    ended = manager.destroy(*first)
                    if resets:
                        ended += f", reset {reset(*first, 'w0')}"
                    last = before
                if ended is not None:
                    seen = carried("w0")
                    if seen > last + 600:
                        last, after = seen, now - at
        print(f"{'a subflow stands by' if stands_by else 'none stands by  '}, destroy {ended}: "
              f"{(last - before) / 1e3:.0f} KB came in after it, the last {1e3 * after:.0f} ms after; {got / 1e6:.1f} MB in 5 s",
              flush=True)
        connection.close()
        listener.close()
        world.close()
