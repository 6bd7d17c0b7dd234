#!/usr/bin/python3
"""Solves problems with many rows with `goodput allot` and with a current HiGHS, in turn in one run.

usage: compare_rows.py PROGRAM DATA [--highs HIGHS] [options]        --help lists them

PROGRAM is the program goodput, DATA a *.jsonl or *.jsonl.gz of problems, or a folder of them, with or without a
`reference` (row_problems.py writes some). HIGHS is a program `highs`, such as a build of github.com/ERGO-Code/HiGHS.

Both solve every problem to each gap with one thread, and ours is asked again with short deadlines, at the first gap
and at gap 0. Every point of both is checked against every row exactly as given. Seconds are CPU seconds: for ours the
lesser of what the answer says (elapsed) and what the process takes beyond an empty run, for HiGHS what its process
takes without reading the file; the least of three calls if they are quick. Deadlines and caps are elapsed time,
unless --cpu-clock makes them CPU time, as a machine with other work needs. A problem is open after t seconds if it
was not closed to the gap by then; ratios use the cap for problems that were not closed. `short` is how far an answer
lies below the best value known from the reference or from this run, in percent of it.
"""
import argparse
import fnmatch
import glob
import gzip
import json
import math
import os
import sys
from decimal import Decimal

import highs_program

DEADLINES = (0.02, 0.1, 1.0)
BINDING = ((0, 2), (3, 4), (5, 6), (7, 8), (9, 12), (13, math.inf))
ORDER = ("small", "teams", "host", "licences", "blocks", "all", "large", "must")


class Goodput:
    def __init__(self, program):
        self.program = program
        self.empty = min(highs_program.run_timed([program, "allot"], "")[1] for _ in range(5))

    def solve(self, problem, gap, deadline):
        """Returns the answer, its CPU seconds, and whether it is what it claims to be."""
        line = json.dumps({**problem["plain"], "gap": gap, "deadline_ms": 1e3 * deadline}) + "\n"
        text, process = highs_program.run_timed([self.program, "allot"], line)
        answer = json.loads(text)
        if "error" in answer:
            raise RuntimeError(f"{problem['name']}: {answer['error']}")
        answer["seconds"] = max(1e-6, min(answer["milliseconds"] / 1e3, process - self.empty)
                                if process > self.empty else answer["milliseconds"] / 1e3)
        answer["infeasible"] = answer["status"] == "infeasible"
        answer["faults"], value = [], None
        if answer["status"] in ("optimal", "feasible"):
            answer["faults"], value = highs_program.faults_of(problem, answer["choice"])
            scale = max(1.0, abs(answer["objective"]))
            if value is not None and abs(float(value) - answer["objective"]) > 1e-9 * scale:
                answer["faults"].append("the objective is not that of the choice")
            if answer["bound"] < answer["objective"] - 1e-9 * scale:
                answer["faults"].append("the bound lies below the objective")
            distance = (answer["bound"] - answer["objective"]) / max(1e-12, abs(answer["bound"]))
            if answer["status"] == "optimal" and distance > gap * (1 + 1e-6) + 1e-9:
                answer["faults"].append(f"said to be proven to {gap}, but the bound is {distance} above")
        answer["value"] = None if answer["faults"] or value is None else float(value)
        answer["finished"] = answer["status"] in ("optimal", "infeasible")
        return answer


def read_problems(path, only):
    names = sorted(glob.glob(os.path.join(path, "*.jsonl*"))) if os.path.isdir(path) else [path]
    for name in names:
        with (gzip.open if name.endswith(".gz") else open)(name, "rt") as file:
            for number, line in enumerate(file, 1):
                problem = json.loads(line, parse_float=Decimal)
                problem.setdefault("name", f"{os.path.basename(name)}-{number}")
                if fnmatch.fnmatch(problem["name"], only):
                    plain = json.loads(line)
                    problem["plain"] = {"capacity": plain["capacity"], "jobs": plain["jobs"]}
                    yield problem


