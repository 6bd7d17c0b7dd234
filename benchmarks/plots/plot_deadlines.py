#!/usr/bin/env python3
"""Draws the plan over time of docs/snippets/doc_deadlines.cpp: docs/deadlines_plan.svg.

usage: plot_deadlines.py [--programs build/release/examples] [--docs docs]

GPUs over time: those promised to each job, one above the other, those left for others, and the deadlines. Needs only
Python and the program.
"""
import argparse
import re

from plot_decisions import COLOURS, svg, write
from plot_loads import line, text
from plot_tutorial import run

WIDTH, LEFT, RIGHT, TOP, BOTTOM = 760, 60, 740, 50, 250
DEADLINES = {"paper": 5400, "sweep": 14400, "eval": 9000}  # as in the example, whose cluster grows at 7200 s
GPUS = [(0, 8), (7200, 16)]
END = 14400


def draw(programs, docs):
    pieces = [(name, int(gpus), float(begin), float(end)) for name, gpus, begin, end in re.findall(
        r"^(\w+): (\d+) GPUs from ([\d.]+) s to ([\d.]+) s$", run([f"{programs}/doc_deadlines"]), re.M)]
    most = max(gpus for _, gpus in GPUS)

    def x_of(seconds):
        return LEFT + (RIGHT - LEFT) * seconds / END

    def y_of(gpus):
        return BOTTOM - (BOTTOM - TOP) * gpus / most
    parts = []
    for (begin, gpus), end in zip(GPUS, [begin for begin, _ in GPUS[1:]] + [END]):
        parts.append(f'<rect x="{x_of(begin):.1f}" y="{y_of(gpus):.1f}" width="{x_of(end) - x_of(begin):.1f}" '
                     f'height="{BOTTOM - y_of(gpus):.1f}" fill="#e9ecef"/>')
    names = list(DEADLINES)
    moments = sorted({moment for _, _, begin, end in pieces for moment in (begin, end)})
    for begin, end in zip(moments, moments[1:]):
        below = 0
        for name in names:
            for job, gpus, first, last in pieces:
                if job == name and first <= begin and end <= last:
                    parts.append(f'<rect x="{x_of(begin):.1f}" y="{y_of(below + gpus):.1f}" '
                                 f'width="{x_of(end) - x_of(begin):.1f}" height="{y_of(0) - y_of(gpus):.1f}" '
                                 f'fill="{COLOURS[names.index(name)]}"/>')
                    below += gpus
    for gpus in range(0, most + 1, 4):
        parts += [line(LEFT, y_of(gpus), LEFT - 4, y_of(gpus), "#adb5bd"),
                  text(LEFT - 8, y_of(gpus) + 4, f"{gpus}", "end", 11)]
    for hours in range(0, END // 3600 + 1):
        parts.append(text(x_of(hours * 3600), BOTTOM + 16, f"{hours} h", size=11))
    for name, deadline in DEADLINES.items():
        colour = COLOURS[names.index(name)]
        parts += [line(x_of(deadline), TOP - 8, x_of(deadline), BOTTOM, colour),
                  text(x_of(deadline) - 4, TOP - 10, name, "end", 12, colour)]
    parts.append(text(LEFT, BOTTOM + 34, "grey: what no promise needs, for whoever else is there; lines: deadlines",
                      "start", 12))
    write(f"{docs}/deadlines_plan.svg",
          svg("GPUs that are promised, over time, and what is left", WIDTH, BOTTOM + 46, parts))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--programs", default="build/release/examples")
    parser.add_argument("--docs", default="docs")
    arguments = parser.parse_args()
    draw(arguments.programs, arguments.docs)


if __name__ == "__main__":
    main()
