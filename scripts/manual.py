#!/usr/bin/env python3
"""Makes a manual page of what a command says of itself: manual.py SECTION DATE < its --experimental-dump-help.

The first lines are the command's abstract and discussion, in which a line in capitals begins a section; then come its
options and, for each subcommand, the same.
"""
import json
import re
import sys


def safe(text):
    """A text as roff wants it: no line begins with a request, and what looks like one is none."""
    text = text.replace("\\", "\\e").replace("-", "\\-")
    return "\n".join("\\&" + line if line[:1] in (".", "'") else line for line in text.splitlines())


def names(argument):
    """`-v, --verbose`, or VALUE."""
    value = argument.get("valueName", "value")
    if argument["kind"] == "positional":
        return f"<{value}>" + ("..." if argument.get("isRepeating") else "")
    flags = [("--" if name["kind"] == "long" else "-") + name["name"] for name in argument.get("names", [])]
    text = ", ".join(sorted(flags, key=len))
    return f"{text} <{value}>" if argument["kind"] == "option" else text


def arguments(command):
    return [argument for argument in command.get("arguments", []) if argument.get("shouldDisplay", True)]


def discussion(text, heading=".SH"):
    """Sections begin with a line in capitals; indented lines keep their form."""
    lines = []
    for line in text.splitlines():
        if re.fullmatch(r"[A-Z][A-Z ]+", line):
            lines.append(f"{heading} {line}")
        elif line.startswith("  "):
            lines += [".nf", safe(line), ".fi"]
        else:
            lines.append(safe(line) if line else ".PP")
    text = "\n".join(lines)
    return text.replace(".fi\n.nf\n", "")


def options(command, title):
    lines = [title]
    for argument in arguments(command):
        help_text = " ".join(part for part in (argument.get("abstract"), argument.get("discussion")) if part)
        default = argument.get("defaultValue")
        if default:
            help_text += f" (default: {default})"
        lines += [".TP", f".B {safe(names(argument))}", safe(help_text) or "."]
    return lines


def synopsis(command, name):
    parts = []
    for argument in arguments(command):
        text = names(argument).split(", ")[-1]
        parts.append(f"[{text}]" if argument.get("isOptional") else text)
    return f".B {safe(name)}\n{safe(' '.join(parts))}"


def main():
    section, date = sys.argv[1:3]
    command = json.load(sys.stdin)["command"]
    name = command["commandName"]
    children = [child for child in command.get("subcommands", []) if child["commandName"] != "help"]
    lines = [
        f'.TH {name.upper()} {section} "{date}" swift\\-multipath "User Commands"', ".SH NAME",
        f"{name} \\- {safe(command.get('abstract', '').rstrip('.'))}", ".SH SYNOPSIS"]
    for child in children:
        lines += [synopsis(child, f"{name} {child['commandName']}"), ".br"]
    if not children:
        lines.append(synopsis(command, name))
    lines += [".SH DESCRIPTION", safe(command.get("abstract", "")), ".PP", discussion(command.get("discussion", ""))]
    lines += options(command, ".SH OPTIONS")
    for child in children:
        lines += [f".SH {child['commandName'].upper()}", safe(child.get("abstract", "")), ".PP"]
        lines += [discussion(child.get("discussion", ""), ".SS")] + options(child, ".PP")
    print("\n".join(line for line in lines if line))


if __name__ == "__main__":
    main()
