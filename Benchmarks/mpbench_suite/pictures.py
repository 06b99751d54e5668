"""Draws the three pictures of the README from results.json.

The same results give the same files: identifiers are salted with a constant, no date is written, and text is drawn as
paths, so that a reader needs no fonts. The ground is white, in GitHub's dark theme too."""
import fnmatch
import math
import pathlib
import statistics

import matplotlib
from matplotlib import pyplot, ticker

from .judging import flat

STYLE = {
    "svg.fonttype": "path", "svg.hashsalt": "swift-multipath", "font.family": "DejaVu Sans", "font.size": 10,
    "figure.facecolor": "white", "axes.facecolor": "white", "text.color": "#24292f", "axes.labelcolor": "#57606a",
    "xtick.color": "#57606a", "ytick.color": "#57606a", "axes.edgecolor": "#8c959f", "axes.linewidth": 0.8,
    "axes.spines.top": False, "axes.spines.right": False, "grid.color": "#eaeef2", "grid.linewidth": 0.8,
    "axes.axisbelow": True, "xtick.major.size": 3, "ytick.major.size": 3,
}
# Okabe and Ito's colours, which colour-blind readers can tell apart, too.
CONTENDERS = {"ours": ("this library", "#0072b2"), "kernel": ("kernel's path manager", "#d55e00"),
              "mptcpd-addr_adv": ("mptcpd, addr_adv", "#009e73"), "mptcpd-sspi": ("mptcpd, sspi", "#b15a94")}
FAINT = "#6e7781"
# The rows with stalls, on the network without peculiarities, and their words. Of transfers those under BBR, which most
# large servers use.
STALLS = (("dead-both-*", "Wi-Fi silently dead"), ("link-*", "Wi-Fi's link lost"),
          ("address-*", "Wi-Fi's address lost"), ("route-*", "Wi-Fi's route lost"))
LOADS = {"rr": "requests", "down": "download", "up": "upload", "paced": "stream"}


def look(contender):
    return CONTENDERS.get(contender, (contender, FAINT))


def by_rank(names):
    """This library first; it is also drawn last, on top."""
    order = list(CONTENDERS)
    return sorted(names, key=lambda name: (order.index(name) if name in order else len(order), name))


def series(results, picture):
    found = {each["contender"]: each["points"] for each in results.get("series", [])
             if each["picture"] == picture and each["points"]}
    return {name: found[name] for name in by_rank(found)}


def titled(figure, title, subtitle):
    """At the same distance from the upper edge, however high a figure is."""
    height = figure.get_figheight()
    figure.text(0.02, 1 - 0.16 / height, title, fontsize=13, fontweight="bold", va="top")
    figure.text(0.02, 1 - 0.42 / height, subtitle, fontsize=9.5, color=FAINT, va="top")


def save(figure, folder, name):
    path = pathlib.Path(folder) / name
    figure.savefig(path, format="svg", metadata={"Date": None, "Creator": None})
    pyplot.close(figure)
    # One end of line at the end of the file, and no spaces at the ends of lines.
    path.write_text("".join(line.rstrip() + "\n" for line in path.read_text().splitlines()))


def milliseconds(value):
    return f"{value / 1000:.2g} s" if value >= 1000 else f"{value:.0f} ms"


def label_ends(axes, labels, gap):
    """Words at the right ends of lines, moved apart where they would stand on each other; `gap` in the axis's units."""
    labels = sorted(labels, key=lambda label: label[0])
    places = []
    for value, _, _ in labels:
        places.append(max(value, places[-1] + gap) if places else value)
    # Labels that this moved beyond the top come back down, with the distance between them kept.
    top = axes.get_ylim()[1]
    for index in reversed(range(len(places))):
        places[index] = min(places[index], top - gap * (len(places) - 1 - index))
    for (_, words, colour), place in zip(labels, places):
        axes.annotate(words, (1, place), xycoords=("axes fraction", "data"), xytext=(8, 0),
                      textcoords="offset points", color=colour, va="center", fontsize=9.5)


def mark_fault(axes, words):
    axes.axvline(0, color="#8c959f", linewidth=1, linestyle=(0, (4, 3)), zorder=1)
    axes.annotate(words, (0, 1), xycoords=("data", "axes fraction"), xytext=(6, -2), textcoords="offset points",
                  color=FAINT, va="top", fontsize=9)


def until_back(points, zero, enough=1.0):
    """Milliseconds from the fault until so many megabytes more have come; None for never. The longest pause would not
    say it: a connection can recover drop by drop."""
    return next((1e3 * time for time, value in points if time > 0 and value - zero >= enough), None)


