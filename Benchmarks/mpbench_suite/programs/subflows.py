"""Runs a command and notes which subflows come and go meanwhile: subflows.py COMMAND…

A line of JSON follows the command's output: for each event of the kernel's MPTCP in this network namespace
(linux/mptcp_pm.h) its time in seconds of the monotonic clock, its number and the connection's token.
"""
import json
import socket
import struct
import subprocess
import sys
import threading
import time

GENERIC, CONTROL_FAMILY, GET_FAMILY = 16, 16, 3
SOL_NETLINK, ADD_MEMBERSHIP = 270, 1
REQUEST = 1
HEADER, GENERIC_HEADER = 16, 4


def attributes(data):
    """(type, value) of each attribute."""
    while len(data) >= 4:
        length, kind = struct.unpack("=HH", data[:4])
        if length < 4 or length > len(data):
            return
        yield kind & 0x3FFF, data[4:length]
        data = data[(length + 3) & ~3:]


def messages(data):
    """(command, attributes) of each generic netlink message of a datagram."""
    while len(data) >= HEADER + GENERIC_HEADER:
        length, kind = struct.unpack("=IH", data[:6])
        if length < HEADER or length > len(data):
            return
        if kind >= CONTROL_FAMILY:
            yield data[HEADER], data[HEADER + GENERIC_HEADER:length]
        data = data[(length + 3) & ~3:]


def events_group(watch):
    """The number of the group mptcp_pm_events."""
    name = b"mptcp_pm\0"
    body = struct.pack("=BBH", GET_FAMILY, 1, 0) + struct.pack("=HH", 4 + len(name), 2) + name.ljust(12, b"\0")
    watch.send(struct.pack("=IHHII", HEADER + len(body), CONTROL_FAMILY, REQUEST, 1, 0) + body)
    for _, content in messages(watch.recv(65536)):
        for kind, groups in attributes(content):
            if kind != 7:
                continue
            for _, group in attributes(groups):
                found = dict(attributes(group))
                if found.get(1, b"").rstrip(b"\0") == b"mptcp_pm_events":
                    return struct.unpack("=I", found[2])[0]
    raise OSError("this kernel has no MPTCP events")


def listen(watch, seen, is_over):
    while not is_over.is_set():
        try:
            data = watch.recv(65536)
        except socket.timeout:
            continue
        now = time.monotonic()
        for command, content in messages(data):
            token = dict(attributes(content)).get(1)
            seen.append([now, command, struct.unpack("=I", token)[0] if token else 0])


def main():
    watch = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, GENERIC)
    watch.bind((0, 0))
    watch.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4 << 20)
    watch.setsockopt(SOL_NETLINK, ADD_MEMBERSHIP, events_group(watch))
    watch.settimeout(0.1)
    seen, is_over = [], threading.Event()
    listener = threading.Thread(target=listen, args=(watch, seen, is_over))
    listener.start()
    status = subprocess.run(sys.argv[1:]).returncode
    is_over.set()
    listener.join()
    print(json.dumps(seen), flush=True)
    sys.exit(status)


if __name__ == "__main__":
    main()
