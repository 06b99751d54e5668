#!/usr/bin/env python3
"""A download's path dies in silence and another stands by. Told by MP_PRIO to use that one before RM_ADDR has had it give up the
dead one, the peer sends first what is new: up to 64 kB, which take three round trips of a new window, and then what the dead
path swallowed. The longest pauses in the half second after the fault, five runs each; the reaction comes 60 ms after it."""
import threading
import time

from world import BACKUP, PathManager, World, subflows, userspace

FAULT, REACTION, LATER, END = 1.8, 1.86, 1.88, 2.3
CONGESTION = 13


def send(listener):
    connection, _ = listener.accept()
    try:
        while True:
            connection.send(bytes(65536))
    except OSError:
        pass


def run(world, port, order):
    world.dead[0] = 0
    listener = world.listen(port)
    listener.setsockopt(6, CONGESTION, b"bbr")
    threading.Thread(target=send, args=(listener,), daemon=True).start()
    with world.client, userspace():
        connection = world.connect(port)
        manager = PathManager(connection)
        connection.recv(65536)
        time.sleep(0.2)
        manager.create("10.0.1.2", 1, "w1", port, BACKUP)
    begun = last = time.monotonic()
    pause, steps = 0.0, []
    while (now := time.monotonic()) - begun < END:
        passed = now - begun
        if passed > FAULT:
            world.kill(0)
        if passed > REACTION and not steps:
            standby, = (pair for pair in subflows(connection) if pair[0][0] == "10.0.1.2")
            dead, = (pair for pair in subflows(connection) if pair[0][0] == "10.0.0.2")
            with world.client:
                if order == "MP_PRIO first":
                    manager.set_flags(*standby, 0)
                manager.remove(0)
                manager.destroy(*dead)
            steps.append(order)
        if passed > LATER and len(steps) == 1:
            if order != "MP_PRIO first":
                with world.client:
                    manager.set_flags(*standby, 0)
            steps.append("done")
        connection.settimeout(0.002)
        try:
            count = len(connection.recv(1 << 20))
        except TimeoutError:
            continue
        now = time.monotonic()
        if count and passed > FAULT:
            pause = max(pause, now - last)
        last = now
    pause = max(pause, time.monotonic() - last)
    connection.close()
    listener.close()
    return round(1e3 * pause)


world = World()
for place, order in enumerate(("MP_PRIO first", "MP_PRIO 20 ms after RM_ADDR")):
    print(f"{order}: longest pauses {[run(world, 9000 + 10 * place + number, order) for number in range(5)]} ms", flush=True)
world.close()
