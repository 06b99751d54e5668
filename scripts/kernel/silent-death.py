#!/usr/bin/env python3
"""A path dies in silence and another stands by: how long an echo of 64 bytes every 10 ms waits, by what is done about it
50 ms later. RM_ADDR (REMOVE) reaches the peer over the other path, SUBFLOW_DESTROY tells this end: each alone leaves one
direction waiting for a retransmission timer. MP_PRIO (SET_FLAGS) travels on the dead subflow."""
import select
import threading
import time

from world import BACKUP, PathManager, World, subflows, userspace


def echo(listener):
    connection, _ = listener.accept()
    while data := connection.recv(65536):
        connection.sendall(data)


world = World()
for reaction in ("nothing", "SET_FLAGS backup", "SUBFLOW_DESTROY", "REMOVE", "REMOVE, SUBFLOW_DESTROY"):
    world.dead[0] = 0
    listener = world.listen(9000)
    threading.Thread(target=echo, args=(listener,), daemon=True).start()
    with world.client, userspace():
        connection = world.connect(9000)
        connection.send(bytes(64))
        time.sleep(0.2)
        manager = PathManager(connection)
        manager.create("10.0.1.2", 1, "w1", 9000, BACKUP)
        time.sleep(0.5)
    first = next(pair for pair in subflows(connection) if pair[0][0] == "10.0.0.2")
    connection.recv(1000)
    begun, waiting, worst, answers, sent = time.monotonic(), [], 0.0, 0, 0
    done = False
    while (now := time.monotonic() - begun) < 5:
        if now > 1:
            world.kill(0)
        if now > 1.05 and not done:
            done = True
            with world.client:
                for step in reaction.split(", "):
                    {"nothing": lambda: "", "SET_FLAGS backup": lambda: manager.set_flags(*first, BACKUP),
                     "SUBFLOW_DESTROY": lambda: manager.destroy(*first), "REMOVE": lambda: manager.remove(0)}[step]()
        if now < 4:
            connection.send(bytes(64))
            waiting.append(time.monotonic())
        deadline = time.monotonic() + 0.01
        while (left := deadline - time.monotonic()) > 0:
            if select.select([connection], [], [], left)[0]:
                answers += len(connection.recv(65536))
                while answers >= 64 and waiting:
                    answers -= 64
                    worst = max(worst, time.monotonic() - waiting.pop(0))
    if waiting:
        worst = time.monotonic() - waiting[0]
    print(f"{reaction}: longest wait {1e3 * worst:.0f} ms{' (never answered)' if waiting else ''}", flush=True)
    connection.close()
    listener.close()
world.close()
