#!/usr/bin/env python3
"""Draws for each objective which job runs on which GPU type for which part of the time: docs/shares_by_objective.svg.

usage: plot_shares.py PROGRAM DATA/gavel [--instance n20_a] > docs/shares_by_objective.svg

PROGRAM is `goodput`. One panel per objective, one row per job; jobs whose speed gains most from the fastest type come
first. Needs only Python.
"""
import argparse
import json
import pathlib
import subprocess
import sys

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1] / "compare"))
from compare_share import question
from plot_loads import line, text

OBJECTIVES = {"max_min": "largest minimum", "water_filling": "water filling", "finish_time_fairness": "finish-time fairness",
              "makespan": "least total time", "nash": "Nash welfare", "sum": "sum of rates"}
# Colours differ in brightness as well as hue, so that they also differ in print.
COLOURS = ("#d0ebff", "#4dabf7", "#d9480f", "#212529")
WIDTH, TOP, ROW, BAR = 960, 84, 15, 11
NAMES, PANEL, BARS = 60, 148, 132  # width of the names, of a panel, and of the bars in it


def answers(program, instance):
    """Returns the program's answer for each objective."""
    lines = "".join(json.dumps(question(instance, None, objective)) + "\n" for objective in OBJECTIVES)
    done = subprocess.run([program, "share"], input=lines, capture_output=True, text=True, check=True)
    return dict(zip(OBJECTIVES, map(json.loads, done.stdout.splitlines())))


def draw(instance, found):
    types, jobs = instance["worker_types"], instance["jobs"]
    order = sorted(range(len(jobs)), key=lambda j: -jobs[j]["throughputs"][-1] / max(jobs[j]["throughputs"][0], 1e-9))
    bottom = TOP + ROW * len(jobs)
    gpus = ", ".join("%g %s" % pair for pair in zip(instance["num_workers"], types))
    parts = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {bottom + 40}" width="{WIDTH}" '
             f'height="{bottom + 40}" font-family="Helvetica, Arial, sans-serif" role="img">',
             "<title>Shares of time on each GPU type by objective</title>",
             f'<rect width="{WIDTH}" height="{bottom + 40}" rx="8" fill="#ffffff"/>',
             text(14, 26, f"Part of the time on each GPU type, by job and objective: {len(jobs)} jobs, {gpus}", "start", 13)]
    for index, name in enumerate(types):
        parts += [f'<rect x="{20 + 90 * index}" y="40" width="12" height="12" fill="{COLOURS[index]}"/>',
                  text(38 + 90 * index, 50, name, "start", 12)]
    parts.append(text(38 + 90 * len(types), 50, f"empty: waits; speed: on {types[-1]} over {types[0]}", "start", 12))
    parts.append(text(NAMES - 10, TOP - 10, "speed", "end", 10))
    for row, job in enumerate(order):
        slow, fast = jobs[job]["throughputs"][0], jobs[job]["throughputs"][-1]
        parts.append(text(NAMES - 10, TOP + ROW * row + 10, "× %.2g" % (fast / slow) if slow > 0 else "only", "end", 10))
    for column, (objective, name) in enumerate(OBJECTIVES.items()):
        left = NAMES + PANEL * column
        parts.append(text(left, TOP - 10, name, "start", 12, "#212529", "bold"))
        for row, job in enumerate(order):
            x, y = left, TOP + ROW * row + (ROW - BAR) / 2
            parts.append(f'<rect x="{x}" y="{y:.1f}" width="{BARS}" height="{BAR}" fill="#f1f3f5"/>')
            for index, kind in enumerate(types):
                width = BARS * found[objective]["shares"][job].get(kind, 0)
                if width >= 0.05:
                    parts.append(f'<rect x="{x:.2f}" y="{y:.1f}" width="{width:.2f}" height="{BAR}" '
                                 f'fill="{COLOURS[index]}"/>')
                x += width
        for tick in (0, 0.5, 1):
            parts += [line(left + BARS * tick, bottom + 2, left + BARS * tick, bottom + 6, "#868e96"),
                      text(left + BARS * tick, bottom + 20, f"{tick:g}", size=10)]
    return "\n".join(parts + ["</svg>", ""])


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program")
    parser.add_argument("data", type=pathlib.Path)
    parser.add_argument("--instance", default="n20_a")
    given = parser.parse_args()
    instance = json.loads((given.data / "instances" / (given.instance + ".json")).read_text())
    sys.stdout.write(draw(instance, answers(given.program, instance)))


if __name__ == "__main__":
    main()
