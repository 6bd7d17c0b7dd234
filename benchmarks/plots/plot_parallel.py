#!/usr/bin/env python3
"""Draws what uneven stages on two GPU types are worth as a cluster grows, and the plan on the largest one:
docs/throughput_by_plans.svg.

usage: plot_parallel.py PROGRAM DATA/sailor [--model OPT-350] [--batch 1024] [--deadline-ms 10000]
       > docs/throughput_by_plans.svg

PROGRAM is `goodput`. Left: iterations per second of the best plan on both types with its bound (equal if proven), of
the best with equally many layers in every stage (and one tensor-parallel degree per type), and of the best on each
type alone. Right: the stages of the best plan for the most GPUs. Needs only Python; takes two minutes.
"""
import argparse
import json
import pathlib
import subprocess
import sys

from plot_loads import line, spread, text

ZONE, FAST, SLOW = "us-central1-a", "A100-40", "V100-16"
SIZES = (16, 32, 48, 64, 80, 96, 112, 128)  # GPUs of the fast type; the slow one has three times as many
COLOURS = {FAST: "#d9480f", SLOW: "#4dabf7"}
LINES = (("both", "both types", "#212529"), ("even", "both, even stages", "#868e96"),
         ("fast", f"{FAST} alone", COLOURS[FAST]), ("slow", f"{SLOW} alone", COLOURS[SLOW]))
WIDTH, HEIGHT, TOP, BOTTOM = 960, 400, 72, 340
LEFT, RIGHT = 52, 362           # of the part with lines
STAGES, LAYERS, END = 516, 538, 740  # the stages' names, their bars


def ask(program, data, lines):
    """Returns an answer for each line."""
    done = subprocess.run([program, "parallel", "--profiles", str(data / "profiles")], text=True, capture_output=True,
                          check=True, input="".join(json.dumps(one) + "\n" for one in lines))
    return [json.loads(one) for one in done.stdout.splitlines()]


