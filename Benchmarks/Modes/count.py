"""Runs a command and counts the TCP packets on an interface meanwhile: count.py INTERFACE COMMAND…

What ARP and neighbour discovery say there is nobody's traffic. A line of JSON follows the command's output."""
import json
import socket
import struct
import subprocess
import sys
import threading

TCP = 6
interface, command = sys.argv[1], sys.argv[2:]
watch = socket.socket(socket.AF_PACKET, socket.SOCK_DGRAM, socket.htons(3))
watch.bind((interface, 3))
watch.settimeout(0.1)
counted = {"packets": 0, "syns": 0, "bytes": 0}
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
        counted["packets"] += 1
        counted["bytes"] += size
        counted["syns"] += (packet[transport + 13] >> 1) & 1


counter = threading.Thread(target=count)
counter.start()
status = subprocess.run(command).returncode
is_over.set()
counter.join()
print(json.dumps(counted), flush=True)
sys.exit(status)
