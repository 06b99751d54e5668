#!/usr/bin/env python3
"""Checks that folders import downward: from no folder of a target do uses of types lead back to it.

check-imports.py [TARGET…]; without one, the targets below. A folder uses another one where a file of it names a type
that a file of the other declares outside of any other type. Exit status: 0 without a circle, else 1 with the folders
of each, and one type for each folder that they use.
"""
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
TARGETS = [
    "Multipath", "MultipathHTTP", "MultipathWebSocket", "PathBroker", "PathCore", "LinuxNet", "LabNet", "NetworkLab"]
DECLARATION = re.compile(
    r"^(?:@\w+(?:\([^)]*\))? )*(?:(?:public|package|internal|final|indirect|nonisolated) )*"
    r"(?:struct|class|enum|protocol|actor|typealias) (\w+)", re.MULTILINE)
WORD = re.compile(r"\b[A-Z]\w+\b")
NOT_CODE = re.compile(r"//[^\n]*|\"(?:\\.|[^\"\\\n])*\"")


def arrows(target):
    """{folder: {other folder: a type of it}}; a file in the target's own folder stands for no folder."""
    code = {}
    for path in sorted((ROOT / "Sources" / target).rglob("*.swift")):
        parts = path.relative_to(ROOT / "Sources" / target).parts
        if len(parts) > 1:
            code.setdefault(parts[0], []).append(NOT_CODE.sub("", path.read_text()))
    homes = {}
    for folder, texts in code.items():
        for text in texts:
            for name in DECLARATION.findall(text):
                homes.setdefault(name, set()).add(folder)
    found = {}
    for folder, texts in code.items():
        for text in texts:
            for word in set(WORD.findall(text)):
                # A name that stands in several folders does not say which one is meant.
                if len(homes.get(word, ())) == 1 and folder not in homes[word]:
                    found.setdefault(folder, {}).setdefault(next(iter(homes[word])), word)
    return found


def circles(found):
    """The folders that lead back to themselves."""
    def reached(start):
        seen, rest = set(), [start]
        while rest:
            for other in found.get(rest.pop(), {}):
                if other not in seen:
                    seen.add(other)
                    rest.append(other)
        return seen
    reach = {folder: reached(folder) for folder in found}
    return sorted(folder for folder in found if folder in reach[folder])


def main():
    is_bad = False
    for target in sys.argv[1:] or TARGETS:
        found = arrows(target)
        for folder in circles(found):
            is_bad = True
            uses = ", ".join(f"{other} ({word})" for other, word in sorted(found[folder].items()))
            print(f"check-imports: Sources/{target}/{folder} stands in a circle; it uses {uses}", file=sys.stderr)
    sys.exit(is_bad)


if __name__ == "__main__":
    main()
