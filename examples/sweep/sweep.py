#!/usr/bin/env python3
"""Replays of a trace under many settings: policies x loads x seeds x clusters x workloads, on the cores of this machine
or as a job array of a Slurm cluster, with one table and report for all.

    sweep.py list   SPEC --out DIR                      prints how many replays there are, and how many are done
    sweep.py run    SPEC --out DIR [-j CORES]           runs the missing replays on this machine
    sweep.py submit SPEC --out DIR [--tasks N]          runs the missing replays as one `sbatch --array`
    sweep.py merge  DIR [--svg FILE]                    writes DIR/results.csv and DIR/report.html from the results so far

SPEC is a JSON file:

    {"policies": ["sia", "goodput"],                    values of `goodput replay --policy`
     "loads": [0.5, 1, 2],                              --load; 1 by default
     "seeds": [1, 2, 3],                                --seed, which breaks ties; 0 by default
     "trace_seeds": [1, 2],                             --trace-seed: other traces; by default the trace as it is
     "interruptions_seeds": [1, 2],                     --interruptions-seed: other failures; by default the first ones
     "clusters": {"mixed": "aws:6x4,rtx:3x8"},          --cluster by name; the program's own by default
     "workloads": {"monday": "monday.csv"},             --workload by name, next to SPEC; the program's own by default
     "options": {"--interval": 60}}                     further options, the same for all

A replay whose result is in DIR is not run again, whichever command asks and however the last run ended, because a result is
first written under another name. If a replay fails, its message is printed, the others continue, and the exit status is 1.
The next run tries it again. DIR must be on a file system that all nodes share. Needs only Python and the program.
"""
import argparse
import concurrent.futures
import csv
import hashlib
import html
import itertools
import json
import math
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

AXES = ("policy", "load", "seed", "trace_seed", "interruptions_seed", "cluster", "workload")
# What makes a setting; replays that only differ in seeds repeat it.
SETTING = ("load", "cluster", "workload")
SEEDS = ("seed", "trace_seed", "interruptions_seed")
KEYS = {"policies", "loads", "seeds", "trace_seeds", "interruptions_seeds", "clusters", "workloads", "options"}
PAGE = Path(__file__).resolve().parents[2] / "program" / "report" / "page"
CHART_JS = Path("/usr/share/javascript/chart.js/chart.min.js")  # Debian's libjs-chart.js
MOST_TASKS = 1000  # Slurm's MaxArraySize is 1001 by default
COLOURS = ("#d9480f", "#1864ab", "#2b8a3e", "#862e9c", "#e67700", "#0b7285", "#a61e4d", "#5c940d", "#495057", "#364fc7")
DASHES = ("", "7 3", "2 3", "9 3 2 3")


class Mistake(Exception):
    """A mistake of the user, in a sentence."""


def read_spec(path):
    try:
        spec = json.loads(Path(path).read_text())
    except OSError as error:
        raise Mistake(f"{path}: {error.strerror}") from None
    except ValueError as error:
        raise Mistake(f"{path}: not JSON: {error}") from None
    if not isinstance(spec, dict):
        raise Mistake(f"{path}: must be an object with the keys {', '.join(sorted(KEYS))}")
    for key in spec:
        if key not in KEYS:
            raise Mistake(f"{path}: there is no key '{key}'; known are {', '.join(sorted(KEYS))}")
    for key, kind in (("policies", str), ("loads", (int, float)), *((f"{seed}s", int) for seed in SEEDS)):
        if key not in spec and key in ("trace_seeds", "interruptions_seeds"):
            spec[key] = [""]  # the program's default
            continue
        values = spec.get(key, {"loads": [1], "seeds": [0]}.get(key))
        if not isinstance(values, list) or not values or \
                any(not isinstance(value, kind) or isinstance(value, bool) for value in values):
            raise Mistake(f"{path}: {key} must be a list of at least one {'name' if kind is str else 'number'}")
        if len(set(values)) < len(values):
            raise Mistake(f"{path}: {key} names something twice")
        spec[key] = values
    for key in ("clusters", "workloads", "options"):
        if not isinstance(spec.setdefault(key, {}), dict):
            raise Mistake(f"{path}: {key} must be an object")
    for name, file in spec["workloads"].items():
        file = Path(path).parent / file
        if not file.exists():
            raise Mistake(f"{path}: workload '{name}': there is no file {file}")
        spec["workloads"][name] = str(file.resolve())
    return spec


