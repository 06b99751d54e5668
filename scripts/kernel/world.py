"""Two hosts and two paths between them, for the reproductions beside this file: no root, no netem, nothing but Python.

    client  w0 10.0.0.2 ──── 20 ms ──── 10.0.0.1 s0  server 10.9.9.9
            w1 10.0.1.2 ──── 40 ms ──── 10.0.1.1 s1

Each path carries 100 Mbit/s each way and has a drop-tail queue of 20 ms. `World()` enters namespaces of its own;
`with world.client:` and `with world.server:` are where sockets and commands then belong.
"""
import contextlib
import ctypes
import fcntl
import heapq
import mmap
import os
import select
import signal
import socket
import struct
import subprocess
import threading
import time

MPTCP = 262
SERVER = "10.9.9.9"
NEWUSER, NEWNET = 0x10000000, 0x40000000
libc = ctypes.CDLL(None, use_errno=True)


def check(status):
    if status < 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))


def sh(*commands):
    for command in commands:
        subprocess.run(command.split(), check=True)


def sysctl(name, value):
    with open("/proc/sys/net/" + name, "w") as file:
        file.write(str(value))


class Host:
    """A network namespace; entered by `with`."""

    def __init__(self):
        before = os.open("/proc/thread-self/ns/net", os.O_RDONLY)
        check(libc.unshare(NEWNET))
        self.file = os.open("/proc/thread-self/ns/net", os.O_RDONLY)
        check(libc.setns(before, NEWNET))
        self.outside = []

    def __enter__(self):
        self.outside.append(os.open("/proc/thread-self/ns/net", os.O_RDONLY))
        check(libc.setns(self.file, NEWNET))
        return self

    def __exit__(self, *_):
        outside = self.outside.pop()
        check(libc.setns(outside, NEWNET))
        os.close(outside)


class World:
    def __init__(self, round_trips=(0.020, 0.040), rate=100e6, queue=0.020):
        user, group = os.getuid(), os.getgid()
        # Root keeps its rights, above all to buffers that are larger than the limits.
        check(libc.unshare(NEWNET if user == 0 else NEWUSER | NEWNET))
        if user != 0:
            for name, text in (("setgroups", "deny"), ("uid_map", f"0 {user} 1"), ("gid_map", f"0 {group} 1")):
                with open("/proc/self/" + name, "w") as file:
                    file.write(text)
        self.client, self.server = Host(), Host()
        # One byte a path: 1 while it drops everything in silence.
        self.dead = mmap.mmap(-1, 2)
        wires = []
        for path in (0, 1):
            for host, name in ((self.client, f"w{path}"), (self.server, f"s{path}")):
                sh(f"ip link add {name}x type veth peer name {name}")
                subprocess.run(f"ip link set {name} netns /proc/self/fd/{host.file}".split(), check=True,
                               pass_fds=[host.file])
                sh(f"ip link set {name}x up")
                wires.append(f"{name}x")
        for host, name, number in ((self.client, "w", 2), (self.server, "s", 1)):
            with host:
                sh("ip link set lo up")
                for file in ("all", "default"):
                    sysctl(f"ipv4/conf/{file}/rp_filter", 0)
                for path in (0, 1):
                    sh(f"ip address add 10.0.{path}.{number}/24 dev {name}{path}", f"ip link set {name}{path} up")
                    no_offload(f"{name}{path}")
        with self.client:
            sh("ip route add default via 10.0.0.1 dev w0 metric 1", "ip route add default via 10.0.1.1 dev w1 metric 2")
        with self.server:
            sh(f"ip address add {SERVER}/32 dev lo")
            sysctl("ipv4/ip_forward", 0)
        links = [open_frames(name) for name in wires]
        self.wire = os.fork()
        if self.wire == 0:
            libc.prctl(1, signal.SIGKILL)  # PR_SET_PDEATHSIG: it ends with this program.
            carry(links, round_trips, rate, queue, self.dead)
        with self.client:
            # Its handshakes with the neighbours are over before anything is measured.
            for path in (0, 1):
                subprocess.run(f"ping -q -c 2 -i 0.2 -I w{path} 10.0.{path}.1".split(), stdout=subprocess.DEVNULL, check=True)

    def close(self):
        os.kill(self.wire, signal.SIGKILL)

    def kill(self, path):
        """Everything on a path is dropped from now on, and nothing says so."""
        self.dead[path] = 1

    def listen(self, port, **options):
        with self.server:
            listener = mptcp(**options)
            listener.bind((SERVER, port))
            listener.listen()
        return listener

    def sink(self, port):
        """A listener that reads all that its first connection brings."""
        listener = self.listen(port)

        def take():
            connection, _ = listener.accept()
            while connection.recv(65536):
                pass

        threading.Thread(target=take, daemon=True).start()

    def connect(self, port, interface="w0", **options):
        """A connection whose first subflow leaves by that interface."""
        with self.client:
            connection = mptcp(**options)
            if interface:
                connection.setsockopt(socket.SOL_SOCKET, socket.SO_BINDTODEVICE, interface.encode() + b"\0")
            connection.connect((SERVER, port))
        return connection

    def endpoint(self, path, flags):
        with self.client:
            sh("ip mptcp limits set subflows 8 add_addr_accepted 8",
               f"ip mptcp endpoint add 10.0.{path}.2 dev w{path} {flags}")

    def restore(self):
        """The first path as it was in the beginning, and no endpoints: for the next connection."""
        with self.client:
            sh("ip mptcp endpoint flush", "ip link set w0 down", "ip address flush dev w0",
               "ip address add 10.0.0.2/24 dev w0", "ip link set w0 up",
               "ip route replace default via 10.0.0.1 dev w0 metric 1")
        time.sleep(0.5)


