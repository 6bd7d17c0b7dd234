#!/usr/bin/env python3
"""Draws the charts of docs/tutorial.md from runs of the program and of docs/snippets/tutorial_policy.cpp.

usage: plot_tutorial.py [--programs build/release/examples] [--docs docs]

Writes tutorial_replay.svg, tutorial_fit.svg, tutorial_prices.svg and tutorial_policy.svg. Takes a few seconds; needs
only Python and the two programs. plot_decisions.py draws the other pictures of that page.
"""
import argparse
import json
import math
import os
import re
import subprocess

from plot_loads import line, spread, text

COLOURS = {"goodput": "#d9480f", "goodput-declared": "#1864ab", "soon-done": "#2b8a3e", "sia": "#5f3dc4",
           "fifo": "#868e96", "tiresias": "#8d6e53", "T4": "#1864ab", "A100": "#d9480f", "jobs": "#868e96"}
WIDTH, HEIGHT = 720, 330
LEFT, RIGHT, TOP, BOTTOM = 62, 580, 52, 280


def rounded_number(value):
    return f"{value:.3g}" if value < 1000 else f"{value:,.0f}"


class Chart:
    """One panel with axes; either axis may be logarithmic."""

    def __init__(self, title, x_label, y_label, x_range, y_range, x_log=False, y_log=False):
        self.x_range, self.y_range, self.x_log, self.y_log = x_range, y_range, x_log, y_log
        self.parts = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" width="{WIDTH}" '
                      f'height="{HEIGHT}" font-family="Helvetica, Arial, sans-serif" role="img">',
                      f"<title>{title}</title>", f'<rect width="{WIDTH}" height="{HEIGHT}" rx="8" fill="#ffffff"/>',
                      text(LEFT, 26, title, "start", 13, "#212529", "bold"),
                      text((LEFT + RIGHT) / 2, HEIGHT - 12, x_label, size=11),
                      text(LEFT, TOP - 8, y_label, "start", 11)]
        self.ends = []

    @staticmethod
    def part(value, span, log):
        low, high = span
        if log:
            return math.log(max(value, low) / low) / math.log(high / low)
        return (value - low) / (high - low)

    def x(self, value):
        return LEFT + (RIGHT - LEFT) * self.part(value, self.x_range, self.x_log)

    def y(self, value):
        return BOTTOM - (BOTTOM - TOP) * self.part(value, self.y_range, self.y_log)

    def ticks(self, xs, ys):
        for value in ys:
            self.parts.append(line(LEFT, self.y(value), RIGHT, self.y(value), "#e9ecef"))
            self.parts.append(text(LEFT - 7, self.y(value) + 4, rounded_number(value), "end", 11))
        for value in xs:
            self.parts.append(line(self.x(value), BOTTOM, self.x(value), BOTTOM + 4, "#adb5bd"))
            self.parts.append(text(self.x(value), BOTTOM + 17, rounded_number(value), size=11))

    def path(self, points, stepped=False):
        places, last = [], None
        for x, y in points:
            if stepped and last is not None:
                places.append(f"{self.x(x):.1f},{self.y(last):.1f}")
            places.append(f"{self.x(x):.1f},{self.y(y):.1f}")
            last = y
        return " ".join(places)

    def curve(self, name, points, label=None, width=2.0, stepped=False, dash=""):
        colour = COLOURS.get(name, "#495057")
        dashes = f' stroke-dasharray="{dash}"' if dash else ""
        self.parts.append(f'<polyline points="{self.path(points, stepped)}" fill="none" stroke="{colour}" '
                          f'stroke-width="{width}" stroke-linejoin="round"{dashes}/>')
        self.ends.append((label or name, colour, self.y(points[-1][1])))

    def band(self, name, lows, highs):
        self.parts.append(f'<polygon points="{self.path(lows + highs[::-1])}" fill="{COLOURS[name]}" '
                          f'fill-opacity="0.12"/>')

    def dots(self, name, points):
        self.parts += [f'<circle cx="{self.x(x):.1f}" cy="{self.y(y):.1f}" r="4" fill="{COLOURS[name]}"/>'
                       for x, y in points]

    def write(self, file):
        heights = spread([end for _, _, end in self.ends], 15, TOP, BOTTOM)
        for (label, colour, _), height in zip(self.ends, heights):
            self.parts.append(text(RIGHT + 10, height + 4, label, "start", 12, colour, "bold"))
        with open(file, "w", encoding="utf-8") as out:
            out.write("\n".join(self.parts + ["</svg>", ""]))


def run(command, given=""):
    return subprocess.run(command, input=given, capture_output=True, text=True, check=True).stdout


def one_line(file):
    with open(file, encoding="utf-8") as source:
        return source.read().replace("\n", "") + "\n"


