#!/usr/bin/env python3
"""The end of any subflow makes the kernel send again all that the connection has unacknowledged, also where the subflow
that ends never carried a byte (__mptcp_retransmit_pending_data, net/mptcp/protocol.c). An upload of 4 s over w0; a second
subflow over the same path joins and, at 2 s, is destroyed."""
import threading
import time

from world import BACKUP, PathManager, World, counter, subflows, userspace


def take(listener, gaps):
    connection, _ = listener.accept()
    last = time.monotonic()
    while connection.recv(1 << 20):
        now = time.monotonic()
        gaps.append((now, now - last))
        last = now


world = World()
for ends in (False, True):
    listener, gaps = world.listen(9000), []
    threading.Thread(target=take, args=(listener, gaps), daemon=True).start()
    with world.client, userspace():
        connection = world.connect(9000)
        connection.send(bytes(1000))
        time.sleep(0.2)
        manager = PathManager(connection)
        made = manager.create("10.0.0.2", 0, "w0", 9000, BACKUP)
        time.sleep(0.3)
    begun, chunk, ended, before = time.monotonic(), bytes(1 << 16), None, None
    while time.monotonic() < begun + 4:
        connection.send(chunk)
        if before is None and time.monotonic() > begun + 2:
            before = counter(world.server, "DuplicateData")
            if ends:
                with world.client:
                    ended = manager.destroy(*subflows(connection)[-1])
    twice = counter(world.server, "DuplicateData") - before
    worst = max(gap for at, gap in gaps if begun + 1.9 < at < begun + 4)
    print(f"second subflow {made}, its end {ended or 'not yet'}: from 2 s on {twice} segments came twice, "
          f"longest pause at the receiver {1e3 * worst:.0f} ms", flush=True)
    connection.close()
    time.sleep(1)
    listener.close()
world.close()
