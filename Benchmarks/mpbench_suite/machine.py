"""Where a run took place."""
import os
import pathlib
import subprocess


def describe():
    return {"cpu": cpu(), "cores": os.cpu_count(), "memory": memory(),
            "kernel": f"{os.uname().sysname} {os.uname().release}", "load": {"before": os.getloadavg()[0]}}


def cpu():
    for line in pathlib.Path("/proc/cpuinfo").read_text().splitlines():
        if line.lower().startswith(("model name", "cpu model")):
            return line.partition(":")[2].strip()
    return os.uname().machine


def memory():
    for line in pathlib.Path("/proc/meminfo").read_text().splitlines():
        if line.startswith("MemTotal"):
            return f"{int(line.split()[1]) / 1048576:.1f} GiB"
    return "unknown"


def commit(folder):
    def git(*words):
        return subprocess.run(["git", "-C", str(folder), *words], capture_output=True, text=True).stdout.strip()
    name = git("rev-parse", "HEAD")
    return f"{name} with changes" if name and git("status", "--porcelain", "--untracked-files=no") else name


def swift():
    result = subprocess.run(["swift", "--version"], capture_output=True, text=True)
    return next((line for line in result.stdout.splitlines() if "Swift version" in line), "unknown")
