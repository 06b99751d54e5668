"""Where the benchmarks' files are, and what a run's programs find in their environment."""
import os
import pathlib
import sys

SUITE = pathlib.Path(__file__).resolve().parent
BENCHMARKS = SUITE.parent
PROJECT = BENCHMARKS.parent
PROGRAMS = SUITE / "programs"
PEERS = BENCHMARKS / "Peers"
# What `make bench` builds: the commands, and the benchmarks' own programs.
COMMANDS = PROJECT / ".build/release"
OWN_COMMANDS = BENCHMARKS / ".build/release"
# What scripts/setup.sh installs from PyPI, for this package and for the peers that are programs in Python.
PACKAGES = BENCHMARKS / ".build/peers"


def prepare():
    """Has this process, and the programs that it starts, find the packages and the commands in /usr/sbin and /sbin."""
    sys.path.append(str(PACKAGES))
    os.environ["PYTHONPATH"] = f"{os.environ.get('PYTHONPATH', '')}:{PACKAGES}".lstrip(":")
    os.environ["PATH"] += f":{PACKAGES / 'bin'}:/usr/sbin:/sbin"
