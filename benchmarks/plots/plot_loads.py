#!/usr/bin/env python3
"""Draws how policies compare as the load grows: docs/completion_by_load.svg.

usage: plot_loads.py FILE... [--policies ...] [--workloads ...] [--svg docs/completion_by_load.svg]

FILE is the output of compare_policies.py --output. One panel each for the average completion time, its 99th percentile
and restarts per job: geometric means over the workloads of the ratios to the first policy. Needs only Python.
"""
import argparse
import math
import pathlib
import sys

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1] / "compare"))
import compare_policies

PANELS = (("average_jct_h", "Average completion time"), ("p99_jct_h", "99th percentile"),
          ("restarts_per_job", "Restarts a job"))
BOLD = {"goodput": "#d9480f", "goodput-declared": "#1864ab", "sia-refined": "#2b8a3e"}
OTHERS = ("#343a40", "#868e96", "#8d6e53", "#5f7a94", "#7b6a94", "#6a8560", "#94626a", "#5c8a8a")
DASHES = ("", "6 3", "2 3", "8 3 2 3", "4 2", "10 4", "1 2", "12 3 3 3")

WIDTH, HEIGHT = 960, 330
TOP, BOTTOM = 72, 282
LEFT, PANEL, LINES = 42, 312, 152  # of the first panel, from one to the next, of the part with lines
LABEL_HEIGHT = 14
# Rounder ticks come first: if ticks are too close, the later ones are left out.
TICKS = (1, 0.5, 2, 0.1, 10, 0.2, 5, 0.8, 1.2, 0.9, 1.1, 0.7, 1.5, 0.6, 3, 0.4, 0.3, 20, 50, 0.95, 1.05, 0.85, 1.3, 7)


def text(x, y, content, anchor="middle", size=12, fill="#495057", weight="normal"):
    return (f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" font-size="{size}" fill="{fill}" '
            f'font-weight="{weight}">{content}</text>')


def line(x1, y1, x2, y2, stroke, width=1.0):
    return f'<line x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}" stroke="{stroke}" stroke-width="{width}"/>'


def spread(heights, least, low, high):
    """Moves heights apart to at least that distance between low and high, each as little as their order allows."""
    order = sorted(range(len(heights)), key=lambda i: heights[i])
    # Groups that touch are moved together.
    groups = []
    for i in order:
        groups.append([[i], heights[i]])
        while len(groups) > 1:
            (above, middle_above), (below, middle_below) = groups[-2:]
            if middle_below - middle_above >= least * (len(above) + len(below)) / 2:
                break
            both = above + below
            groups[-2:] = [[both, sum(heights[k] - least * n for n, k in enumerate(both)) / len(both)
                            + least * (len(both) - 1) / 2]]
    placed = [0.0] * len(heights)
    floor = low
    for members, middle in groups:
        first = max(min(middle - least * (len(members) - 1) / 2, high - least * (len(members) - 1)), floor)
        for n, k in enumerate(members):
            placed[k] = first + least * n
        floor = first + least * len(members)
    return placed


