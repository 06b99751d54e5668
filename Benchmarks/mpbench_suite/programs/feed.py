"""Writes BYTES bytes to standard output at RATE bytes a second, at most: feed.py BYTES RATE"""
import sys
import time

CHUNK = bytes(range(256)) * 64


def chunks(size):
    """The bytes, in pieces of 16 KiB."""
    for start in range(0, size, len(CHUNK)):
        yield CHUNK[:size - start]


def main():
    size, rate = int(sys.argv[1]), float(sys.argv[2])
    begun, sent = time.monotonic(), 0
    for chunk in chunks(size):
        sys.stdout.buffer.write(chunk)
        sent += len(chunk)
        early = begun + sent / rate - time.monotonic()
        if early > 0:
            sys.stdout.buffer.flush()
            time.sleep(early)


if __name__ == "__main__":
    main()