def measure(problem, ours, given, gaps):
    """Returns everything that is measured for one problem, as a row of JSON."""
    row = {"name": problem["name"], "jobs": len(problem["jobs"]), "rows": len(problem["capacity"]),
           "goodput": {}, "highs": {}, "at": {}, "faults": []}
    known = [float(problem.get("reference", {}).get("objective") or "-inf")]

    def keep(solver, gap, answer, value):
        row["faults"] += [f"{solver}, gap {gap}: {fault}" for fault in answer["faults"]]
        if value is not None:
            known.append(value)
        bound = answer["bound"]
        return {"seconds": answer["seconds"], "finished": answer["finished"] and not answer["faults"],
                "infeasible": answer["infeasible"], "value": value, "bound": bound,
                "stopped": answer.get("stopped", answer.get("status"))}
    prices = None
    for gap in gaps:
        answer = highs_program.least_of(lambda: ours.solve(problem, gap, given.cap))
        row["goodput"][gap] = keep("goodput", gap, answer, answer["value"])
        prices = prices or answer["prices"]
    for gap in (gaps[0], 0.0):
        row["at"][gap] = []
        for deadline in given.deadlines:
            answer = ours.solve(problem, gap, deadline)
            row["at"][gap].append(keep("goodput", f"{gap}, {deadline} s", answer, answer["value"]))
    row["binding"] = sum(price > 1e-9 for price in prices)
    if given.highs:
        relaxed = highs_program.HighsModel(given.highs, problem, integer=False).solve(0, 60)
        row["relaxed"] = relaxed["objective"]
        if relaxed["status"] == "Optimal":
            row["binding"] = sum(abs(relaxed["duals"].get(f"r{number}", 0)) > 1e-9
                                 for number in range(len(problem["capacity"])))
        model = highs_program.HighsModel(given.highs, problem)
        for gap in gaps:
            answer = highs_program.least_of(lambda: model.solve(gap, given.cap))
            value = None if answer["objective"] is None else float(answer["objective"])
            row["highs"][gap] = keep("HiGHS", gap, answer, value)
    row["best"] = max(known)
    scale = max(1.0, abs(row["best"])) if math.isfinite(row["best"]) else 1.0
    for gap, answer in row["goodput"].items():
        if answer["infeasible"] != (not math.isfinite(row["best"])) and answer["finished"]:
            row["faults"].append(f"goodput, gap {gap}: infeasible, but an allotment is known")
        elif not answer["infeasible"] and answer["bound"] < row["best"] - 1e-9 * scale:
            row["faults"].append(f"goodput, gap {gap}: the bound {answer['bound']} is below {row['best']}")
    for gap, answer in row["highs"].items():
        lost = None if answer["value"] is None else row["best"] - answer["value"]
        if answer["finished"] and lost is not None and lost > (gap + 2e-6) * scale:
            row["faults"].append(f"HiGHS, gap {gap}: said to be optimal, but {answer['value']} is below {row['best']}")
    row["short"] = {gap: [short_of(row["best"], answer) for answer in answers] for gap, answers in row["at"].items()}
    return row


def short_of(best, answer):
    """Returns by how many percent an answer lies below the best; 100 without any allotment."""
    if not math.isfinite(best):
        return 0.0
    return 100.0 if answer["value"] is None else 100 * max(0.0, best - answer["value"]) / max(1e-12, abs(best))


def open_after(answer, seconds):
    return not answer["finished"] or answer["seconds"] > seconds


def capped(answer, cap):
    return min(cap, answer["seconds"]) if answer["finished"] else cap


def median(values):
    values = sorted(values)
    middle = len(values) // 2
    return values[middle] if len(values) % 2 else (values[middle - 1] + values[middle]) / 2


def mean(values):
    return math.exp(sum(map(math.log, values)) / len(values))


def print_table(title, groups, gap, given):
    """Prints a line per group: what is open, seconds, ratios, and how far answers at the deadlines fall short."""
    times = "  ".join(f"{1e3 * deadline:g} ms" for deadline in given.deadlines)
    print(f"\n{title}, gap {gap:g}")
    print(f"{'':22} {'':>4} {'open after 1 s, ' + format(given.cap, 'g') + ' s':>21} | "
          f"{'seconds: median, worst':>36} | {'HiGHS / ours':>31} | worst short %: {times}")
    print(f"{'':22} {'n':>4} {'ours':>10} {'HiGHS':>10} | {'ours':>17} {'HiGHS':>18} | "
          f"{'mean':>7} {'median':>7} {'worst':>7} {'<1':>7} | "
          f"{'gap ' + format(gap, 'g') if gap in next(iter(groups.values()))[0]['short'] else '':>22} {'gap 0':>22}")
    for name, rows in groups.items():
        ours = [row["goodput"][gap] for row in rows]
        theirs = [row["highs"][gap] for row in rows] if given.highs else []

        def opened(answers):
            return "/".join(str(sum(open_after(answer, limit) for answer in answers)) for limit in (1, given.cap))

        def seconds(answers):
            taken = [capped(answer, given.cap) for answer in answers]
            return f"{median(taken):8.4f} {max(taken):8.3f}"
        line = f"{name:22} {len(rows):4} {opened(ours):>10} {opened(theirs) if theirs else '':>10} | "
        line += f"{seconds(ours):>17} "
        line += f"{seconds(theirs) if theirs else '':>18} | "
        if theirs:
            ratios = [capped(their, given.cap) / capped(our, given.cap) for our, their in zip(ours, theirs)]
            line += (f"{mean(ratios):7.3g} {median(ratios):7.3g} {min(ratios):7.3g} "
                     f"{sum(ratio < 1 for ratio in ratios):7} | ")
        else:
            line += f"{'':31} | "
        for asked in (gap, 0.0):
            if asked in rows[0]["short"]:
                worst = [max(row["short"][asked][number] for row in rows) for number in range(len(given.deadlines))]
                line += f"{' '.join(f'{short:7.3f}' for short in worst):>23}"
            else:
                line += f"{'':>23}"
        print(line)