def handover(results, folder):
    lines = series(results, "handover")
    if not lines:
        return
    figure, axes = pyplot.subplots(figsize=(8.2, 3.9))
    figure.subplots_adjust(left=0.085, right=0.72, top=0.80, bottom=0.13)
    first, labels, top = -0.25, [], 0
    end = min(points[-1][0] for points in lines.values())
    for name in reversed(lines):
        words, colour = look(name)
        points = [point for point in lines[name] if point[0] <= end]
        # The lines start at 0 at the fault, so that they can be compared.
        zero = max((value for time, value in points if time <= 0), default=0)
        shown = [(time, value - zero) for time, value in points if time >= first]
        axes.plot(*zip(*shown), color=colour, linewidth=2.4 if name == "ours" else 1.7, solid_joinstyle="round",
                  solid_capstyle="round")
        back = until_back(points, zero)
        labels.append((shown[-1][1], f"{words}\n" + (f"1 MB after {milliseconds(back)}" if back else "never goes on"),
                       colour))
        top = max(top, shown[-1][1])
    axes.set_xlim(first, end)
    axes.set_ylim(-0.07 * top, 1.1 * top)
    axes.grid(axis="y")
    axes.set_xlabel("seconds since Wi-Fi fell silent")
    axes.yaxis.set_major_formatter(ticker.FuncFormatter(lambda value, _: f"{value:.0f} MB"))
    low, high = axes.get_ylim()
    label_ends(axes, labels, 0.15 * (high - low))
    mark_fault(axes, "Wi-Fi falls silent")
    titled(figure, "A download while Wi-Fi dies",
           "Bytes received since then. Wi-Fi and cellular, 100 Mbit/s each, RTT 20 and 40 ms; one run of each")
    save(figure, folder, "handover.svg")


def bufferbloat(results, folder):
    lines = series(results, "bufferbloat")
    if not lines:
        return
    figure, axes = pyplot.subplots(figsize=(8.2, 3.6))
    figure.subplots_adjust(left=0.085, right=0.74, top=0.80, bottom=0.14)
    labels = []
    for name in reversed(lines):
        words, colour = look(name)
        points = sorted(lines[name])
        axes.plot(*zip(*points), color=colour, linewidth=1.1, alpha=0.55, zorder=2)
        axes.plot(*zip(*points), color=colour, linestyle="none", marker="o", markersize=3, markeredgewidth=0, zorder=3)
        settled = [took for time, took in points if time >= 1]
        if settled:
            median = statistics.median(settled)
            labels.append((math.log10(median), f"{words}\nmedian {milliseconds(median)}", colour, median))
    axes.set_yscale("log")
    times = [point[0] for points in lines.values() for point in points]
    values = [point[1] for points in lines.values() for point in points]
    axes.set_xlim(min(times), max(times))
    axes.set_ylim(min(values) / 1.4, max(values) * 1.6)
    ticks = [tick for tick in (1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000)
             if axes.get_ylim()[0] <= tick <= axes.get_ylim()[1]]
    axes.yaxis.set_major_locator(ticker.FixedLocator(ticks))
    axes.yaxis.set_minor_locator(ticker.NullLocator())
    axes.yaxis.set_major_formatter(ticker.FuncFormatter(lambda value, _: milliseconds(value)))
    axes.grid(axis="y")
    axes.set_xlabel("seconds since Wi-Fi's RTT rose from 20 to 500 ms; each point is a request")
    for _, words, colour, median in labels:
        axes.annotate(words, (1, median), xycoords=("axes fraction", "data"), xytext=(8, 0),
                      textcoords="offset points", color=colour, va="center", fontsize=9.5)
    mark_fault(axes, "the RTT rises")
    titled(figure, "Latency under bufferbloat",
           "Requests of 200 bytes every 20 ms, and how long each answer took; one run of each, log scale")
    save(figure, folder, "bufferbloat.svg")


def stall_rows(results):
    """(words of the group, words of the load, row) in the picture's order."""
    found = []
    for pattern, group in STALLS:
        for load, words in LOADS.items():
            for row in results["rows"]:
                name = row["name"]
                if (fnmatch.fnmatchcase(name, pattern) and name.count("@") <= 1
                        and name.endswith((f"-{load}", f"-{load}@bbr"))
                        and row.get("unit") == "ms" and any(flat(taken) for taken in row["samples"].values())):
                    found.append((group, words, row))
                    break
    return found


def limit(row):
    """The median's goal in milliseconds; None without one."""
    goal = row.get("goal")
    return goal.get("median") if isinstance(goal, dict) else None


