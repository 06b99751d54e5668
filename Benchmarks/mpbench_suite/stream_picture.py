"""Draws what two players of one stream had ahead of them, and in which variant, from what stream_compare measured."""
import pathlib

from .pictures import FAINT, STYLE, matplotlib, pyplot, save, titled

# What is drawn, in seconds: of the run, and ahead of the viewer.
LONGEST, MOST_AHEAD = 100, 32
PLAYERS = {"mpstream": ("mpstream", "#0072b2"), "ffmpeg": ("FFmpeg, highest variant", "#d55e00")}
TITLES = {"wifi-walkout": "walking out of Wi-Fi's reach", "elevator": "20 s without any path",
          "TMobile-UMTS-driving": "recorded UMTS, driving", "train": "two paths, bad in turn",
          "Verizon-LTE-short": "recorded LTE"}


def falling(points, end):
    """Points of a buffer between which it is played: it falls until the next, or to nothing."""
    line = []
    for (time, value), following in zip(points, points[1:] + [(end, None)]):
        line.append((time, value))
        due = following[0] - time
        if value < due:
            line.append((time + value, 0))
        line.append((following[0], max(value - due, 0)))
    return line


def buffer(player, run, end):
    """What a viewer had ahead, over time."""
    if player == "mpstream":
        return falling([tuple(point) for point in run["buffer"]], end)
    points, played, before, clock = [], 0.0, 0.0, None
    for time, there in run["media"]:
        if clock is not None:
            played = min(played + time - clock, before)
        before, clock = there, time
        points.append((time, there - played))
    points = [point for point in points if point[0] < end]
    return falling(points, end) if points else [(0, 0), (end, 0)]


def draw(results, rates, seconds, path):
    """- rates: of the variants, in kbit/s; seconds: of the film."""
    places = [place for place in TITLES if "mpstream" in results.get(place, {})][:3]
    if not places:
        return
    with matplotlib.rc_context(STYLE):
        figure, grid = pyplot.subplots(2, len(places), figsize=(8.2, 4.6), sharex="col", sharey="row", squeeze=False,
                                       height_ratios=(3, 2))
        figure.subplots_adjust(left=0.085, right=0.985, top=0.76, bottom=0.11, wspace=0.1, hspace=0.16)
        for column, place in enumerate(places):
            above, below = grid[0][column], grid[1][column]
            above.set_title(TITLES[place], fontsize=10, color=FAINT, loc="left")
            for player in reversed(PLAYERS):
                if player not in results[place]:
                    continue
                words, colour = PLAYERS[player]
                # The run in the middle of those that began, by its stalls.
                begun = [run for run in results[place][player] if run["startup"] is not None]
                runs = sorted(begun or results[place][player], key=lambda run: run["stalled"])
                run = runs[len(runs) // 2]
                # A player that has all of the film plays it to its end.
                end = min((run["startup"] or 0) + seconds + run["stalled"], LONGEST)
                width = 2.0 if player == "mpstream" else 1.5
                above.plot(*zip(*buffer(player, run, end)), color=colour, linewidth=width, label=words)
                if player == "mpstream":
                    steps = [(time, rates[variant] / 1000) for time, variant in run["variants"]]
                    below.plot(*zip(*steps), color=colour, linewidth=width, drawstyle="steps-post")
                elif run["startup"] is not None:
                    below.plot((run["startup"], min(run["media"][-1][0], end)), (rates[-1] / 1000,) * 2, color=colour, linewidth=width)
            above.grid(axis="y")
            below.grid(axis="y")
            below.set_xlim(0, LONGEST)
            below.set_ylim(0, rates[-1] / 1000 * 1.1)
            above.set_ylim(0, MOST_AHEAD)
            below.set_xlabel("seconds")
        grid[0][0].set_ylabel("seconds ahead")
        grid[1][0].set_ylabel("Mbit/s fetched")
        handles, labels = grid[0][0].get_legend_handles_labels()
        figure.legend(handles[::-1], labels[::-1], loc="upper right", frameon=False, fontsize=9.5, ncols=2,
                      bbox_to_anchor=(0.99, 1.0))
        titled(figure, "A film while its paths go bad",
               f"{seconds} s in variants of 0.4 to 4.8 Mbit/s. At 0 s ahead the picture stands. The run in the middle")
        save(figure, pathlib.Path(path).parent, pathlib.Path(path).name)
