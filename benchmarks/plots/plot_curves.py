#!/usr/bin/env python3
"""Draws what learning curves predict about the rest of a training: docs/curves_continued.svg.

usage: learning_curves FOLDER --json | plot_curves.py [--svg docs/curves_continued.svg]

One panel per application: its metric, and where it is expected to reach its target after 10, 25 and 50 % of the
curve, with 80 % intervals: from the curve alone (blue), and with the application's other curves (orange). The tick on
the target's line is where it really reaches it. Needs only Python.
"""
import argparse
import json
import math
import sys

from plot_loads import line, text

ALONE, BESIDE, TRUTH = "#1864ab", "#d9480f", "#2b8a3e"
PANEL, HEIGHT, LEFT, TOP, LINES, GRAPH = 196, 330, 20, 70, 176, 130


def panel(left, curve):
    points, total = curve["points"], curve["total"]
    last = points[-1][0] * 2
    lowest, highest = min(p[1] for p in points), max(p[1] for p in points)

    def x_of(at):
        return left + LINES * min(at / last, 1)

    def y_of(metric):
        return TOP + GRAPH - GRAPH * (metric - lowest) / (highest - lowest)
    path = " ".join(f"{x_of(at):.1f},{y_of(metric):.1f}" for at, metric in points)
    target = y_of(curve["target"])
    parts = [text(left, TOP - 14, curve["application"], "start", 13, "#212529", "bold"),
             line(left, target, left + LINES, target, "#ced4da"),
             f'<polyline points="{path}" fill="none" stroke="#495057" stroke-width="1.4"/>',
             line(x_of(total), target - 8, x_of(total), target + 8, TRUTH)]
    for index, (passed, beside, median, low, high) in enumerate(curve["forecasts"]):
        y = TOP + GRAPH + 22 + 14 * index
        colour = BESIDE if beside else ALONE
        parts += [line(x_of(low), y, x_of(high), y, colour),
                  f'<circle cx="{x_of(median):.1f}" cy="{y}" r="3.4" fill="{colour}"/>',
                  f'<path d="M{x_of(passed):.1f},{y - 4} v8" stroke="#868e96"/>']
    bottom = TOP + GRAPH + 22 + 14 * len(curve["forecasts"])
    parts.append(f'<path d="M{x_of(total):.1f},{TOP + GRAPH + 8} V{bottom}" stroke="{TRUTH}" stroke-dasharray="3 3"/>')
    return parts


def draw(curves):
    width = LEFT + PANEL * len(curves)
    parts = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {HEIGHT}" width="{width}" '
             f'height="{HEIGHT}" font-family="Helvetica, Arial, sans-serif" role="img">',
             "<title>Where learning curves are expected to reach their targets</title>",
             f'<rect width="{width}" height="{HEIGHT}" rx="8" fill="#ffffff"/>',
             text(LEFT, 22, "Where a curve is expected to reach its target (dot, with 80 % interval), seen from the grey "
                  "ticks; green: where it does", "start", 12),
             text(LEFT, 40, "by the curve alone", "start", 12, ALONE),
             text(LEFT + 130, 40, "beside the application's other curves", "start", 12, BESIDE)]
    for index, curve in enumerate(curves):
        parts += panel(LEFT + index * PANEL, curve)
    return "\n".join(parts + ["</svg>", ""])


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--svg", default="docs/curves_continued.svg")
    arguments = parser.parse_args()
    drawing = draw(json.load(sys.stdin))
    with open(arguments.svg, "w", encoding="utf-8") as file:
        file.write(drawing)


if __name__ == "__main__":
    main()