def stalls(results, folder):
    rows = stall_rows(results)
    if not rows:
        return
    names = by_rank({name for _, _, row in rows for name, taken in row["samples"].items() if flat(taken)})
    lane = 0.17
    high = max(0.62, lane * (len(names) + 1))
    groups = list(dict.fromkeys(group for group, _, _ in rows))
    above, below = 1.0, 0.5
    inches = 0.62 * (high * len(rows) + 0.35 * (len(groups) - 1)) + above + below
    figure, axes = pyplot.subplots(figsize=(8.2, inches))
    figure.subplots_adjust(left=0.255, right=0.975, top=1 - above / inches, bottom=below / inches)
    centres, centre, last = [], 0.0, rows[0][0]
    for group, words, row in rows:
        if group != last:
            centre, last = centre + 0.35, group
        centres.append(centre)
        draw_stalls(axes, row, names, centre, lane)
        axes.annotate(words, (0, centre), xycoords=("axes fraction", "data"), xytext=(-8, 0),
                      textcoords="offset points", ha="right", va="center", color="#57606a")
        centre += high
    for group in groups:
        own = [place for place, (each, _, _) in zip(centres, rows) if each == group]
        axes.annotate(group.replace(" ", "\n", 1) if len(own) > 1 else group.replace("'s ", "'s\n", 1),
                      (0, sum(own) / len(own)), xycoords=("axes fraction", "data"), xytext=(-76, 0),
                      textcoords="offset points", ha="right", va="center", fontweight="bold", fontsize=9.5)
        if own[0] > 0:
            axes.axhline(own[0] - (high + 0.35) / 2, color="#d0d7de", linewidth=0.8)
    axes.set_xscale("log")
    values = [max(value, 1) for _, _, row in rows for taken in row["samples"].values() for value in flat(taken)]
    axes.set_xlim(min(values) / 1.5, max(values) * 1.35)
    axes.set_ylim(centres[-1] + high / 2, -high / 2)
    axes.xaxis.set_major_locator(ticker.LogLocator(subs=(1, 3)))
    axes.xaxis.set_minor_locator(ticker.NullLocator())
    axes.xaxis.set_major_formatter(ticker.FuncFormatter(lambda value, _: milliseconds(value) if value >= 1 else ""))
    axes.yaxis.set_visible(False)
    axes.spines["left"].set_visible(False)
    axes.grid(axis="x")
    legend(figure, names, inches, any(limit(row) for _, _, row in rows))
    titled(figure, "How long a program waits when Wi-Fi goes",
           "The longest pause of each run, log scale: shorter is better. A bar is the median")
    save(figure, folder, "stalls.svg")


def draw_stalls(axes, row, names, centre, lane):
    names = [name for name in names if flat(row["samples"].get(name, []))]
    for index, name in enumerate(names):
        values = [max(value, 1) for value in flat(row["samples"][name])]
        place = centre + (index - (len(names) - 1) / 2) * lane
        colour = look(name)[1]
        axes.plot([min(values), max(values)], [place, place], color=colour, linewidth=1, alpha=0.35, zorder=2)
        axes.plot(values, [place] * len(values), color=colour, linestyle="none", marker="o", markersize=4.6, alpha=0.45,
                  markeredgewidth=0, zorder=3)
        median = statistics.median(values)
        axes.plot([median, median], [place - 0.4 * lane, place + 0.4 * lane], color=colour, linewidth=2.6,
                  solid_capstyle="butt", zorder=4)
    goal = limit(row)
    if goal:
        half = (len(names) + 0.4) / 2 * lane
        axes.plot([goal, goal], [centre - half, centre + half], color="#24292f", linewidth=1, linestyle=(0, (2, 2)),
                  zorder=1)


def legend(figure, names, inches, has_goals):
    place, height = 0.022, 1 - 0.78 / inches
    renderer = figure.canvas.get_renderer()
    entries = [(look(name)[0], look(name)[1], "●") for name in names]
    if has_goals:
        entries.append(("goal of the median", "#24292f", "┆"))
    for words, colour, mark in entries:
        drawn = figure.text(place, height, f"{mark} {words}", color=colour, fontsize=9.5, va="center")
        box = drawn.get_window_extent(renderer).transformed(figure.transFigure.inverted())
        place = box.x1 + 0.025


def draw(results, folder):
    """Writes handover.svg, bufferbloat.svg and stalls.svg into a folder; a picture without samples is left out.

    - results: as results.json has them
    - folder: exists"""
    # No window: the pictures are files.
    matplotlib.use("agg")
    with pyplot.rc_context(STYLE):
        handover(results, folder)
        bufferbloat(results, folder)
        stalls(results, folder)
