#!/usr/bin/env python3
"""Draws real trainings that choose their batch size: docs/agent_training.svg.

usage: plot_training.py LOG... [--svg docs/agent_training.svg]

LOG is the output of goodput-training --log; its name without folder and ending is its row's title. One row per
training, with panels for batch size, learning rate, noise scale, goodput and accuracy over its seconds. Needs only
Python.
"""
import argparse
import csv
import math
import os

from plot_loads import line, text

PANELS = (("batch", "Batch size", "#1864ab", True), ("learning_rate", "Learning rate", "#d9480f", True),
          ("noise_scale", "Noise scale, examples", "#2b8a3e", True), ("goodput", "Goodput, examples/s", "#5f3dc4", False),
          ("accuracy", "Accuracy", "#343a40", False))
PANEL, ROW, LEFT, TOP, WIDTH, HEIGHT = 212, 170, 60, 58, 150, 100


def shown(value):
    if value >= 1000:
        return f"{value / 1000:.3g}k"
    return f"{value:.2g}" if value < 1 else f"{value:.3g}"


def panel(left, top, rows, key, title, colour, logarithmic):
    points = [(row["seconds"], row[key]) for row in rows if row["step"] > 0 and row[key] > 0 and math.isfinite(row[key])]
    low, high = min(y for _, y in points), max(y for _, y in points)
    last = rows[-1]["seconds"]

    def height(value):
        if high == low:
            return 0.5
        return math.log(value / low) / math.log(high / low) if logarithmic else (value - low) / (high - low)
    parts = [text(left, top - 10, title, "start", 12, colour, "bold"),
             line(left, top + HEIGHT, left + WIDTH, top + HEIGHT, "#ced4da"), line(left, top, left, top + HEIGHT, "#ced4da"),
             text(left - 4, top + 6, shown(high), "end", 10), text(left - 4, top + HEIGHT, shown(low), "end", 10),
             text(left + WIDTH, top + HEIGHT + 14, f"{last:.3g} s", "end", 10)]
    path = " ".join(f"{left + WIDTH * x / last:.1f},{top + HEIGHT * (1 - height(y)):.1f}" for x, y in points)
    return parts + [f'<polyline points="{path}" fill="none" stroke="{colour}" stroke-width="1.4"/>']


def draw(logs):
    width, bottom = LEFT + PANEL * len(PANELS), TOP + ROW * len(logs)
    parts = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {bottom}" width="{width}" height="{bottom}" '
             'font-family="Helvetica, Arial, sans-serif" role="img">',
             "<title>Real trainings that choose their batch size</title>",
             f'<rect width="{width}" height="{bottom}" rx="8" fill="#ffffff"/>']
    for index, (name, rows) in enumerate(logs):
        top = TOP + ROW * index
        parts.append(text(LEFT - 40, top - 30, name, "start", 13, "#212529", "bold"))
        for column, settings in enumerate(PANELS):
            parts += panel(LEFT + PANEL * column, top, rows, *settings)
    return "\n".join(parts + ["</svg>", ""])


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("logs", nargs="+", metavar="LOG")
    parser.add_argument("--svg", default="docs/agent_training.svg")
    arguments = parser.parse_args()
    logs = []
    for path in arguments.logs:
        with open(path, encoding="utf-8") as file:
            rows = [{key: float(value) if value else 0 for key, value in row.items()} for row in csv.DictReader(file)]
        logs.append((os.path.splitext(os.path.basename(path))[0].replace("_", " "), rows))
    with open(arguments.svg, "w", encoding="utf-8") as file:
        file.write(draw(logs))


if __name__ == "__main__":
    main()