def cells_of(spec):
    """Returns every combination, with the arguments of its replay and a name that depends only on these."""
    cells = []
    for policy, load, seed, trace_seed, interruptions_seed, cluster, workload in itertools.product(
            spec["policies"], spec["loads"], *(spec[f"{seed}s"] for seed in SEEDS), spec["clusters"] or {"": None},
            spec["workloads"] or {"": None}):
        arguments = ["replay", "--policy", policy, "--load", str(load), "--seed", str(seed), "--json"]
        if trace_seed != "":
            arguments += ["--trace-seed", str(trace_seed)]
        if interruptions_seed != "":
            arguments += ["--interruptions-seed", str(interruptions_seed)]
        if cluster:
            arguments += ["--cluster", spec["clusters"][cluster]]
        if workload:
            arguments += ["--workload", spec["workloads"][workload]]
        for name, value in sorted(spec["options"].items()):
            arguments += [name] + ([] if value is True else [str(value)])
        named = dict(zip(AXES, (policy, load, seed, trace_seed, interruptions_seed, cluster, workload)))
        key = hashlib.sha256(json.dumps([arguments, cluster, workload]).encode()).hexdigest()[:16]
        cells.append({**named, "arguments": arguments, "key": key})
    return cells


def result_of(cell, out):
    return out / "cells" / f"{cell['key']}.json"


def missing(cells, out):
    return [cell for cell in cells if not result_of(cell, out).exists()]


def write_whole(path, text):
    """Writes a file entirely or not at all, even if others write the same file."""
    beside = path.with_name(f"{path.name}.{os.uname().nodename}.{os.getpid()}.part")
    beside.write_text(text)
    beside.replace(path)


def name_of(cell):
    return ", ".join(f"{axis} {cell[axis]}" for axis in AXES if cell[axis] != "")


def replay(cell, out, program):
    """Runs a replay. Returns None, or what went wrong."""
    try:
        ran = subprocess.run([program, *cell["arguments"]], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                             stderr=subprocess.PIPE, text=True)
    except OSError as error:
        return f"{program}: {error.strerror}"
    try:
        if ran.returncode != 0:
            raise ValueError
        figures = json.loads(ran.stdout)
    except ValueError:
        last = "\n    ".join(ran.stderr.strip().splitlines()[-5:])
        return f"exit status {ran.returncode}" + (f"\n    {last}" if last else "")
    (out / "cells").mkdir(parents=True, exist_ok=True)
    write_whole(result_of(cell, out), json.dumps({**cell, "figures": figures}) + "\n")
    return None


