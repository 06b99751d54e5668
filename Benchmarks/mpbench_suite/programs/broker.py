"""Runs a command beside an mpathd of its own: broker.py MPATHD COMMAND…

The broker's socket is in the current folder, and MPATHD_SOCKET names it to the command. The exit status is the
command's.
"""
import os
import subprocess
import sys
import time

# What runs a command without any privilege.
RIGHTLESS = ["setpriv", "--inh-caps=-all", "--ambient-caps=-all", "--bounding-set=-all", "--no-new-privs"]


def as_user(number, right=None):
    """The words that run a command as a user of this number, with one privilege or none."""
    rights = f"-all,+{right}" if right else "-all"
    return ["setpriv", f"--reuid={number}", f"--regid={number}", "--clear-groups", f"--inh-caps={rights}",
            f"--ambient-caps={rights}", f"--bounding-set={rights}"]


def environment(folder):
    """That of a program whose broker has its socket in a folder."""
    return os.environ | {"MPATHD_SOCKET": f"{folder}/mpathd.sock"}


def start(mpathd, folder, before=(), **more):
    """An mpathd that answers, in a folder of its own; `before` are the words that run it, `more` are Popen's."""
    process = subprocess.Popen([*before, mpathd, "--listen", f"{folder}/mpathd.sock"], stdout=subprocess.DEVNULL,
                               env=os.environ | {"RUNTIME_DIRECTORY": str(folder)}, **more)
    limit = time.monotonic() + 10
    while subprocess.run([mpathd, "--status"], capture_output=True, env=environment(folder)).returncode:
        if time.monotonic() > limit:
            process.kill()
            sys.exit("mpathd does not answer")
        time.sleep(0.02)
    return process


def end(process):
    process.terminate()
    process.wait()


def main():
    mpathd, command, folder = sys.argv[1], sys.argv[2:], os.getcwd()
    process = start(mpathd, folder)
    try:
        status = subprocess.run(command, env=environment(folder)).returncode
    finally:
        end(process)
    sys.exit(status)


if __name__ == "__main__":
    main()