def grouped(rows, key, order=None):
    groups = {}
    for row in rows:
        groups.setdefault(key(row), []).append(row)
    names = sorted(groups, key=lambda name: order.index(name) if order and name in order else len(order or ()))
    return {**{name: groups[name] for name in names}, "all": rows} if "all" not in groups else \
        {**{name: groups[name] for name in names}, "together": rows}


def binding_label(row):
    low, high = next(pair for pair in BINDING if pair[0] <= row["binding"] <= pair[1])
    return f"{low} or more rows bind" if high == math.inf else f"{low} to {high} rows bind"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program")
    parser.add_argument("data", nargs="+")
    parser.add_argument("--highs", metavar="HIGHS")
    parser.add_argument("--gaps", default="5e-4,1e-3", help="relative gaps, separated by commas")
    parser.add_argument("--cap", type=float, default=20, metavar="SECONDS", help="time limit of each call")
    parser.add_argument("--cpu-clock", action="store_true", help="both solvers count CPU time; needs a C compiler")
    parser.add_argument("--deadlines", default=",".join(map(str, DEADLINES)), metavar="SECONDS,...")
    parser.add_argument("--only", default="*", metavar="PATTERN", help="only names that match")
    parser.add_argument("--save", metavar="FILE", help="write what was measured, one line of JSON per problem")
    given = parser.parse_args()
    given.deadlines = [float(text) for text in given.deadlines.split(",") if text]
    gaps = [float(text) for text in given.gaps.split(",")]
    if given.cpu_clock:
        highs_program.count_cpu_time()
    ours, rows = Goodput(given.program), []
    print(f"HiGHS {highs_program.version_of(given.highs)}" if given.highs else "without HiGHS")
    print("\nseconds at each gap (o: open), and percent short at the deadlines, gap 0")
    save = open(given.save, "w") if given.save else None
    for path in given.data:
        for problem in read_problems(path, given.only):
            row = measure(problem, ours, given, gaps)
            rows.append(row)
            cells = [f"{answer['seconds']:9.4f}{' ' if answer['finished'] else 'o'}"
                     for solver in ("goodput", "highs") for answer in row[solver].values()]
            print(f"{row['name']:24} {row['binding']:3} bind | {' '.join(cells)} | "
                  f"{' '.join(f'{short:7.3f}' for short in row['short'][0.0])}", flush=True)
            for fault in row["faults"]:
                print(f"    FAULT {fault}", flush=True)
            if save:
                print(json.dumps(row), file=save, flush=True)
    if not rows:
        sys.exit(f"no problem in {' '.join(given.data)}")
    binding = sorted({(row["binding"], binding_label(row)) for row in rows})
    order = list(dict.fromkeys(label for _, label in binding))
    for gap in gaps:
        print_table("by rows that bind", grouped(rows, binding_label, order), gap, given)
        print_table("by group", grouped(rows, lambda row: row["name"].split("-")[0], list(ORDER)), gap, given)
    looser = [row["name"] for row in rows for tight, loose in zip(row["short"][0.0], row["short"][gaps[0]])
              if loose > tight + 1e-9 and loose > 100 * gaps[0] * (1 + 1e-6)]
    stopped = sum(row["goodput"][gaps[0]]["stopped"] == "memory" for row in rows)
    faulty = sum(bool(row["faults"]) for row in rows)
    print(f"\n{faulty} of {len(rows)} problems with a fault, {stopped} ended by memory")
    print(f"{len(looser)} answers at gap {gaps[0]:g} are worse than those at gap 0 by the same deadline, and by more "
          f"than the gap {' '.join(dict.fromkeys(looser))}")
    sys.exit(1 if any(row["faults"] for row in rows) else 0)


if __name__ == "__main__":
    main()