def panel(left, title, loads, curves, colours, dashes):
    """Draws one panel. Curves are ratios at every load, by policy."""
    values = [value for curve in curves.values() for value in curve if value > 0]
    low, high = min(values) / 1.04, max(values) * 1.04

    def x_of(load):
        return left + LINES * math.log(load / loads[0]) / max(math.log(loads[-1] / loads[0]), 1e-9)

    def y_of(value):
        return BOTTOM - (BOTTOM - TOP) * math.log(max(value, low) / low) / math.log(high / low)
    parts = [text(left, TOP - 16, title, "start", 13, "#212529", "bold")]
    drawn = []
    for tick in (tick for tick in TICKS if low <= tick <= high):
        y = y_of(tick)
        if any(abs(y - other) < 22 for other in drawn):
            continue
        drawn.append(y)
        parts.append(line(left, y, left + LINES, y, "#adb5bd" if tick == 1 else "#e9ecef"))
        parts.append(text(left - 7, y + 4, f"{tick:g}", "end", 11))
    for load in loads:
        parts.append(line(x_of(load), BOTTOM, x_of(load), BOTTOM + 4, "#adb5bd"))
        parts.append(text(x_of(load), BOTTOM + 18, f"{load:g}", size=11))
    for policy, curve in reversed(curves.items()):  # the last ones first, so that the others lie on top
        points = " ".join(f"{x_of(load):.1f},{y_of(value):.1f}" for load, value in zip(loads, curve))
        width = 2.6 if policy in BOLD else 1.5
        dash = f' stroke-dasharray="{dashes[policy]}"' if dashes[policy] else ""
        parts.append(f'<polyline points="{points}" fill="none" stroke="{colours[policy]}" stroke-width="{width}" '
                     f'stroke-linejoin="round" stroke-linecap="round"{dash}/>')
        if policy in BOLD:
            parts += [f'<circle cx="{x_of(load):.1f}" cy="{y_of(value):.1f}" r="3.2" fill="{colours[policy]}"/>'
                      for load, value in zip(loads, curve)]
    ends = [y_of(curve[-1]) for curve in curves.values()]
    right = left + LINES
    for policy, end, label in zip(curves, ends, spread(ends, LABEL_HEIGHT, TOP, BOTTOM)):
        if abs(end - label) > 2:
            parts.append(f'<path d="M{right + 5:.1f},{end:.1f} L{right + 13:.1f},{label:.1f}" fill="none" '
                         f'stroke="{colours[policy]}" stroke-width="0.8"/>')
        parts.append(text(right + 15, label + 4, policy, "start", 11, colours[policy],
                          "bold" if policy in BOLD else "normal"))
    return parts


def draw(results, policies, workloads, loads):
    means = compare_policies.means_of(results)
    compare_policies.require_all(means, policies, workloads, loads)
    others = [policy for policy in policies if policy not in BOLD]
    colours = BOLD | {policy: OTHERS[i % len(OTHERS)] for i, policy in enumerate(others)}
    dashes = dict.fromkeys(BOLD, "") | {policy: DASHES[i % len(DASHES)] for i, policy in enumerate(others)}
    count = f"{len(workloads)} traces" if len(workloads) > 1 else workloads[0]
    parts = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" width="{WIDTH}" '
             f'height="{HEIGHT}" font-family="Helvetica, Arial, sans-serif" role="img">',
             f"<title>Completion times and restarts by load, relative to {policies[0]}</title>",
             f'<rect width="{WIDTH}" height="{HEIGHT}" rx="8" fill="#ffffff"/>',
             text(LEFT, 26, f"Relative to {policies[0]} at the same load: geometric means over {count}; lower is better",
                  "start", 13)]
    for index, (key, title) in enumerate(PANELS):
        curves = {policy: [compare_policies.geometric_mean(
            compare_policies.ratios(means, load, workloads, policy, policies[0], key)) for load in loads]
            for policy in policies}
        parts += panel(LEFT + index * PANEL, title, loads, curves, colours, dashes)
        parts.append(text(LEFT + index * PANEL + LINES / 2, BOTTOM + 38, "load (1: as traced)", size=11))
    return "\n".join(parts + ["</svg>", ""])


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("files", nargs="+")
    parser.add_argument("--policies", default="", help="the first one is the peer (default: all, in their order)")
    parser.add_argument("--workloads", default="")
    parser.add_argument("--svg", default="docs/completion_by_load.svg")
    arguments = parser.parse_args()
    results = compare_policies.read(arguments.files)
    policies = compare_policies.named(results, "policy", [name for name in arguments.policies.split(",") if name])
    workloads = compare_policies.named(results, "workload", [name for name in arguments.workloads.split(",") if name])
    loads = sorted(compare_policies.named(results, "load", None))
    with open(arguments.svg, "w", encoding="utf-8") as file:
        file.write(draw(results, policies, workloads, loads))


if __name__ == "__main__":
    main()
