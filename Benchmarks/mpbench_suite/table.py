"""The table on the terminal, and the same in Markdown."""
import os
import sys

VERDICTS = {True: "met", False: "MISSED", None: ""}


def number(value):
    """As many digits as say something."""
    if value is None:
        return "–"
    if value == 0:
        return "0"
    size = abs(value)
    if size >= 100_000:
        return f"{value:.3g}" if size >= 1e9 else f"{value:,.0f}"
    return f"{value:.0f}" if size >= 100 else f"{value:.1f}" if size >= 10 else f"{value:.2f}" \
        if size >= 0.1 else f"{value:.2g}"


def times(value):
    return "" if value is None else f"{number(value)} ×"


def paint(text, verdict, stream=sys.stdout):
    if verdict is None or not stream.isatty() or os.environ.get("NO_COLOR"):
        return text
    return f"\x1b[{'32' if verdict else '1;31'}m{text}\x1b[0m"


def label(entry):
    quantile = "" if entry["at"] == 0.5 else f" p{100 * entry['at']:g}"
    unit = f", {entry['unit']}" if entry["unit"] not in ("", "x") else ""
    return f"{entry['figure']}{quantile if quantile.strip() not in entry['figure'] else ''}{unit}"


HEAD = f"{'':4}{'':24}{'figure':>10}{'p25–p75':>18}{'worst':>10}{'n':>5}{'times better (p25–p75)':>26}"


def lines(entries):
    """Those of one row."""
    first = entries[0]
    text = [f"{first['name']}: {first['title']}"]
    for entry in entries:
        goal = f"   goal: {entry['goal']['text']}" if entry["goal"] else ""
        text.append(f"  {label(entry)}{goal}   " + paint(VERDICTS[entry["met"]], entry["met"]))
        for contender, summary in entry["summary"].items():
            if not summary["n"]:
                text.append(f"    {contender:24}{'–':>10}")
                continue
            between = f"{number(summary['p25'])}–{number(summary['p75'])}" if summary["n"] > 1 else ""
            ratio = times(entry["ratio"].get(contender))
            if ratio and summary.get("ratios") and summary["n"] > 1:
                ratio += f" ({'–'.join(number(value) for value in summary['ratios'])})"
            failed = entry["failed"].get(contender)
            text.append(f"    {contender:24}{number(summary['value']):>10}{between:>18}{number(summary['worst']):>10}"
                        f"{summary['n']:>5}{ratio:>26}" + (f"  {failed} failed" if failed else ""))
    return text


def markdown(results):
    """A table for each group."""
    machine = results["machine"]
    text = [f"Measured on {results['date'][:10]} in {results['duration'] / 60:.0f} minutes: {machine['cores']} cores "
            f"({machine['cpu']}), {machine['memory']}, {machine['kernel']}; load {machine['load']['before']:.1f} before. "
            f"Commit {results['commit'][:12]}.", ""]
    text += [f"- `{name}`: {version}" for name, version in results["versions"].items()]
    groups = {}
    for entry in results["rows"]:
        groups.setdefault(entry["group"], []).append(entry)
    met = [entry["met"] for entry in results["rows"]]
    text += ["", f"{met.count(True)} goals met, {met.count(False)} missed, {met.count(None)} figures without a goal."]
    for group, entries in groups.items():
        text += ["", f"### {group[:1].upper()}{group[1:]}", "",
                 "| row | figure | goal | ours (p25–p75, worst; n) | beside it (times better) | |",
                 "|---|---|---|---|---|---|"]
        name = None
        for entry in entries:
            title = "" if entry["name"] == name else f"`{entry['name']}`: {entry['title']}"
            name = entry["name"]
            others = [f"{contender} {number(summary['value'])}"
                      + (f" ({times(entry['ratio'].get(contender))})" if entry["ratio"].get(contender) else "")
                      for contender, summary in entry["summary"].items() if contender != "ours" and summary["n"]]
            text.append(f"| {title} | {label(entry)} | {entry['goal'].get('text', '')} | {own(entry)} | "
                        f"{'; '.join(others)} | {VERDICTS[entry['met']].replace('MISSED', '**missed**')} |")
    return "\n".join(text) + "\n"


def own(entry):
    summary = entry["summary"].get("ours", {"n": 0})
    if not summary["n"]:
        return "–"
    between = (f" ({number(summary['p25'])}–{number(summary['p75'])}, {number(summary['worst'])}; {summary['n']})"
               if summary["n"] > 1 else "")
    return f"**{number(summary['value'])}**{between}"


def write_readme(path, results):
    """Puts the results between the marks."""
    before, _, rest = path.read_text().partition("<!-- results -->")
    _, _, after = rest.partition("<!-- results end -->")
    path.write_text(f"{before}<!-- results -->\n{markdown(results)}<!-- results end -->{after}")