def draw_replay(programs, docs):
    names = ("goodput", "sia", "tiresias", "fifo")
    chart = Chart("160 jobs on 64 GPUs: part of the jobs that took at most so long",
                  "completion time, hours", "part of the jobs", (0.05, 40), (0, 1), x_log=True)
    chart.ticks((0.1, 0.3, 1, 3, 10, 30), (0, 0.25, 0.5, 0.75, 1))
    ends = []
    for row in run([f"{programs}/goodput", "replay", "--policy", ",".join(names), "--json", "--jobs"]).splitlines():
        result = json.loads(row)
        hours = sorted(job["completion_h"] for job in result["completions"])
        points = [(0.05, 0)] + [(h, (i + 1) / len(hours)) for i, h in enumerate(hours)] + [(40, 1)]
        label = f'{result["policy"]}: {result["average_jct_h"]:.2f} h'
        chart.curve(result["policy"], points, label, stepped=True)
        ends.append(label)
    chart.parts.append(text(RIGHT + 10, TOP - 8, "average", "start", 11))
    chart.write(f"{docs}/tutorial_replay.svg")


def draw_fit(programs, docs):
    question = json.loads(one_line(f"{docs}/tutorial_fit.json"))
    question["predict"] = [{"gpu_type": name, "nodes": -(-gpus // node), "gpus": gpus, "local_batch": 128,
                            "accumulation": 0} for name, node in (("T4", 4), ("A100", 8)) for gpus in (1, 2, 4, 8, 16)]
    answer = json.loads(run([f"{programs}/goodput", "fit"], json.dumps(question) + "\n"))
    chart = Chart("Throughput of a job by GPUs: measured (dots), predicted, and the interval of 90 %", "GPUs",
                  "examples a second, 128 examples a GPU", (1, 16), (400, 40000), x_log=True, y_log=True)
    chart.ticks((1, 2, 4, 8, 16), (500, 1000, 2000, 5000, 10000, 20000))
    rows = list(zip(question["predict"], answer["predictions"]))
    for name in ("T4", "A100"):
        mine = [(ask["gpus"], ask["gpus"] * ask["local_batch"], got) for ask, got in rows if ask["gpu_type"] == name]
        chart.band(name, [(g, n / got["high_s"]) for g, n, got in mine], [(g, n / got["low_s"]) for g, n, got in mine])
        chart.curve(name, [(g, n / got["iteration_s"]) for g, n, got in mine])
        chart.dots(name, [(s["gpus"], s["gpus"] * s["local_batch"] / s["step_s"]) for s in question["samples"]
                          if s["gpu_type"] == name and s["local_batch"] == 128])
    chart.write(f"{docs}/tutorial_fit.svg")


def draw_prices(programs, docs):
    rows = [[float(cell) for cell in row.split()] for row in
            run([f"{programs}/tutorial_policy", "prices"]).splitlines()]
    most = max(max(row[2:]) for row in rows)
    chart = Chart("What a GPU is worth, round by round, while 120 jobs come and go", "hours",
                  "price of a GPU", (0, rows[-1][0] / 3600), (0, most * 1.05))
    step = 10 ** math.floor(math.log10(most / 2))
    chart.ticks([h * 0.5 for h in range(int(rows[-1][0] / 1800) + 1)],
                [step * i for i in range(0, int(most / step) + 1, 1 if most / step < 8 else 5)])
    jobs = max(row[1] for row in rows)
    chart.curve("jobs", [(row[0] / 3600, row[1] / jobs * most) for row in rows],
                f"jobs (at most {jobs:.0f})", 1.2, True, "3 3")
    chart.curve("T4", [(row[0] / 3600, row[2]) for row in rows], "T4", 1.6, True)
    chart.curve("A100", [(row[0] / 3600, row[3]) for row in rows], "A100", 1.6, True)
    chart.write(f"{docs}/tutorial_prices.svg")


def draw_policy(programs, docs):
    curves = {}
    for load, name, hours in re.findall(r"load (\S+) (\S+): average (\S+) h", run([f"{programs}/tutorial_policy"])):
        curves.setdefault(name, []).append((float(load), float(hours)))
    values = [hours for points in curves.values() for _, hours in points]
    chart = Chart("Average completion time over load: twenty lines of one's own against others", "load",
                  "hours", (0.5, 4), (min(values) / 1.1, max(values) * 1.1), x_log=True, y_log=True)
    chart.ticks((0.5, 1, 2, 4), (0.1, 0.2, 0.3, 0.5, 0.8))
    for name, points in curves.items():
        chart.curve(name, points, width=2.8 if name == "soon-done" else 1.8)
        chart.dots(name, points)
    chart.write(f"{docs}/tutorial_policy.svg")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--programs", default="build/release/examples")
    parser.add_argument("--docs", default="docs")
    arguments = parser.parse_args()
    for draw in (draw_replay, draw_fit, draw_prices, draw_policy):
        draw(os.path.abspath(arguments.programs), arguments.docs)


if __name__ == "__main__":
    main()
