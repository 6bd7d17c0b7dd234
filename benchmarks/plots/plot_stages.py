#!/usr/bin/env python3
"""Draws what a separate checkpoint mechanism per stage gains over the best single one: docs/stages_gain.svg.

usage: stage_checkpoints --gain | plot_stages.py [--svg docs/stages_gain.svg]

One bar per row: from the least to the most of 100 jobs, thick between the quartiles, with a dot at the median. Needs
only Python.
"""
import argparse
import math
import re
import sys

from plot_loads import line, text

WIDTH, LEFT, RIGHT, TOP, ROW = 760, 210, 640, 74, 20
NAMES = {"1": "at random", "0.6": "Weibull 0.6", "2.5": "Weibull 2.5", "inf": "all equally long"}
LOWEST, HIGHEST = 1.0, 2.0


def x_of(gain):
    return LEFT + (RIGHT - LEFT) * (math.log(min(gain, HIGHEST)) / math.log(HIGHEST))


def draw(rows):
    height = TOP + ROW * len(rows) + 50
    parts = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" width="{WIDTH}" '
             f'height="{height}" font-family="Helvetica, Arial, sans-serif" role="img">',
             "<title>Expected time with the best single checkpoint mechanism over that with one for each stage</title>",
             f'<rect width="{WIDTH}" height="{height}" rx="8" fill="#ffffff"/>',
             text(16, 24, "Expected time with the best single mechanism over that with one for each stage, 100 jobs",
                  "start", 13),
             text(16, 44, "Live periods; limits of memory and bandwidth, from those of the leanest choice (0) to those "
                  "of the fastest (1)", "start", 12, "#495057")]
    bottom = TOP + ROW * len(rows)
    for tick in (1, 1.1, 1.2, 1.4, 1.6, 1.8, 2):
        parts += [line(x_of(tick), TOP - 12, x_of(tick), bottom, "#e9ecef"), text(x_of(tick), bottom + 18, f"{tick:g}", size=11)]
    for index, (shape, limits, none, least, low, median, high, most) in enumerate(rows):
        y = TOP + ROW * index
        colour = "#d9480f" if shape == "1" else "#1864ab"
        parts += [text(LEFT - 10, y + 4, f"{NAMES.get(shape, shape)}, limits {limits}", "end", 11),
                  line(x_of(least), y, x_of(most), y, colour),
                  f'<path d="M{x_of(low):.1f},{y} H{x_of(high):.1f}" stroke="{colour}" stroke-width="6"/>',
                  f'<circle cx="{x_of(median):.1f}" cy="{y}" r="4.5" fill="#ffffff" stroke="{colour}" stroke-width="2"/>']
        notes = ([f"up to {most:.1f}"] if most > HIGHEST else []) + ([f"{none} none"] if none else [])
        parts.append(text(RIGHT + 8, y + 4, ", ".join(notes), "start", 11))
    parts.append(text((LEFT + RIGHT) / 2, bottom + 38, "none: no single mechanism is within the limits or possible", size=11))
    return "\n".join(parts + ["</svg>", ""])


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--svg", default="docs/stages_gain.svg")
    arguments = parser.parse_args()
    rows = []
    for row in sys.stdin:
        cells = row.split()
        if len(cells) == 9 and re.match(r"[\d.]+$|inf$", cells[0]):
            rows.append((cells[0], cells[1], int(cells[2]), *map(float, cells[3:8])))
    drawing = draw(rows)
    with open(arguments.svg, "w", encoding="utf-8") as file:
        file.write(drawing)


if __name__ == "__main__":
    main()