def longest_pause(receiver, seconds, steps):
    """Reads for so long, and takes steps on the way: (seconds, what to call), in their order. The longest time in which nothing
    came since the first of them, in milliseconds."""
    begun = last = time.monotonic()
    waiting, worst = list(steps), 0.0
    receiver.settimeout(3)
    while (now := time.monotonic()) < begun + seconds:
        if waiting and now > begun + waiting[0][0]:
            waiting.pop(0)[1]()
        if not receiver.recv(1 << 20):
            break
        now = time.monotonic()
        if len(waiting) < len(steps):
            worst = max(worst, now - last)
        last = now
    return round(1e3 * worst)


def mptcp(send_buffer=None):
    made = socket.socket(socket.AF_INET, socket.SOCK_STREAM, MPTCP)
    made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    made.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    if send_buffer:
        set_buffer(made, "SNDBUF", send_buffer)
    return made


def set_buffer(any_socket, name, size):
    """SO_SNDBUFFORCE or SO_RCVBUFFORCE; without the right to that as much as the limits allow."""
    try:
        any_socket.setsockopt(socket.SOL_SOCKET, {"SNDBUF": 32, "RCVBUF": 33}[name], size)
    except PermissionError:
        any_socket.setsockopt(socket.SOL_SOCKET, getattr(socket, "SO_" + name), size)


@contextlib.contextmanager
def userspace():
    """Sockets that are made within have the userspace path manager."""
    sysctl("mptcp/path_manager", "userspace")
    yield
    sysctl("mptcp/path_manager", "kernel")


# What a connection's kernel counts (struct mptcp_info, linux/mptcp.h).

def info(connection):
    data = connection.getsockopt(284, 1, 512)
    retransmitted, = struct.unpack_from("=Q", data, 48)
    return {"subflows": data[0], "token": struct.unpack_from("=I", data, 12)[0], "retransmitted": retransmitted}


def send_buffers(host):
    """The send buffer of each established subflow of a host's, in bytes, by local address: ss shows sk_sndbuf as `tb`."""
    with host:
        text = subprocess.run("ss -tmniOH state established".split(), capture_output=True, text=True, check=True).stdout
    found = {}
    for line in text.splitlines():
        address = line.split()[2].rpartition(":")[0].partition("%")[0]
        found[address] = int(line.partition(",tb")[2].partition(",")[0])
    return found


def counter(host, name):
    """One of a host's counters of MPTCP (nstat)."""
    with host, open("/proc/net/netstat") as file:
        lines = [line.split() for line in file if line.startswith("MPTcpExt:")]
    return int(dict(zip(*lines))[name])


