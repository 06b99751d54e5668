"""Connects RUNS times with aiohappyeyeballs; prints each one's milliseconds, or - where none came within LIMIT seconds (10).

connect.py RUNS HOST PORT
"""
import asyncio
import os
import socket
import sys
import time

import aiohappyeyeballs


async def main(runs, host, port):
    loop = asyncio.get_running_loop()
    limit = float(os.environ.get("LIMIT", "10"))
    for _ in range(runs):
        start = time.perf_counter()
        try:
            infos = await loop.getaddrinfo(host, port, type=socket.SOCK_STREAM)
            sock = await asyncio.wait_for(
                aiohappyeyeballs.start_connection(infos, happy_eyeballs_delay=0.25, interleave=1), limit)
            print(f"{(time.perf_counter() - start) * 1e3:.2f}", flush=True)
            sock.close()
        except (OSError, asyncio.TimeoutError):
            print("-", flush=True)
        await asyncio.sleep(0.03)


if __name__ == "__main__":
    asyncio.run(main(int(sys.argv[1]), sys.argv[2], int(sys.argv[3])))
