"""A client of mpathd's that holds its socket's lock: the argument of setsockopt(2) faults, and the fault is answered late.

hold-lock.py SOCKET: asks mpathd to prepare such a socket, lets it go when standard input ends, and prints the answer. It takes
CAP_SYS_PTRACE, for userfaultfd(2); who has a file system of their own could do it with that.
"""
import ctypes
import json
import mmap
import os
import socket
import struct
import sys
import threading
from fcntl import ioctl

# linux/userfaultfd.h; the system call's number is that of x86-64 and arm64.
SYS_USERFAULTFD = {"x86_64": 323, "aarch64": 282}[os.uname().machine]
UFFDIO_API, UFFDIO_REGISTER, UFFDIO_ZEROPAGE = 0xC018AA3F, 0xC020AA00, 0xC020AA04
REGISTER_MISSING = 1
libc = ctypes.CDLL(None, use_errno=True)

faults = libc.syscall(SYS_USERFAULTFD, os.O_CLOEXEC)
if faults < 0:
    sys.exit("hold-lock.py: userfaultfd: " + os.strerror(ctypes.get_errno()))
ioctl(faults, UFFDIO_API, bytearray(struct.pack("QQQ", 0xAA, 0, 0)))

page = mmap.mmap(-1, mmap.PAGESIZE, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
start = ctypes.addressof(ctypes.c_char.from_buffer(page))
ioctl(faults, UFFDIO_REGISTER, bytearray(struct.pack("QQQQ", start, mmap.PAGESIZE, REGISTER_MISSING, 0)))
held = socket.socket(socket.AF_INET, socket.SOCK_STREAM, 262)
# Not the module's own setsockopt, which lets no other thread of Python run meanwhile.
holder = threading.Thread(
    target=libc.setsockopt,
    args=(held.fileno(), socket.SOL_SOCKET, socket.SO_BINDTODEVICE, ctypes.c_void_p(start), 4))
holder.start()
# The kernel asks for the page when it has the lock.
os.read(faults, 32)

daemon = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
daemon.settimeout(60)
daemon.connect(sys.argv[1])
daemon.send(b'{"v":1,"id":1,"op":"hello"}')
daemon.recv(65536)
socket.send_fds(daemon, [b'{"v":1,"id":2,"op":"prepare"}'], [held.fileno()])
sys.stdin.read()
ioctl(faults, UFFDIO_ZEROPAGE, bytearray(struct.pack("QQQq", start, mmap.PAGESIZE, 0, 0)))
holder.join()
print(json.loads(daemon.recv(65536)).get("error", "done"))
