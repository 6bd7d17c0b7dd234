#!/usr/bin/env python3
"""Draws the useful share of a job's time over its checkpoint interval: docs/availability_by_interval.svg.

usage: availability_check --curves | plot_availability.py [--svg docs/availability_by_interval.svg]

One curve per mechanism, for a job on four nodes, each of which is lost every twelve hours on average. Filled: the
best interval; ring: the square-root rule. Needs only Python.
"""
import argparse
import json
import math
import sys

from plot_loads import line, spread, text

COLOURS = {"full": "#868e96", "sharded": "#5f3dc4", "asynchronous": "#1864ab", "peer": "#d9480f",
           "just in time": "#2b8a3e"}
WIDTH, HEIGHT = 860, 380
LEFT, RIGHT, TOP, BOTTOM = 56, 700, 64, 326
SHORTEST, LONGEST, LOWEST, HIGHEST = 20, 30000, 0.4, 1.0


def x_of(seconds):
    return LEFT + (RIGHT - LEFT) * math.log(seconds / SHORTEST) / math.log(LONGEST / SHORTEST)


def y_of(share):
    return BOTTOM - (BOTTOM - TOP) * (share - LOWEST) / (HIGHEST - LOWEST)


def draw(curves):
    parts = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" width="{WIDTH}" '
             f'height="{HEIGHT}" font-family="Helvetica, Arial, sans-serif" role="img">',
             "<title>Useful share of a job's time by the interval between checkpoints</title>",
             f'<rect width="{WIDTH}" height="{HEIGHT}" rx="8" fill="#ffffff"/>',
             text(LEFT, 24, "Useful share of the time by the interval between checkpoints", "start", 13),
             text(LEFT, 44, "120 GiB of state, four nodes, each lost every 12 hours. Dot: best interval; "
                  "ring: square-root rule", "start", 12, "#495057")]
    for tick in (0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0):
        parts += [line(LEFT, y_of(tick), RIGHT, y_of(tick), "#e9ecef"),
                  text(LEFT - 8, y_of(tick) + 4, f"{tick:g}", "end", 11)]
    for seconds, name in ((30, "30 s"), (120, "2 min"), (600, "10 min"), (1800, "30 min"), (7200, "2 h"), (28800, "8 h")):
        parts += [line(x_of(seconds), BOTTOM, x_of(seconds), BOTTOM + 4, "#adb5bd"),
                  text(x_of(seconds), BOTTOM + 18, name, size=11)]
    ends = {}
    for curve in curves:
        colour = COLOURS[curve["name"]]
        points = [(x_of(at), y_of(share)) for at, share in curve["points"] if LOWEST <= share and at <= LONGEST]
        path = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
        parts.append(f'<polyline points="{path}" fill="none" stroke="{colour}" stroke-width="1.8"/>')
        ends[curve["name"]] = points[-1][1]
        at, share = curve["best"]
        if at >= SHORTEST:
            parts.append(f'<circle cx="{x_of(at):.1f}" cy="{y_of(share):.1f}" r="4" fill="{colour}"/>')
        young = curve["young"]
        if young >= SHORTEST:
            share = min(curve["points"], key=lambda point: abs(math.log(point[0] / young)))[1]
            parts.append(f'<circle cx="{x_of(young):.1f}" cy="{y_of(share):.1f}" r="6" fill="none" stroke="{colour}"/>')
    for name, label in zip(ends, spread(list(ends.values()), 15, TOP, BOTTOM)):
        parts.append(text(RIGHT + 10, label + 4, name, "start", 12, COLOURS[name]))
    parts.append(text((LEFT + RIGHT) / 2, BOTTOM + 40, "training between two checkpoints", size=11))
    return "\n".join(parts + ["</svg>", ""])


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--svg", default="docs/availability_by_interval.svg")
    arguments = parser.parse_args()
    drawing = draw(json.load(sys.stdin)["curves"])
    with open(arguments.svg, "w", encoding="utf-8") as file:
        file.write(drawing)


if __name__ == "__main__":
    main()
