#!/usr/bin/env python3
"""Draws single decisions for docs/tutorial.md and docs/allot.md: a plan, moves that make room, a search.

usage: plot_decisions.py [--programs build/release/examples] [--docs docs]

Writes tutorial_plan.svg, tutorial_places.svg and allot_search.svg from runs of the program and of
docs/snippets/tutorial_decisions.cpp. Needs only Python and the two programs.
"""
import argparse
import json
import os
import re

from plot_loads import line, text
from plot_tutorial import one_line, run

COLOURS = ("#d9480f", "#1864ab", "#2b8a3e", "#5f3dc4", "#b08900", "#c2255c", "#0b7285", "#7b5b3a", "#495057", "#9c36b5")
CELL = 26


def svg(title, width, height, parts):
    return "\n".join([f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" '
                      f'height="{height}" font-family="Helvetica, Arial, sans-serif" role="img">',
                      f"<title>{title}</title>", f'<rect width="{width}" height="{height}" rx="8" fill="#ffffff"/>',
                      text(20, 26, title, "start", 13, "#212529", "bold")] + parts + ["</svg>", ""])


def write(file, content):
    with open(file, "w", encoding="utf-8") as out:
        out.write(content)


def cells(x, y, gpus, held):
    """Draws a node's GPUs. held is a list of [colour, label, GPUs]."""
    filled = [(colour, label) for colour, label, count in held for _ in range(count)]
    parts = []
    for i in range(gpus):
        colour, label = filled[i] if i < len(filled) else ("#f1f3f5", "")
        parts.append(f'<rect x="{x + i * CELL:.1f}" y="{y:.1f}" width="{CELL - 3}" height="{CELL - 3}" rx="3" '
                     f'fill="{colour}"/>')
        if label:
            parts.append(text(x + i * CELL + (CELL - 3) / 2, y + 16, label, size=11, fill="#ffffff"))
    return parts


def draw_plan(programs, docs):
    question = json.loads(one_line(f"{docs}/tutorial_round.json"))
    answer = json.loads(run([f"{programs}/goodput", "plan", "--policy", "goodput", "--explain"],
                            one_line(f"{docs}/tutorial_round.json")))
    parts = []
    for row, node in enumerate(question["nodes"]):
        y = 48 + row * 40
        held = [(COLOURS[j], "", count) for j, job in enumerate(answer["plan"]) for name, count in job["nodes"]
                if name == node["name"]]
        parts.append(text(20, y + 16, f'{node["name"]}, {node["gpus"]} {node["gpu_type"]}', "start", 12))
        parts += cells(150, y, node["gpus"], held)
        parts.append(text(380, y + 16, f'price of a GPU {answer["prices"][node["gpu_type"]]:.3f}', "start", 12))
    for j, job in enumerate(answer["plan"]):
        y = 48 + len(question["nodes"]) * 40 + 14 + j * 20
        parts.append(f'<rect x="20" y="{y - 10}" width="12" height="12" rx="2" fill="{COLOURS[j]}"/>')
        gpus = sum(count for _, count in job["nodes"])
        parts.append(text(40, y, f'{job["name"]}: {gpus} {job["gpu_type"]}, {job["local_batch"]} examples a GPU, '
                          f'goodput {job["goodput"]:,.0f} useful examples a second', "start", 12))
    height = 48 + len(question["nodes"]) * 40 + 20 * len(answer["plan"]) + 14
    write(f"{docs}/tutorial_plan.svg", svg("The plan of a round: who gets which GPUs", 640, height, parts))


