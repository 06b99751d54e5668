"""Connects RUNS times with aiohappyeyeballs; prints milliseconds, or - where there was none in 10 s.

connect.py RUNS HOST PORT
"""
import asyncio
import socket
import sys
import time

import aiohappyeyeballs


async def main(runs, host, port):
    loop = asyncio.get_running_loop()
    for _ in range(runs):
        start = time.perf_counter()
        try:
            infos = await loop.getaddrinfo(host, port, type=socket.SOCK_STREAM)
            sock = await asyncio.wait_for(
                aiohappyeyeballs.start_connection(infos, happy_eyeballs_delay=0.25, interleave=1), 10)
            print(f"{(time.perf_counter() - start) * 1e3:.2f}", flush=True)
            sock.close()
        except (OSError, asyncio.TimeoutError):
            print("-", flush=True)
        await asyncio.sleep(0.03)


asyncio.run(main(int(sys.argv[1]), sys.argv[2], int(sys.argv[3])))
