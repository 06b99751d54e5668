"""Runs a command and counts the TCP packets on an interface meanwhile: count.py INTERFACE COMMAND…

ARP and neighbour discovery do not count, nor do packets that the lab's own look at its links left behind: a connection
counts from its SYN on. A line of JSON follows the command's output: packets and bytes of IP, bytes of payload each way
with the seconds from the first to the last, SYNs that left, and the milliseconds from each first SYN to its SYN-ACK."""
import json
import socket
import struct
import subprocess
import sys
import threading

TCP = 6
SYN, ACK = 2, 16
OUTGOING = 4
# SO_TIMESTAMPNS: when the kernel had the packet, not when this program read it.
TIMESTAMPNS = 35


def open_watch(interface):
    """A socket that receives all packets of an interface, with the kernel's time stamps."""
    watch = socket.socket(socket.AF_PACKET, socket.SOCK_DGRAM, socket.htons(3))
    watch.setsockopt(socket.SOL_SOCKET, TIMESTAMPNS, 1)
    watch.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 8 << 20)
    watch.bind((interface, 3))
    watch.settimeout(0.1)
    return watch


def count(watch, counted, is_over):
    """Counts into `counted` until `is_over` is set and no packet is left."""
    connections, first = {}, None
    while True:
        try:
            packet, ancillary, flags, address = watch.recvmsg(128, 64, socket.MSG_TRUNC)
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
        seconds, nanoseconds = struct.unpack("qq", ancillary[0][2])
        time = seconds + nanoseconds / 1e9
        ports = frozenset(struct.unpack("!HH", packet[transport:transport + 4]))
        bits = packet[transport + 13]
        if bits & SYN and not bits & ACK:
            counted["syns"] += address[2] == OUTGOING
            connections.setdefault(ports, time)
        elif bits & SYN and connections.get(ports):
            counted["handshakes"].append(1e3 * (time - connections[ports]))
            connections[ports] = 0.0
        if ports in connections:
            counted["packets"] += 1
            counted["bytes"] += size
            payload = size - transport - 4 * (packet[transport + 12] >> 4)
            counted["sent" if address[2] == OUTGOING else "received"] += payload
            if payload > 1000:
                first = first or time
                counted["seconds"] = time - first


def main():
    interface, command = sys.argv[1], sys.argv[2:]
    counted = {"packets": 0, "syns": 0, "bytes": 0, "sent": 0, "received": 0, "seconds": 0.0, "handshakes": []}
    is_over = threading.Event()
    counter = threading.Thread(target=count, args=(open_watch(interface), counted, is_over))
    counter.start()
    status = subprocess.run(command).returncode
    is_over.set()
    counter.join()
    print(json.dumps(counted), flush=True)
    sys.exit(status)


if __name__ == "__main__":
    main()