def run(cells, out, program, cores):
    to_do = missing(cells, out)
    print(f"{len(cells)} replays, {len(cells) - len(to_do)} of them done", flush=True)
    failed = {}  # names of replays, by what went wrong
    with concurrent.futures.ThreadPoolExecutor(cores) as pool:
        futures = {pool.submit(replay, cell, out, program): cell for cell in to_do}
        for done, future in enumerate(concurrent.futures.as_completed(futures), 1):
            why = future.result()
            if why:
                failed.setdefault(why, []).append(name_of(futures[future]))
                if len(failed[why]) == 1:
                    print(f"FAILED: {failed[why][0]}: {why}", file=sys.stderr, flush=True)
            if done % max(1, len(to_do) // 10) == 0:
                print(f"{done} of {len(to_do)}", flush=True)
    for why, names in failed.items():
        if len(names) > 1:
            print(f"{len(names)} replays failed like {names[0]}; the last of them: {names[-1]}", file=sys.stderr)
    return 1 if failed else 0


def submit(cells, out, arguments):
    """Submits tasks. Of n tasks, task i runs replays i, i + n and so on, and finds out itself which of them are done."""
    to_do = missing(cells, out)
    if not to_do:
        print("every replay is done")
        return 0
    if not shutil.which("sbatch"):
        raise Mistake("there is no sbatch on this machine: use `sweep.py run`, or log in where Slurm is")
    tasks = min(arguments.tasks, len(to_do), MOST_TASKS)
    out.mkdir(parents=True, exist_ok=True)
    # Save the replays as they are now, because the user's file may change before the last task starts.
    write_whole(out / "replays.json", json.dumps(cells))
    (out / "log").mkdir(exist_ok=True)
    program = shutil.which(arguments.program) or arguments.program
    script = f"""#!/bin/sh
exec python3 '{Path(__file__).resolve()}' task '{out.resolve()}' "$SLURM_ARRAY_TASK_ID" {tasks} --program '{program}'
"""
    command = ["sbatch", "--parsable", f"--array=0-{tasks - 1}", "--ntasks=1", "--job-name=goodput-sweep",
               f"--output={out.resolve()}/log/%A-%a.txt", *arguments.sbatch]
    sent = subprocess.run(command, input=script, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    if sent.returncode != 0:
        raise Mistake(f"sbatch: {sent.stderr.strip()}")
    print(f"{len(to_do)} of {len(cells)} replays in {tasks} tasks: job {sent.stdout.strip()}")
    return 0


def task(arguments):
    cells = json.loads((arguments.out / "replays.json").read_text())
    return run(cells[arguments.number::arguments.tasks], arguments.out, arguments.program, 1)


# ---- the table and the report


def read_results(out):
    files = sorted((out / "cells").glob("*.json"))
    if not files:
        raise Mistake(f"{out}: there are no results yet")
    results = [json.loads(file.read_text()) for file in files]
    for cell in results:  # null: no such figure, like an average without completed jobs
        cell["figures"] = {name: value for name, value in cell["figures"].items() if value is not None}
        for axis in AXES:  # results from before such seeds existed
            cell.setdefault(axis, "")
    results.sort(key=lambda cell: [(isinstance(cell[axis], str), cell[axis]) for axis in AXES])
    return results


def figures_of(results):
    names = []
    for cell in results:
        names += [name for name, value in cell["figures"].items()
                  if isinstance(value, (int, float)) and not isinstance(value, bool) and name not in names]
    return names


def left_over(cell):
    """Returns how many of its jobs a replay does not complete. Its averages leave them out."""
    figures = cell["figures"]
    return figures.get("jobs", 0) - figures.get("completed", figures.get("jobs", 0))


def warning(results):
    """Returns a sentence about the replays that do not complete all jobs; empty if all do."""
    counts = {}
    for cell in results:
        if left_over(cell) > 0:
            counts[cell["policy"]] = counts.get(cell["policy"], 0) + 1
    if not counts:
        return ""
    of = ", ".join(f"{count} under {policy}" for policy, count in sorted(counts.items()))
    return (f"{sum(counts.values())} replays do not complete all jobs ({of}): their averages are of the others only, and "
            "are not compared.")


def mean(values):
    return sum(values) / len(values)


def by_policy(results, figure):
    """Returns the figure of every seed, by policy and load."""
    found = {}
    for cell in results:
        value = cell["figures"].get(figure)
        if isinstance(value, (int, float)):
            found.setdefault(cell["policy"], {}).setdefault(cell["load"], []).append(value)
    return found


def chart(results, figure, title):
    found = by_policy(results, figure)
    loads = sorted({load for of in found.values() for load in of})
    values = [value for of in found.values() for seeds in of.values() for value in seeds]
    if not values or max(values) <= 0:
        return ""
    width, height, left, top, bottom = 640, 300, 60, 30, 40
    high, low_load, high_load = max(values) * 1.05, math.log(loads[0] or 1), math.log(loads[-1] or 1)

    def x(load):
        return left + (width - left - 150) * ((math.log(load) - low_load) / (high_load - low_load)
                                               if high_load > low_load else 0.5)

    def y(value):
        return top + (height - top - bottom) * (1 - value / high)

    parts = [f'<svg viewBox="0 0 {width} {height}" role="img" aria-label="{html.escape(title)}">',
             f'<text x="{left}" y="18" class="title">{html.escape(title)}</text>']
    step = 10 ** math.floor(math.log10(high / 3))
    step *= next(factor for factor in (1, 2, 5, 10) if high / (step * factor) <= 6)
    tick = 0.0
    while tick <= high:
        parts.append(f'<line x1="{left}" x2="{width - 150}" y1="{y(tick):.1f}" y2="{y(tick):.1f}" class="grid"/>'
                     f'<text x="{left - 6}" y="{y(tick) + 4:.1f}" text-anchor="end">{tick:.6g}</text>')
        tick += step
    for load in loads:
        parts.append(f'<text x="{x(load):.1f}" y="{height - bottom + 18}" text-anchor="middle">{load:g}</text>')
    parts.append(f'<text x="{(left + width - 150) / 2:.0f}" y="{height - 6}" text-anchor="middle">load</text>')
    for number, (policy, of) in enumerate(found.items()):
        colour, dash = COLOURS[number % len(COLOURS)], DASHES[number // len(COLOURS) % len(DASHES)]
        for load, seeds in of.items():
            if len(seeds) > 1:
                parts.append(f'<line x1="{x(load):.1f}" x2="{x(load):.1f}" y1="{y(min(seeds)):.1f}" '
                             f'y2="{y(max(seeds)):.1f}" stroke="{colour}" stroke-width="5" opacity="0.3"/>')
        points = " ".join(f"{x(load):.1f},{y(mean(of[load])):.1f}" for load in sorted(of))
        parts.append(f'<polyline points="{points}" fill="none" stroke="{colour}" stroke-width="2" '
                     f'stroke-dasharray="{dash}"/>')
        for load in of:
            parts.append(f'<circle cx="{x(load):.1f}" cy="{y(mean(of[load])):.1f}" r="3" fill="{colour}"/>')
        parts.append(f'<text x="{width - 140}" y="{top + 12 + 16 * number}" fill="{colour}">{html.escape(policy)}</text>')
    return "".join(parts) + "</svg>"


def averages(results):
    """Returns the geometric mean of each policy's average completion times over the settings, best policy first. Also returns
    the number of settings and the most repeats of one. A setting counts once, with the mean over the seeds that every policy
    completes."""
    common = {}
    for cell in results:
        value = cell["figures"].get("average_jct_h")
        if value and left_over(cell) == 0:
            repeats = common.setdefault(tuple(cell[axis] for axis in SETTING), {})
            repeats.setdefault(tuple(cell[axis] for axis in SEEDS), {})[cell["policy"]] = value
    policies = sorted({policy for repeats in common.values() for of in repeats.values() for policy in of})
    settings = []  # by setting and policy: the mean over the seeds that all policies have
    most = 0  # most repeats of a setting
    for repeats in common.values():
        whole = [of for of in repeats.values() if len(of) == len(policies)]
        if whole:
            settings.append({policy: mean([of[policy] for of in whole]) for policy in policies})
            most = max(most, len(whole))
    return sorted((math.exp(mean([math.log(of[policy]) for of in settings])) if settings else math.inf, policy)
                  for policy in policies), len(settings), most


def summary(results):
    """Returns the result in a sentence: the policy with the shortest average completion time over all settings, and its
    lead."""
    means, settings, most = averages(results)
    if len(means) < 2 or not settings:
        return f"{len(results)} replays of {' and '.join(policy for _, policy in means) or 'no policy'}."
    (best, first), (next_best, second) = means[:2]
    over = f"{settings} setting{'s' if settings > 1 else ''}"
    if most > 1:
        over += f", each the mean of {most} seeds"
    if next_best / best < 1.005:
        return (f"{first} and {second} have the shortest average completion times, within half a per cent of each other, "
                f"over {over}.")
    return (f"{first} has the shortest average completion time: {best / next_best:.2f} times that of {second}, the next, "
            f"in the geometric mean over {over}.")


def compared(results):
    """Returns the best of our policies (or else of all) and Sia's (or else the first other): they get the first colours."""
    order = [policy for _, policy in averages(results)[0]] or [results[0]["policy"]]
    best = next((policy for policy in order if policy.startswith("goodput")), order[0])
    others = [policy for policy in dict.fromkeys(cell["policy"] for cell in results) if policy != best]
    others.sort(key=lambda policy: (policy != "sia", policy.startswith("goodput")))
    return [best, *others[:1]]


def page(results, chart_js):
    """Makes the page from the same parts as the program's own reports."""
    if not chart_js.exists():
        raise Mistake(f"results.csv is written, but not the page, since there is no {chart_js}: install libjs-chart.js, or "
                      "say with --chart-js where chart.min.js of Chart.js 3 is")
    parts = {name: (PAGE / file).read_text(encoding="utf-8")
             for name, file in (("style", "page.css"), ("common", "page.js"), ("script", "sweep.js"))}
    data = {"replays": [{**{axis: cell[axis] for axis in AXES}, "figures": cell["figures"]} for cell in results],
            "compare": compared(results), "warning": warning(results)}
    parts.update(title=f"Sweep of {len(results)} replays", sentence=html.escape(summary(results)),
                 data=json.dumps(data).replace("<", "\\u003c"), chart=chart_js.read_text(encoding="utf-8"))
    return re.sub("{{([a-z]+)}}", lambda part: parts[part[1]], (PAGE / "page.html").read_text(encoding="utf-8"))


STYLE = "svg{font:12px sans-serif;fill:#343a40}.grid{stroke:#e9ecef}.title{font-weight:bold}"


def merge(out, svg, chart_js):
    results = read_results(out)
    figures = figures_of(results)
    rows = [[*AXES, *figures]] + [[cell[axis] for axis in AXES] + [cell["figures"].get(name, "") for name in figures]
                                  for cell in results]
    beside = out / "results.csv.part"
    with open(beside, "w", newline="") as file:
        csv.writer(file).writerows(rows)
    beside.replace(out / "results.csv")
    write_whole(out / "report.html", page(results, chart_js))
    if svg:
        first = [cell for cell in results if cell["cluster"] == results[0]["cluster"]
                 and cell["workload"] == results[0]["workload"]]
        picture = chart(first, "average_jct_h", "Average completion time, hours")
        write_whole(svg, picture.replace("<svg ", '<svg xmlns="http://www.w3.org/2000/svg" ', 1)
                    .replace(">", f"><style>{STYLE}</style>", 1) + "\n")
    print(summary(results))
    if warning(results):
        print(warning(results))
    print(f"{len(results)} replays: {out / 'results.csv'}, {out / 'report.html'}")
    return 0


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True)
    for name in ("list", "run", "submit"):
        command = commands.add_parser(name)
        command.add_argument("spec", metavar="SPEC")
        command.add_argument("--out", type=Path, required=True, metavar="DIR")
        command.add_argument("--program", default="goodput", help="the program goodput (the one on the PATH)")
        if name == "run":
            command.add_argument("-j", type=int, default=os.cpu_count(), metavar="CORES", help="replays at once (all cores)")
        if name == "submit":
            command.add_argument("--tasks", type=int, default=MOST_TASKS, help=f"of the array, at most ({MOST_TASKS})")
            command.add_argument("--sbatch", action="append", default=[], metavar="OPTION",
                                 help="one more option for sbatch, --sbatch=--partition=cpu; may be repeated")
    command = commands.add_parser("merge")
    command.add_argument("out", type=Path, metavar="DIR")
    command.add_argument("--svg", type=Path, metavar="FILE", help="average completion times of the first cluster as a picture")
    command.add_argument("--chart-js", type=Path, metavar="FILE", default=CHART_JS,
                         help=f"chart.min.js of Chart.js 3, which becomes part of the page ({CHART_JS})")
    one = commands.add_parser("task")  # the command of a task of submit
    one.add_argument("out", type=Path)
    one.add_argument("number", type=int)
    one.add_argument("tasks", type=int)
    one.add_argument("--program", default="goodput")
    arguments = parser.parse_args()
    try:
        if arguments.command == "merge":
            return merge(arguments.out, arguments.svg, arguments.chart_js)
        if arguments.command == "task":
            return task(arguments)
        cells = cells_of(read_spec(arguments.spec))
        if arguments.command == "list":
            left = missing(cells, arguments.out)
            print(f"{len(cells)} replays, {len(cells) - len(left)} of them done")
            return 0
        if arguments.command == "run":
            if arguments.j < 1:
                raise Mistake("-j must be at least 1")
            return run(cells, arguments.out, arguments.program, arguments.j)
        if arguments.tasks < 1:
            raise Mistake("--tasks must be at least 1")
        return submit(cells, arguments.out, arguments)
    except Mistake as mistake:
        print(f"sweep.py: {mistake}", file=sys.stderr)
        return 2


if __name__ == "__main__":
    sys.exit(main())
