"""A client of mpathd's that holds its socket's lock: the argument of setsockopt(2) faults, and the fault is answered late.

hold-lock.py SOCKET COUNT: has mpathd prepare such sockets until so many were refused for that, and prints what became of each. It takes
CAP_SYS_PTRACE, for userfaultfd(2); who has a file system of their own could do it with that.

Two threads take the lock by turns, 20 ms each. One of them always waits for it, and so comes next after each of mpathd's looks at the
socket, and before what mpathd does to it while the setting is changed.
"""
import collections
import ctypes
import json
import mmap
import os
import socket
import struct
import sys
import threading
import time
from fcntl import ioctl

# linux/userfaultfd.h; the system call's number is that of x86-64 and arm64.
SYS_USERFAULTFD = {"x86_64": 323, "aarch64": 282}[os.uname().machine]
UFFDIO_API, UFFDIO_REGISTER, UFFDIO_ZEROPAGE = 0xC018AA3F, 0xC020AA00, 0xC020AA04
REGISTER_MISSING = 1
HELD, PATIENCE = 0.02, 60
libc = ctypes.CDLL(None, use_errno=True)

faults = libc.syscall(SYS_USERFAULTFD, os.O_CLOEXEC)
if faults < 0:
    sys.exit("hold-lock.py: userfaultfd: " + os.strerror(ctypes.get_errno()))
ioctl(faults, UFFDIO_API, bytearray(struct.pack("QQQ", 0xAA, 0, 0)))


def answer_faults():
    while True:
        address = struct.unpack_from("Q", os.read(faults, 32), 16)[0]
        time.sleep(HELD)
        page = address & ~(mmap.PAGESIZE - 1)
        ioctl(faults, UFFDIO_ZEROPAGE, bytearray(struct.pack("QQQq", page, mmap.PAGESIZE, 0, 0)))


def hold(held, is_over):
    """Takes the lock again and again."""
    page = mmap.mmap(-1, mmap.PAGESIZE, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    start = ctypes.addressof(ctypes.c_char.from_buffer(page))
    ioctl(faults, UFFDIO_REGISTER, bytearray(struct.pack("QQQQ", start, mmap.PAGESIZE, REGISTER_MISSING, 0)))
    while not is_over.is_set():
        # Not the module's own setsockopt, which lets no other thread of Python run meanwhile.
        libc.setsockopt(held.fileno(), socket.SOL_SOCKET, socket.SO_BINDTODEVICE, ctypes.c_void_p(start), 4)
        # The page is missing again.
        page.madvise(mmap.MADV_DONTNEED)


threading.Thread(target=answer_faults, daemon=True).start()
daemon = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
daemon.settimeout(PATIENCE)
daemon.connect(sys.argv[1])
daemon.send(b'{"v":1,"id":1,"op":"hello"}')
daemon.recv(65536)
answers = collections.Counter()
limit = time.monotonic() + PATIENCE
while answers["socket_held"] < int(sys.argv[2]) and time.monotonic() < limit:
    held, is_over = socket.socket(socket.AF_INET, socket.SOCK_STREAM, 262), threading.Event()
    holders = [threading.Thread(target=hold, args=(held, is_over)) for _ in range(2)]
    for holder in holders:
        holder.start()
    socket.send_fds(daemon, [json.dumps({"v": 1, "id": sum(answers.values()) + 2, "op": "prepare"}).encode()], [held.fileno()])
    answers[json.loads(daemon.recv(65536)).get("error", "done")] += 1
    is_over.set()
    for holder in holders:
        holder.join()
    held.close()
print(", ".join(f"{count} {answer}" for answer, count in answers.items()))