def subflows(connection):
    """((address, port), (address, port)) of each subflow, local and remote: MPTCP_SUBFLOW_ADDRS."""
    size, most = 256, 16
    buffer = ctypes.create_string_buffer(16 + most * size)
    struct.pack_into("=IIII", buffer, 0, 16, 0, 0, size)
    length = ctypes.c_uint32(len(buffer))
    check(libc.getsockopt(connection.fileno(), 284, 3, buffer, ctypes.byref(length)))
    count, = struct.unpack_from("=I", buffer, 4)

    def end(place):
        port, = struct.unpack_from("!H", buffer, place + 2)
        return socket.inet_ntoa(buffer.raw[place + 4:place + 8]), port
    return [(end(16 + number * size), end(16 + number * size + size // 2)) for number in range(count)]


# Orders to the userspace path manager: generic netlink's family mptcp_pm (linux/mptcp_pm.h).

REMOVE, CREATE, DESTROY, SET_FLAGS = 9, 10, 11, 7
BACKUP = 4


def attribute(kind, value):
    return struct.pack("=HH", 4 + len(value), kind) + value + bytes(-len(value) % 4)


def address(host, port=None, number=None, interface=None, flags=None):
    """An address nest's content."""
    data = attribute(1, struct.pack("=H", socket.AF_INET)) + attribute(3, socket.inet_aton(host))
    if number is not None:
        data += attribute(2, bytes([number]))
    if port is not None:
        data += attribute(5, struct.pack("=H", port))
    if flags is not None:
        data += attribute(6, struct.pack("=I", flags))
    if interface is not None:
        data += attribute(7, struct.pack("=i", socket.if_nametoindex(interface)))
    return data


class PathManager:
    """Orders for one connection, of a socket of this namespace. Each returns "ok" or the kernel's error."""

    def __init__(self, connection):
        self.token = info(connection)["token"]
        self.netlink = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 16)
        self.netlink.bind((0, 0))
        # Without a listener of its events the userspace path manager takes no joins.
        reply = self.ask(16, 3, attribute(2, b"mptcp_pm\0"))
        self.family = struct.unpack_from("=H", dict(parse(reply[20:]))[1])[0]
        self.events = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 16)
        self.events.bind((0, 0))
        for _, group in parse(dict(parse(reply[20:]))[7]):
            fields = dict(parse(group))
            if fields[1].startswith(b"mptcp_pm_events"):
                self.events.setsockopt(270, 1, struct.unpack("=I", fields[2])[0])

    def ask(self, family, command, body):
        payload = struct.pack("=BBH", command, 1, 0) + body
        self.netlink.send(struct.pack("=IHHII", 16 + len(payload), family, 5, 1, 0) + payload)
        reply = self.netlink.recv(65536)
        if struct.unpack_from("=H", reply, 4)[0] != 2:
            # The acknowledgement follows the answer.
            self.netlink.recv(65536)
        return reply

    def order(self, command, *nests, **single):
        body = attribute(4, struct.pack("=I", self.token))
        for kind, nest in nests:
            body += attribute(kind | 0x8000, nest)
        if "number" in single:
            body += attribute(5, bytes([single["number"]]))
        reply = self.ask(self.family, command, body)
        error = -struct.unpack_from("=i", reply, 16)[0]
        return "ok" if error == 0 else os.strerror(error)

    def create(self, host, number, interface, port, flags=None):
        return self.order(CREATE, (1, address(host, None, number, interface, flags)), (6, address(SERVER, port)))

    def destroy(self, local, remote):
        return self.order(DESTROY, (1, address(*local)), (6, address(*remote)))

    def set_flags(self, local, remote, flags):
        return self.order(SET_FLAGS, (1, address(*local, flags=flags)), (6, address(*remote)))

    def remove(self, number):
        return self.order(REMOVE, number=number)


def parse(data):
    while len(data) >= 4:
        length, kind = struct.unpack_from("=HH", data)
        if length < 4:
            return
        yield kind & 0x3FFF, data[4:length]
        data = data[(length + 3) & ~3:]


# The paths.

def no_offload(name):
    """Packets as they are on a wire: no larger than the MTU, with their checksums."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as any_socket:
        for command in (0x17, 0x1F, 0x24):  # ETHTOOL_STXCSUM, ETHTOOL_STSO, ETHTOOL_SGSO
            value = ctypes.create_string_buffer(struct.pack("=II", command, 0))
            fcntl.ioctl(any_socket, 0x8946, struct.pack("16sP16x", name.encode(), ctypes.addressof(value)))


def open_frames(name):
    no_offload(name)
    frames = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(3))
    set_buffer(frames, "RCVBUF", 8 << 20)
    frames.bind((name, 3))
    frames.setblocking(False)
    return frames


def carry(links, round_trips, rate, queue, dead):
    """Takes frames from each end to the other. `links` has client and server of path 0, then of path 1."""
    due, order = [], 0
    # When each direction's transmitter is done.
    free = [0.0] * 4
    poll = select.poll()
    for link in links:
        poll.register(link, select.POLLIN)
    numbers = {link.fileno(): number for number, link in enumerate(links)}
    while True:
        now = time.monotonic()
        while due and due[0][0] <= now:
            _, _, number, frame = heapq.heappop(due)
            if not dead[number // 2]:
                with contextlib.suppress(OSError):
                    links[number ^ 1].send(frame)
        wait = max(due[0][0] - time.monotonic(), 0) if due else 1
        # Less than a millisecond is not slept.
        for file, _ in poll.poll(int(wait * 1000)):
            number = numbers[file]
            for _ in range(64):
                try:
                    frame, origin = links[number].recvfrom(65536)
                except BlockingIOError:
                    break
                except OSError:
                    break
                if origin[2] == socket.PACKET_OUTGOING:
                    continue
                now = time.monotonic()
                begin = max(now, free[number])
                if begin - now > queue:
                    continue
                free[number] = begin + len(frame) * 8 / rate
                order += 1
                heapq.heappush(due, (free[number] + round_trips[number // 2] / 2, order, number, frame))
