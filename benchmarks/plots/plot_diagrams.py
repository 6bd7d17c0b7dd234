#!/usr/bin/env python3
"""Draws the two diagrams of docs/design.md: docs/data_flow.svg and docs/one_round.svg. They carry no numbers.

usage: plot_diagrams.py [--docs docs]
"""
import argparse

from plot_loads import text

INK, LINE = "#212529", "#868e96"
FILLS = {"data": "#ffffff", "step": "#dbe4ff", "yours": "#ffe8cc"}
MARKER = ('<defs><marker id="tip" viewBox="0 0 10 10" refX="9" refY="5" markerWidth="7" markerHeight="7" '
          'orient="auto-start-reverse"><path d="M0,0 L10,5 L0,10 z" fill="#868e96"/></marker></defs>')


def box(x, y, width, lines, kind, height=44):
    parts = [f'<rect x="{x}" y="{y}" width="{width}" height="{height}" rx="6" fill="{FILLS[kind]}" stroke="{LINE}"/>']
    first = y + height / 2 + 4 - 7 * (len(lines) - 1)
    for i, content in enumerate(lines):
        parts.append(text(x + width / 2, first + 15 * i, content, size=12 if i == 0 else 10.5,
                          fill=INK if i == 0 else "#495057", weight="bold" if i == 0 and kind == "step" else "normal"))
    return parts


def arrow(*points):
    path = " ".join(f"{'M' if i == 0 else 'L'}{x},{y}" for i, (x, y) in enumerate(points))
    return [f'<path d="{path}" fill="none" stroke="{LINE}" stroke-width="1.4" marker-end="url(#tip)"/>']


def write(file, title, width, height, parts):
    with open(file, "w", encoding="utf-8") as out:
        out.write("\n".join([f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" '
                             f'height="{height}" font-family="Helvetica, Arial, sans-serif" role="img">',
                             f"<title>{title}</title>", MARKER,
                             f'<rect width="{width}" height="{height}" rx="8" fill="#ffffff"/>'] + parts + ["</svg>", ""]))


def key(x, y):
    parts = []
    for i, (kind, label) in enumerate((("data", "data"), ("step", "a folder, or a step of a round"),
                                       ("yours", "yours, or one of ours"))):
        parts += box(x + i * 200, y, 16, [""], kind, 12)
        parts.append(text(x + 24 + i * 200, y + 10, label, "start", 11))
    return parts


def data_flow(docs):
    parts = box(20, 20, 820, ["your scheduler: starts and stops jobs, collects what they report"], "yours", 34)
    row, width, gap = 104, 124, 15
    names = ((["measurements", "step times, gradients"], "data"), (["fit"], "step"),
             (["models", "with intervals"], "data"), (["model"], "step"), (["options", "GPUs, batch, goodput"], "data"),
             (["policy"], "yours"))
    widths = [140, 60, 120, 70, 160, 80]
    x, places = 20, []
    for (lines, kind), size in zip(names, widths):
        parts += box(x, row, size, lines, kind)
        places.append((x, size))
        x += size + 38
    for (left, size), (right, _) in zip(places, places[1:]):
        parts += arrow((left + size, row + 22), (right, row + 22))
    parts += arrow((90, 54), (90, row))
    second = 206
    last = places[-1]
    below = ((["values", "of each option"], "data", 130), (["allot"], "step", 70),
             (["allotment", "an option for each job"], "data", 160), (["place"], "step", 70),
             (["plan", "nodes, and reasons"], "data", 150))
    x, spots = last[0] + last[1], []
    for lines, kind, size in below:
        x -= size
        parts += box(x, second, size, lines, kind)
        spots.append((x, size))
        x -= 38
    parts += arrow((last[0] + last[1] / 2, row + 44), (last[0] + last[1] / 2, second))
    for (right, _), (left, size) in zip(spots, spots[1:]):
        parts += arrow((right, second + 22), (left + size, second + 22))
    allot = spots[1]
    parts += box(allot[0] - 150, 298, 130, ["limits", "quotas, budget, cores"], "yours")
    parts += arrow((allot[0] - 20, 320), (allot[0] + 22, 320), (allot[0] + 22, second + 44))
    parts += box(allot[0] + 70, 298, 160, ["prices, bound, gap"], "data")
    parts += arrow((allot[0] + 48, second + 44), (allot[0] + 48, 320), (allot[0] + 70, 320))
    plan = spots[-1]
    parts += arrow((plan[0], second + 22), (8, second + 22), (8, 37), (20, 37))
    parts += key(20, 366)
    write(f"{docs}/data_flow.svg", "How data flows through the folders", 860, 392, parts)


def one_round(docs):
    stations = (("what is open", "Cluster: nodes, drained or not", "pools"),
                ("what is offered", "a maker, a predictor, models", "options, with batch and goodput"),
                ("the rows", "limits", "GPUs of each pool, quotas, a budget"),
                ("what it is worth", "a policy, weights", "a value for each option"),
                ("the allotment", "a solver, gap, deadline", "choice, prices, bound"),
                ("the nodes", "a placer, where jobs run now", "placements, fewest moves"),
                ("after the nodes", "a station, if there is one", "cores and memory, or what you add"),
                ("reasons", "", "why a job waits or cannot run"))
    parts = [text(130, 28, "goes in", size=12, fill=INK, weight="bold"),
             text(370, 28, "a station of schedule/detail", size=12, fill=INK, weight="bold"),
             text(640, 28, "comes out", size=12, fill=INK, weight="bold")]
    for i, (name, given, found) in enumerate(stations):
        y = 44 + i * 54
        parts += box(290, y, 160, [name], "step", 36)
        parts += box(520, y, 240, [found], "data", 36) + arrow((450, y + 18), (520, y + 18))
        if given:
            parts += box(20, y, 220, [given], "data" if i == 0 else "yours", 36)
            parts += arrow((240, y + 18), (290, y + 18))
        if i:
            parts += arrow((370, y - 18), (370, y))
    y = 44 + len(stations) * 54
    parts += box(520, y, 240, ["Plan"], "data", 36)
    parts += arrow((640, y - 18), (640, y)) + box(20, y, 220, ["Snapshot: all that a round sees"], "data", 36)
    parts.append(text(380, y + 22, "a pure function of it: no clock, no memory", size=11))
    parts += key(20, y + 54)
    write(f"{docs}/one_round.svg", "One round: from a snapshot to a plan", 780, y + 82, parts)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--docs", default="docs")
    docs = parser.parse_args().docs
    data_flow(docs)
    one_round(docs)


if __name__ == "__main__":
    main()
