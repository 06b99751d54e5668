#!/usr/bin/env python3
"""Checks comments and names against the project's words: check-prose.py [FILE…]

A comment names its actor ("the registry", "the kernel", "the caller"): "nobody", "somebody" and "whoever" may stand in
at most 15 lines of comments, "who is" in none. Words that were replaced by the field's own stand in no comment, in no name
and on no page of documentation. Exit status: 0 where all is well, else 1 with a line for each place.
"""
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
KINDS = {
    ".swift": r"//.*", ".h": r"//.*|/\*.*", ".c": r"//.*|/\*.*", ".py": r"#.*|\"\"\".*", ".sh": r"#.*", "": r"#.*",
    # A page has no comments.
    ".md": r"(?!)"}
MOST = 15
VAGUE = re.compile(r"\b(nobody|somebody|whoever)\b", re.IGNORECASE)
RIDDLE = re.compile(r"\bwho is\b", re.IGNORECASE)
# In names and comments, with what stands in their place.
RETIRED = {
    r"\b[kK]nock(s|ed|ing)?\b|\b[kK]nocks?[A-Z]": "probe",
    r"\b[rR]umours?\b": "shared verdict",
    r"\bPathMemory\b": "PathState",
    r"\b[pP]arting\b": "handoff",
    r"\bon trial\b": "validating",
    r"\b[nN]ewcomers?\b|\btakeOn\b": "deferred start",
    r"\bConnectionWish\b": "ConnectRequest",
    r"\bRestingNotes?\b|\brestingNotes\b": "sysctl journal",
    r"\bModeMachine\b|\bModeAction\b|\bModeConfiguration\b": "SteeringMachine, SteeringAction, SteeringConfiguration",
    r"\bConnectionMeter\b": "TransferMeter",
    r"\bawaitsBytes\b": "expectsData",
    r"\b([uU]ns|[sS])upervis(ed?|es|ing|ion)\b": "follow",
}


def files(names):
    """The project's code, as git knows it, new files included."""
    listed = names or subprocess.run(
        ["git", "-C", str(ROOT), "ls-files", "--cached", "--others", "--exclude-standard"],
        capture_output=True, text=True, check=True).stdout.splitlines()
    for name in listed:
        path = ROOT / name
        if path.suffix in KINDS and path.is_file() and (path.suffix or path.name in ("Makefile", "run", "mpbench")):
            if path != pathlib.Path(__file__).resolve():
                yield path


def comments(path, text):
    """(number of the line, what is a comment of it)"""
    pattern, is_docstring = re.compile(KINDS[path.suffix]), False
    for number, line in enumerate(text.splitlines(), 1):
        if path.suffix == ".py":
            quotes = line.count('"""')
            if is_docstring or quotes:
                yield number, line
            is_docstring ^= quotes % 2 == 1
            if quotes or is_docstring:
                continue
        found = pattern.search(line)
        if found:
            yield number, found[0]


def main():
    vague, errors = [], []
    for path in files(sys.argv[1:]):
        text, name = path.read_text(), path.relative_to(ROOT)
        for number, comment in comments(path, text):
            if VAGUE.search(comment):
                vague.append(f"{name}:{number}: {comment.strip()}")
            if RIDDLE.search(comment):
                errors.append(f"{name}:{number}: say which one: {comment.strip()}")
        for number, line in enumerate(text.splitlines(), 1):
            for pattern, better in RETIRED.items():
                found = re.search(pattern, line)
                if found:
                    errors.append(f"{name}:{number}: {found[0]!r} is {better} now")
    if len(vague) > MOST:
        errors += vague + [f"{len(vague)} comments with nobody, somebody or whoever; at most {MOST}: name the actor"]
    for error in errors:
        print(f"check-prose: {error}", file=sys.stderr)
    sys.exit(bool(errors))


if __name__ == "__main__":
    main()
