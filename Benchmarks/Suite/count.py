"""Runs a command and counts the TCP packets on an interface meanwhile: count.py INTERFACE COMMAND…

What ARP and neighbour discovery say there is nobody's traffic, nor is what the lab's own look at its links left
behind: a connection counts from its SYN on. A line of JSON follows the command's output."""
import json
import socket
import struct
import subprocess
import sys
import threading

TCP = 6
SYN = 2
interface, command = sys.argv[1], sys.argv[2:]
watch = socket.socket(socket.AF_PACKET, socket.SOCK_DGRAM, socket.htons(3))
watch.bind((interface, 3))
watch.settimeout(0.1)
counted = {"packets": 0, "syns": 0, "bytes": 0}
connections = set()
is_over = threading.Event()


def count():
    while True:
        try:
            packet, ancillary, flags, address = watch.recvmsg(128, 0, socket.MSG_TRUNC)
        except socket.timeout:
            if is_over.is_set():
                return
            continue
        if address[1] == 0x0800 and packet[9] == TCP:
            size, transport = struct.unpack("!H", packet[2:4])[0], 4 * (packet[0] & 15)
        elif address[1] == 0x86DD and packet[6] == TCP:
            size, transport = 40 + struct.unpack("!H", packet[4:6])[0], 40
        else:
            continue
        ports = frozenset(struct.unpack("!HH", packet[transport:transport + 4]))
        if packet[transport + 13] & SYN:
            counted["syns"] += 1
            connections.add(ports)
        if ports in connections:
            counted["packets"] += 1
            counted["bytes"] += size


counter = threading.Thread(target=count)
counter.start()
status = subprocess.run(command).returncode
is_over.set()
counter.join()
print(json.dumps(counted), flush=True)
sys.exit(status)