def draw_places(programs, docs):
    output = run([f"{programs}/tutorial_decisions"])
    moved = set(re.findall(r"^move job (\d+)", output, re.M))
    parts = []
    for column, (when, title) in enumerate((("before", "before"), ("after", f"after {len(moved)} moves"))):
        left = 20 + column * 330
        parts.append(text(left, 52, title, "start", 12, "#212529", "bold"))
        for row, (node, jobs) in enumerate(re.findall(rf"^{when} (\S+):(.*)$", output, re.M)):
            held = [(COLOURS[int(job) % len(COLOURS)] if job in moved else "#868e96", job, int(count))
                    for job, count in re.findall(r"job (\d+) x(\d+)", jobs)]
            parts.append(text(left, 82 + row * 36, node, "start", 12))
            parts += cells(left + 58, 66 + row * 36, 8, held)
    parts.append(text(20, 298, output.splitlines()[-1], "start", 11))
    write(f"{docs}/tutorial_places.svg", svg("Moves that free two whole nodes; in colour who moves", 690, 316, parts))


def draw_search(programs, docs):
    output = run([f"{programs}/tutorial_decisions", "search"])
    steps = re.findall(r"^level (\d+) left (\S+) takes (\S+) leaves (\S+) value (\S+) bound (\S+) (\S+)$", output, re.M)
    full = max(float(step[1]) for step in steps)
    levels = 1 + max(int(step[0]) for step in steps)
    width, height, top, low = 720, 136 + levels * 92, 64, 120

    def x(left):
        return low + (width - low - 40) * (full - left) / full

    def y(level):
        return top + level * 92
    lines, dots, best, count = [], {}, {}, {"kept": 0, "same": 0, "cut": 0, "no_room": 0}
    for level, left, _, leaves, value, _, fate in steps:
        count[fate] += 1
        if fate == "no_room":
            continue
        at, to = (int(level), float(left)), (int(level) + 1, float(leaves))
        stroke = "#dee2e6" if fate == "cut" else "#1864ab"
        lines.append((fate != "cut", line(x(at[1]), y(at[0]), x(to[1]), y(to[0]), stroke, 1.3)))
        dots.setdefault(at, "#1864ab")
        if fate != "cut":
            dots[to] = "#1864ab"
            if to not in best or float(value) > best[to][0]:
                best[to] = (float(value), at)
    at = max((state for state in best if state[0] == levels), key=lambda state: best[state][0])
    while at in best:  # the path to the best allotment
        before = best[at][1]
        lines.append((True, line(x(before[1]), y(before[0]), x(at[1]), y(at[0]), "#d9480f", 3)))
        dots[at] = dots[before] = "#d9480f"
        at = before
    parts = [part for _, part in sorted(lines, key=lambda item: item[0])]
    for (level, left), colour in dots.items():
        parts.append(f'<circle cx="{x(left):.1f}" cy="{y(level):.1f}" r="11" fill="{colour}"/>')
        parts.append(text(x(left), y(level) + 4, f"{left:g}", size=11, fill="#ffffff"))
    for level in range(levels):
        parts.append(text(20, y(level) + 50, f"job {level} gets", "start", 12))
    kept = sum(1 for state in dots if state[0] > 0)
    first = re.match(r"price (\S+), bound (\S+), in hand (\S+)", output)
    found = max(value for state, (value, _) in best.items() if state[0] == levels)
    parts.append(text(20, height - 34, f"nothing is worth more than {float(first[2]):.2f}; in hand at the start "
                      f"{float(first[3]):.2f}; found {found:.2f} (red)", "start", 12))
    parts.append(text(20, height - 16, f"{kept} states kept, {count['same']} steps to a state that was there, "
                      f"{count['cut']} cut by the bound (grey), {count['no_room']} without room (not drawn)",
                      "start", 12))
    write(f"{docs}/allot_search.svg", svg("A search for the best allotment: GPUs left after each job", width, height,
                                          parts))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--programs", default="build/release/examples")
    parser.add_argument("--docs", default="docs")
    arguments = parser.parse_args()
    for draw in (draw_plan, draw_places, draw_search):
        draw(os.path.abspath(arguments.programs), arguments.docs)


if __name__ == "__main__":
    main()
