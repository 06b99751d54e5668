# A server of HTTP/1.1 over MPTCP, and of SSH where a third argument names sshd's configuration: server.py FOLDER LOG [CONFIG]
# Port 8000 serves a folder's files, port 2222 runs sshd for each connection. Each connection is a line of the log: mptcp or tcp.
import os, socket, subprocess, sys, threading

MPTCP, SOL_MPTCP, MPTCP_INFO, FALLBACK = 262, 284, 1, 1
folder, log = sys.argv[1], open(sys.argv[2], "a", buffering=1)


def kind(connection):
    try:
        info = connection.getsockopt(SOL_MPTCP, MPTCP_INFO, 96)
    except OSError:
        return "tcp"
    return "tcp" if int.from_bytes(info[8:12], sys.byteorder) & FALLBACK else "mptcp"


def answer(connection):
    buffer = b""
    while True:
        while b"\r\n\r\n" not in buffer:
            data = connection.recv(65536)
            if not data:
                return
            buffer += data
        head, buffer = buffer.split(b"\r\n\r\n", 1)
        method, target = head.split(b"\r\n")[0].split()[:2]
        path = os.path.normpath(folder + "/" + target.decode().split("?")[0])
        if path.startswith(folder) and os.path.isfile(path):
            status, body = "200 OK", open(path, "rb").read()
        else:
            status, body = "404 Not Found", b"there is no such file\n"
        connection.sendall(
            f"HTTP/1.1 {status}\r\nContent-Length: {len(body)}\r\nContent-Type: application/octet-stream\r\n\r\n".encode()
            + (body if method != b"HEAD" else b"")
        )
        if b"connection: close" in head.lower() or b"HTTP/1.0" in head:
            return


def serve_files(connection):
    try:
        answer(connection)
        connection.shutdown(socket.SHUT_WR)
    except OSError:
        pass
    connection.close()


def serve_shell(connection):
    subprocess.run(["/usr/sbin/sshd", "-i", "-e", "-f", sys.argv[3]], stdin=connection, stdout=connection)
    connection.close()


def listen(port, serve):
    listener = socket.socket(socket.AF_INET6, socket.SOCK_STREAM, MPTCP)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    listener.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 0)
    # Every connection has its listener's; CONGESTION names one, as tcp(7) does.
    if "CONGESTION" in os.environ:
        listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, os.environ["CONGESTION"].encode())
    listener.bind(("::", port))
    listener.listen(512)

    def accept():
        while True:
            connection = listener.accept()[0]
            log.write(kind(connection) + "\n")
            threading.Thread(target=serve, args=(connection,), daemon=True).start()

    threading.Thread(target=accept).start()


listen(8000, serve_files)
if len(sys.argv) > 3:
    listen(2222, serve_shell)
