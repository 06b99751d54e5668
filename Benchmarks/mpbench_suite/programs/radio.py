"""Makes a trace of a radio link, in mahimahi's format (mm-link(1)): radio.py lte|umts SEED SECONDS.

Each line is the millisecond at which 1,504 bytes may leave. The rate wanders as a moving phone's does: its logarithm
goes back to a middle by itself and is pushed at random every 20 ms; now and then, in a handover or a tunnel, nothing goes
for a while. Standard output has the trace; the same seed makes the same one.
"""
import math
import random
import sys

BYTES = 1504
STEP = 0.02
# Mbit/s in the middle; how wide the rate's logarithm spreads, and in how many seconds it forgets; seconds from one
# outage to the next, and the longest outage.
KINDS = {"lte": (12.0, 0.9, 3.0, 15.0, 0.6), "umts": (1.8, 0.7, 4.0, 12.0, 1.2)}


def opportunities(kind, seed, seconds):
    """The milliseconds, in order."""
    middle, spread, memory, between, longest = KINDS[kind]
    rng = random.Random(f"{kind} {seed}")
    level, credit, outage, times = 0.0, 0.0, 0.0, []
    for step in range(int(seconds / STEP)):
        keep = math.exp(-STEP / memory)
        level = level * keep + rng.gauss(0, spread * math.sqrt(1 - keep * keep))
        if outage > 0:
            outage -= STEP
            continue
        if rng.random() < STEP / between:
            outage = rng.uniform(0.1, longest)
        # A scheduler gives a phone a few slots at a time.
        credit += middle * 1e6 * math.exp(level) * STEP / 8 / BYTES
        count = int(credit)
        credit -= count
        begin = 1e3 * step * STEP
        times += sorted(int(begin + rng.choice((0, 4, 8, 12, 16)) + rng.random() * 2) for _ in range(count))
    # The last line is the trace's length.
    return sorted(times) + [int(1e3 * seconds)]


def main():
    kind, seed, seconds = sys.argv[1], int(sys.argv[2]), float(sys.argv[3])
    print("\n".join(map(str, opportunities(kind, seed, seconds))))


if __name__ == "__main__":
    main()