def even_plans(measured, layers, batch, gpus):
    """Yields all plans with equally many layers in every stage, the first stages on one type and the rest on the
    other."""
    for stages in range(1, layers + 1):
        cuts = [layers * stage // stages for stage in range(stages + 1)]
        for first, then in ((FAST, SLOW), (SLOW, FAST)):
            for split in range(stages):
                for microbatch, degree in measured[first]:
                    for other in [key[1] for key in measured[then] if key[0] == microbatch] if split else [1]:
                        replicas = gpus[first] // (degree * (stages - split))
                        if split:
                            replicas = min(replicas, gpus[then] // (other * split))
                        if replicas == 0 or replicas * microbatch > batch:
                            continue
                        groups = [(first, degree)] * (stages - split) + [(then, other)] * split
                        yield {"microbatch": microbatch, "global_batch": batch, "stages": [
                            {"layers": [cuts[s], cuts[s + 1] - 1],
                             "replicas": [{"gpu_type": gpu_type, "tensor_parallel": wide, "zone": ZONE, "count": replicas}]}
                            for s, (gpu_type, wide) in enumerate(groups)]}


def measure(arguments):
    """Returns by size: throughput by name of line, bound, and the best plan's answer."""
    profiles = json.loads((arguments.data / "profiles" / "profiles_tmp.json").read_text())[arguments.model]
    measured = {kind: [(int(b), int(t)) for b, degrees in profiles[kind].items() for t in degrees] for kind in (FAST, SLOW)}
    layers = len(next(iter(next(iter(profiles[FAST].values())).values())))
    found = []
    for size in SIZES:
        gpus = {FAST: size, SLOW: 3 * size}
        search = {"model": arguments.model, "global_batch": arguments.batch, "objective": "throughput",
                  "deadline_ms": arguments.deadline_ms}
        both, fast, slow = ask(arguments.program, arguments.data,
                               [dict(search, gpus={ZONE: some}) for some in (gpus, {FAST: size}, {SLOW: 3 * size})])
        even = [answer["throughput"] for answer in
                ask(arguments.program, arguments.data,
                    [{"model": arguments.model, "gpus": {ZONE: gpus}, "plan": plan}
                     for plan in even_plans(measured, layers, arguments.batch, gpus)])
                if answer["fits"] and not answer["why"]]
        found.append({"both": both["throughput"], "fast": fast["throughput"], "slow": slow["throughput"],
                      "even": max(even), "bound": both["bound"], "answer": both})
        print(" ".join(f"{name} {found[-1][name]:.4f}" for name in ("bound", "both", "even", "fast", "slow")),
              f"of {size} {FAST} and {3 * size} {SLOW}", file=sys.stderr)
    return found


def draw_lines(found):
    most = max(one["bound"] for one in found) * 1.05
    across = [LEFT + (RIGHT - LEFT) * size / SIZES[-1] for size in SIZES]
    height = lambda number: BOTTOM - (BOTTOM - TOP) * number / most
    parts = [text(LEFT - 38, TOP - 14, "iterations/s", "start"), line(LEFT, BOTTOM, RIGHT, BOTTOM, "#868e96")]
    step = next(step for step in (0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10) if most / step < 8)
    for tick in range(int(most / step) + 1):
        parts += [line(LEFT, height(tick * step), RIGHT, height(tick * step), "#e9ecef"),
                  text(LEFT - 6, height(tick * step) + 4, f"{tick * step:g}", "end", 11)]
    for x, size in list(zip(across, SIZES))[1::2]:
        parts.append(text(x, BOTTOM + 18, f"{size} + {3 * size}", size=11))
    parts.append(text((LEFT + RIGHT) / 2, BOTTOM + 38, f"GPUs: {FAST} + {SLOW}"))
    path = lambda name: "M" + " L".join(f"{x:.1f},{height(one[name]):.1f}" for x, one in zip(across, found))
    parts.append(f'<path d="{path("bound")}" fill="none" stroke="#212529" stroke-width="1" stroke-dasharray="3 3"/>')
    proven = all(one["bound"] <= one["both"] * 1.001 for one in found)
    labels = [(name, label + ", proven" if proven and name == "both" else label, colour) for name, label, colour in LINES]
    if not proven:
        labels.append(("bound", "bound", "#212529"))
    ends = spread([height(found[-1][name]) for name, _, _ in labels], 15, TOP, BOTTOM)
    for (name, label, colour), end in zip(labels, ends):
        if name != "bound":
            parts.append(f'<path d="{path(name)}" fill="none" stroke="{colour}" stroke-width="2"/>')
        parts.append(text(RIGHT + 8, end + 4, label, "start", 12, colour))
    return parts


def draw_plan(answer, size):
    plan = answer["plan"]
    stages = plan["stages"]
    layers = stages[-1]["layers"][1] + 1
    row = min(40, (BOTTOM - TOP) / len(stages))
    unit = (END - LAYERS) / layers
    parts = [text(STAGES, TOP - 14, f"best on {size} + {3 * size}: micro-batch {plan['microbatch']}", "start"),
             text(END + 10, TOP - 14, "replicas × GPUs, fullest GPU", "start")]
    for index, (stage, memory) in enumerate(zip(stages, answer["memory_gib"])):
        y, (first, last) = TOP + row * index, stage["layers"]
        kinds = ", ".join(f"{group['count']} × {group['tensor_parallel']} {group['gpu_type']}"
                          for group in stage["replicas"])
        parts += [text(STAGES, y + row / 2 + 4, f"{index + 1}", "start", 12, "#212529", "bold"),
                  f'<rect x="{LAYERS + unit * first:.1f}" y="{y + 3:.1f}" width="{unit * (last - first + 1):.1f}" '
                  f'height="{row - 6:.1f}" fill="{COLOURS[stage["replicas"][0]["gpu_type"]]}"/>']
        parts.append(text(END + 10, y + row / 2 + 4, f"{last - first + 1} layers, {kinds}, {memory:.1f} GiB", "start", 11))
    y = TOP + row * len(stages)
    parts += [line(LAYERS, y, END, y, "#868e96"), text(LAYERS, y + 18, "first layer", "start", 11),
              text(END, y + 18, "last layer", "end", 11)]
    return parts


def draw(model, found):
    parts = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" width="{WIDTH}" height="{HEIGHT}" '
             'font-family="Helvetica, Arial, sans-serif" role="img">',
             "<title>Iterations a second of plans for a growing cluster of two GPU types, and the best plan</title>",
             f'<rect width="{WIDTH}" height="{HEIGHT}" rx="8" fill="#ffffff"/>',
             text(14, 26, f"{model} on two GPU types: the best plan, and what simpler ones reach", "start", 13)]
    parts += draw_lines(found) + draw_plan(found[-1]["answer"], SIZES[-1])
    return "\n".join(parts + ["</svg>", ""])


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program")
    parser.add_argument("data", type=pathlib.Path)
    parser.add_argument("--model", default="OPT-350")
    parser.add_argument("--batch", type=int, default=1024)
    parser.add_argument("--deadline-ms", type=float, default=10000)
    arguments = parser.parse_args()
    sys.stdout.write(draw(arguments.model, measure(arguments)))


if __name__ == "__main__":
    main()
