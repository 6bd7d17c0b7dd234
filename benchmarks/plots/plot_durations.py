#!/usr/bin/env python3
"""Draws what a job's own tasks are worth as they differ more from each other: docs/durations_by_variance.svg.

usage: plot_durations.py FILE [--svg docs/durations_by_variance.svg]

FILE is the output of benchmarks/compare/task_durations.cpp. One panel per load: the average completion time under
each rule relative to shortest-first by history, by the variance within jobs relative to that between them. Dashed: up
to where the published number of pilots knows more than history does, by theory and as measured. Needs only Python.
"""
import argparse
import math
import re

from plot_loads import line, spread, text

RULES = ("fifo", "fair", "own", "combined", "oracle")
LABELS = {"own": "own tasks", "combined": "combined (ours)", "fifo": "first in, first out"}
COLOURS = {"fifo": "#adb5bd", "fair": "#868e96", "own": "#1864ab", "combined": "#d9480f", "oracle": "#212529"}
DASHES = {"fifo": "2 3", "fair": "6 3", "oracle": "1 3"}
WIDTH, HEIGHT = 1000, 350
TOP, BOTTOM, LEFT, PANEL, LINES = 84, 296, 46, 322, 190
HIGHEST = 1.4  # above it, curves leave the panel


def read(lines):
    """Returns curves by load and rule, the ratios, and where own estimates cross history's: measured, by theory."""
    loads, ratios, crossings, curves = {}, [], None, None
    for row in lines:
        if match := re.search(r"better up to ([\d.]+); by theory up to ([\d.]+)", row):
            crossings = float(match[1]), float(match[2])
        if match := re.search(r"history, load ([\d.]+)$", row.rstrip()):
            curves = loads.setdefault(float(match[1]), {rule: [] for rule in RULES})
            ratios = []
        if curves is not None and (match := re.match(r"\s+within/between ([\d.]+)\s+([\d. ]+)$", row.rstrip())):
            ratios.append(float(match[1]))
            for rule, value in zip(RULES, match[2].split()[1:]):
                curves[rule].append(float(value))
        if not row.strip():
            curves = None
    return loads, ratios, crossings


def panel(left, load, curves, ratios, crossings, lowest):
    def x_of(ratio):
        return left + LINES * math.log(ratio / ratios[0]) / math.log(ratios[-1] / ratios[0])

    def y_of(value):
        return BOTTOM - (BOTTOM - TOP) * (value - lowest) / (HIGHEST - lowest)
    parts = [text(left, TOP - 16, f"Load {load:g}", "start", 13, "#212529", "bold")]
    for tick in (0.5, 0.6, 0.7, 0.8, 0.9, 1, 1.1, 1.2, 1.3, 1.4):
        if lowest <= tick <= HIGHEST:
            parts += [line(left, y_of(tick), left + LINES, y_of(tick), "#868e96" if tick == 1 else "#e9ecef"),
                      text(left - 7, y_of(tick) + 4, f"{tick:g}", "end", 11)]
    for tick in (0.05, 0.2, 1, 3, 8):
        parts += [line(x_of(tick), BOTTOM, x_of(tick), BOTTOM + 4, "#adb5bd"),
                  text(x_of(tick), BOTTOM + 18, f"{tick:g}", size=11)]
    for crossing, name, height in zip(crossings, ("measured", "theory"), (12, 26)):
        x = x_of(crossing)
        anchor, step = ("start", 5) if name == "measured" else ("end", -5)
        dash = "5 4" if name == "theory" else "2 3"
        parts += [f'<path d="M{x:.1f},{TOP} V{BOTTOM}" stroke="#2b8a3e" stroke-width="1.2" stroke-dasharray="{dash}"/>',
                  text(x + step, TOP + height, name, anchor, 11, "#2b8a3e")]
    ends = {}
    for rule in RULES:
        points = [(x_of(ratio), y_of(value)) for ratio, value in zip(ratios, curves[rule]) if value <= HIGHEST]
        if not points:
            continue
        ends[rule] = points[-1][1]
        dash = f' stroke-dasharray="{DASHES[rule]}"' if rule in DASHES else ""
        path = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
        parts.append(f'<polyline points="{path}" fill="none" stroke="{COLOURS[rule]}" stroke-linejoin="round" '
                     f'stroke-width="{2.6 if rule == "combined" else 1.8}"{dash}/>')
        if rule in ("own", "combined"):
            parts += [f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3" fill="{COLOURS[rule]}"/>' for x, y in points]
    for rule, label in zip(ends, spread(list(ends.values()), 14, TOP, BOTTOM)):
        parts.append(text(left + LINES + 8, label + 4, LABELS.get(rule, rule), "start", 11, COLOURS[rule],
                          "bold" if rule == "combined" else "normal"))
    return parts


def draw(loads, ratios, crossings):
    values = [value for curves in loads.values() for curve in curves.values() for value in curve]
    lowest = math.floor(min(values) * 10) / 10
    parts = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" width="{WIDTH}" '
             f'height="{HEIGHT}" font-family="Helvetica, Arial, sans-serif" role="img">',
             "<title>Average completion time by the variance within jobs, relative to shortest-first by history</title>",
             f'<rect width="{WIDTH}" height="{HEIGHT}" rx="8" fill="#ffffff"/>',
             text(LEFT, 24, "Average completion time over that of shortest-first by history (1): lower is better",
                  "start", 13),
             text(LEFT, 44, "Green: up to where a job's pilots alone say more of its mean than earlier jobs do",
                  "start", 12, "#2b8a3e")]
    for index, (load, curves) in enumerate(loads.items()):
        left = LEFT + index * PANEL
        parts += panel(left, load, curves, ratios, crossings, lowest)
        parts.append(text(left + LINES / 2, BOTTOM + 38, "variance within jobs / between jobs", size=11))
    return "\n".join(parts + ["</svg>", ""])


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("file")
    parser.add_argument("--svg", default="docs/durations_by_variance.svg")
    arguments = parser.parse_args()
    with open(arguments.file, encoding="utf-8") as file:
        drawing = draw(*read(file))
    with open(arguments.svg, "w", encoding="utf-8") as file:
        file.write(drawing)


if __name__ == "__main__":
    main()
