#!/usr/bin/env python3
"""Draws dollars per job against the average completion time: docs/renting_tradeoff.svg.

usage: plot_renting.py FILE [--svg docs/renting_tradeoff.svg]

FILE is the output of benchmarks/accuracy/check_renting.py with --jsonl. One panel per workload: our policy by the
worth of an hour as a line, the fixed cluster and Pollux's band as points. Needs only Python.
"""
import argparse
import json
import math

from plot_loads import line, text

WIDTH, HEIGHT, TOP, BOTTOM, LEFT, PANEL, LINES = 1000, 360, 60, 300, 60, 480, 400
COLOURS = {"ours": "#d9480f", "fixed 64 GPUs": "#212529", "Pollux's band": "#1864ab"}


def panel(left, title, rows):
    hours = [row["average_jct_h"] for row in rows]
    dollars = [row["dollars_per_job"] for row in rows]
    x_range = math.log(min(hours) * 0.93), math.log(max(hours) * 1.07)
    highest = math.ceil(max(dollars) * 1.05)

    def x_of(value):
        return left + LINES * (math.log(value) - x_range[0]) / (x_range[1] - x_range[0])

    def y_of(value):
        return BOTTOM - (BOTTOM - TOP) * value / highest
    parts = [text(left, TOP - 24, title, "start", 13, "#212529", "bold")]
    for tick in range(0, highest + 1, 2):
        parts += [line(left, y_of(tick), left + LINES, y_of(tick), "#e9ecef"),
                  text(left - 7, y_of(tick) + 4, f"{tick}", "end", 11)]
    for tick in (0.3, 0.4, 0.5, 0.6, 0.8, 1, 1.2):
        if x_range[0] <= math.log(tick) <= x_range[1]:
            parts += [line(x_of(tick), BOTTOM, x_of(tick), BOTTOM + 4, "#adb5bd"),
                      text(x_of(tick), BOTTOM + 18, f"{tick:g}", size=11)]
    ours = sorted((row for row in rows if row["setting"] == "ours"), key=lambda row: float(row["worth"]))
    path = " ".join(f"{x_of(row['average_jct_h']):.1f},{y_of(row['dollars_per_job']):.1f}" for row in ours)
    parts.append(f'<polyline points="{path}" fill="none" stroke="{COLOURS["ours"]}" stroke-width="2"/>')
    for row in rows:
        x, y = x_of(row["average_jct_h"]), y_of(row["dollars_per_job"])
        colour = COLOURS[row["setting"]]
        label = f"${row['worth']}" if row["setting"] == "ours" else row["setting"]
        parts += [f'<circle cx="{x:.1f}" cy="{y:.1f}" r="4" fill="{colour}"/>',
                  text(x + 7, y - 6, label, "start", 11, colour)]
    return parts


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("file")
    parser.add_argument("--svg", default="docs/renting_tradeoff.svg")
    arguments = parser.parse_args()
    panels = {}
    with open(arguments.file, encoding="utf-8") as rows:
        for row in map(json.loads, rows):
            if row["setting"] in COLOURS:
                panels.setdefault((row["workload"], row["load"]), []).append(row)
    parts = [text(LEFT, 16, "Dollars a job by the average completion time in hours; ours by what an hour is worth",
                  "start", 13)]
    for number, ((workload, load), rows) in enumerate(list(panels.items())[:2]):
        parts += panel(LEFT + number * PANEL, f"{workload}, load {load:g}", rows)
    with open(arguments.svg, "w", encoding="utf-8") as out:
        out.write(f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" font-family="sans-serif">\n'
                  f'<rect width="{WIDTH}" height="{HEIGHT}" fill="white"/>\n' + "\n".join(parts) + "\n</svg>\n")


if __name__ == "__main__":
    main()
