"""Sends its input to a host by MPTCP, closes its own end, and writes what comes: fetch.py HOST PORT."""
import os
import socket
import sys

MPTCP = 262


def main():
    connection = socket.socket(socket.AF_INET, socket.SOCK_STREAM, MPTCP)
    connection.connect((sys.argv[1], int(sys.argv[2])))
    while data := os.read(0, 65536):
        connection.sendall(data)
    connection.shutdown(socket.SHUT_WR)
    while data := connection.recv(65536):
        os.write(1, data)


if __name__ == "__main__":
    main()
