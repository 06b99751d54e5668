#!/usr/bin/env python3
"""Compares the Swift code in the documentation with the code that is compiled: snippets.py [--write]

The nth block of a page (Documentation.docc/NAME.md, README.md) marked ```swift is the nth region of
Tests/DocumentationSnippets/NAME.swift, between a line `// snippet` and a line `// end`. A block may begin with imports,
which the file has to have. A block marked ```swift manifest is evaluated as a Package.swift.

--write puts the compiled code into the pages. Exit status: 0 where all is the same, else 1.
"""
import pathlib
import re
import subprocess
import sys
import tempfile
import textwrap

ROOT = pathlib.Path(__file__).resolve().parent.parent
SNIPPETS = ROOT / "Tests/DocumentationSnippets"
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "Documentation.docc").glob("*.md"))]
BLOCK = re.compile(r"^```(swift[^\n]*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
REGION = re.compile(r"^ *// snippet\n(.*?)^ *// end\n", re.MULTILINE | re.DOTALL)
IMPORTS = re.compile(r"\A(?:import \w+\n)+\n")
IMPORT = re.compile(r"^ *(?:public )?import (\w+)", re.MULTILINE)


def compare(page, is_writing):
    """The page's errors; with `is_writing` its blocks become what is compiled."""
    text, name = page.read_text(), page.relative_to(ROOT)
    source = SNIPPETS / f"{page.stem}.swift"
    code = source.read_text() if source.exists() else ""
    regions = [textwrap.dedent(region) for region in REGION.findall(code)]
    blocks = [match for match in BLOCK.finditer(text) if match[1] == "swift"]
    errors = []
    if len(blocks) != len(regions):
        errors.append(f"{name} has {len(blocks)} blocks of Swift, {source.relative_to(ROOT)} {len(regions)} regions")
    for match, region in reversed(list(zip(blocks, regions))):
        imports = IMPORTS.match(match[2])
        imports = imports[0] if imports else ""
        errors += [f"{name}: {source.name} does not import {module}"
                   for module in set(IMPORT.findall(imports)) - set(IMPORT.findall(code))]
        if match[2] == imports + region:
            continue
        if is_writing:
            text = text[:match.start(2)] + imports + region + text[match.end(2):]
        else:
            line = text.count("\n", 0, match.start()) + 1
            errors.append(f"{name}:{line}: not what {source.name} compiles; scripts/snippets.py --write takes it over")
    if is_writing:
        page.write_text(text)
    return errors


def evaluate(page):
    """Has SwiftPM read the manifests of a page."""
    errors = []
    for match in BLOCK.finditer(page.read_text()):
        if match[1] != "swift manifest":
            continue
        with tempfile.TemporaryDirectory() as folder:
            pathlib.Path(folder, "Package.swift").write_text(match[2])
            result = subprocess.run(["swift", "package", "--package-path", folder, "dump-package"],
                                    capture_output=True, text=True)
        if result.returncode != 0:
            errors.append(f"{page.relative_to(ROOT)}: the manifest: {result.stderr.strip()}")
    return errors


def main():
    is_writing = sys.argv[1:] == ["--write"]
    errors = []
    for page in PAGES:
        errors += compare(page, is_writing) + ([] if is_writing else evaluate(page))
    known = {page.stem for page in PAGES}
    errors += [f"{source.name} belongs to no page" for source in SNIPPETS.glob("*.swift") if source.stem not in known]
    for error in errors:
        print(f"snippets: {error}", file=sys.stderr)
    sys.exit(bool(errors))


if __name__ == "__main__":
    main()
