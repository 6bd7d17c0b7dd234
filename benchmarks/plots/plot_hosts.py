#!/usr/bin/env python3
"""Draws what dividing CPU cores and memory is worth in Synergy's world: docs/completion_by_host.svg.

usage: plot_hosts.py PROGRAM DATA [--traces ...] [--policies ...] > docs/completion_by_host.svg

PROGRAM is `goodput`; DATA contains traces/ and profiles/. One panel per order: the average completion time of each
trace under each allocator, relative to that with the proportional share. Needs only Python.
"""
import argparse
import math
import pathlib
import sys

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1] / "compare"))
import compare_hosts
from plot_loads import line, text

HOSTS = ("greedy", "tune", "goodput", "opt")
# Colours differ in brightness as well as hue, so that they also differ in print. Each has its own mark.
COLOURS = {"greedy": "#868e96", "tune": "#4dabf7", "goodput": "#d9480f", "opt": "#212529"}
TRACES = ("static100_repo", "static100_single", "static100_multi", "static200_multi_long", "dynamic100_repo")
ORDERS = {"fifo": "first in, first out", "srtf": "shortest remaining time", "las": "least attained service"}

WIDTH, TOP, ROW, BAR = 960, 96, 66, 12
NAMES, PANEL, BARS = 150, 266, 220  # width of the names, of a panel, and of the bars in it


def mark(host, x, y):
    """Draws the mark at the end of a bar."""
    if host == "goodput":
        return f'<circle cx="{x:.1f}" cy="{y:.1f}" r="4" fill="{COLOURS[host]}"/>'
    if host == "opt":
        return f'<path d="M{x:.1f},{y - 5:.1f} l5,5 l-5,5 l-5,-5 z" fill="{COLOURS[host]}"/>'
    if host == "tune":
        return f'<rect x="{x - 3.5:.1f}" y="{y - 3.5:.1f}" width="7" height="7" fill="{COLOURS[host]}"/>'
    return f'<path d="M{x - 4:.1f},{y + 4:.1f} h8 l-4,-8 z" fill="{COLOURS[host]}"/>'


def draw(ratios, traces, policies):
    values = list(ratios.values())
    low, high = math.floor(min(values) * 20 - 0.5) / 20, math.ceil(max(values) * 20) / 20
    bottom = TOP + ROW * len(traces)
    parts = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {bottom + 44}" width="{WIDTH}" '
             f'height="{bottom + 44}" font-family="Helvetica, Arial, sans-serif" role="img">',
             "<title>Average completion time by who divides CPU cores and memory</title>",
             f'<rect width="{WIDTH}" height="{bottom + 44}" rx="8" fill="#ffffff"/>',
             text(14, 26, "Average completion time, relative to the proportional share of cores and memory (1): lower is "
                  "better", "start", 13)]
    for index, host in enumerate(HOSTS):
        x = 20 + 120 * index
        parts += [mark(host, x, 46),
                  text(x + 10, 50, host, "start", 12, COLOURS[host], "bold" if host == "goodput" else "normal")]
    parts += [line(20 + 120 * len(HOSTS), 40, 20 + 120 * len(HOSTS), 52, "#868e96"),
              text(30 + 120 * len(HOSTS), 50, "proportional", "start", 12)]
    for row, trace in enumerate(traces):
        parts.append(text(NAMES - 14, TOP + ROW * row + ROW / 2 + 4, trace, "end", 11, "#212529"))
        if row:
            parts.append(line(14, TOP + ROW * row, WIDTH - 14, TOP + ROW * row, "#e9ecef"))
    for column, policy in enumerate(policies):
        left = NAMES + PANEL * column

        def x_of(value, left=left):
            return left + BARS * (value - low) / (high - low)
        parts.append(text(left, TOP - 12, ORDERS.get(policy, policy), "start", 13, "#212529", "bold"))
        for tick in range(round(low * 10), round(high * 10) + 1):
            if low <= tick / 10 <= high:
                x = x_of(tick / 10)
                parts += [line(x, TOP, x, bottom, "#868e96" if tick == 10 else "#e9ecef"),
                          text(x, bottom + 18, f"{tick / 10:g}", size=11)]
        for row, trace in enumerate(traces):
            for index, host in enumerate(HOSTS):
                value = ratios[trace, policy, host]
                y = TOP + ROW * row + (ROW - BAR * len(HOSTS)) / 2 + BAR * (index + 0.5)
                parts += [line(x_of(min(value, 1)), y, x_of(max(value, 1)), y, COLOURS[host],
                               3.5 if host == "goodput" else 2.2),
                          mark(host, x_of(value), y)]
    return "\n".join(parts + ["</svg>", ""])


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program")
    parser.add_argument("data", type=pathlib.Path)
    parser.add_argument("--traces", default=",".join(TRACES))
    parser.add_argument("--policies", default=",".join(ORDERS))
    arguments = parser.parse_args()
    traces, policies = arguments.traces.split(","), arguments.policies.split(",")
    ratios = {}
    for trace in traces:
        rows = compare_hosts.replay(arguments.program, arguments.data, arguments.data / "traces" / f"{trace}.csv",
                                    arguments.policies, ",".join(("proportional",) + HOSTS))
        for (policy, host), row in rows.items():
            ratios[trace, policy, host] = row["average_jct_h"] / rows[policy, "proportional"]["average_jct_h"]
    sys.stdout.write(draw(ratios, traces, policies))


if __name__ == "__main__":
    main()
