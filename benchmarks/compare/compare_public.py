#!/usr/bin/python3
"""Solves public instances with the proving allotter and with a current HiGHS, in turn in one run.

usage: compare_public.py PROGRAM FOLDER [--highs HIGHS] [options]        --help lists them

PROGRAM is allot_hard. FOLDER contains instances and a list of them: instances.csv (columns name, class, kind, what,
best, bound), or data.csv as in the folder data of github.com/fontanf/generalizedassignmentsolver (117 instances of
generalised assignment, MIT). Without a list, every file whose name matches --only counts as one of the kind --kind,
without a known best value.

Each limit is a separate run. A solver that proves an instance within a limit is not asked again with a longer one.
Gap 0, one thread. Prints CPU seconds: of ours the call alone, of HiGHS its process without reading the file. Limits
are elapsed time, unless --cpu-clock makes them CPU time, as a machine with other work needs. Every point is checked
against every row exactly as given.
"""
import argparse
import csv
import fnmatch
import json
import math
import os
import sys
from decimal import Decimal

import highs_program


def read_assignment(path):
    """Reads generalised assignment in the layout of OR-Library as a problem whose value is (jobs x top - cost)."""
    with open(path) as file:
        numbers = iter(list(map(Decimal, file.read().split())))
    agents, jobs = int(next(numbers)), int(next(numbers))
    cost = [[next(numbers) for _ in range(jobs)] for _ in range(agents)]
    units = [[next(numbers) for _ in range(jobs)] for _ in range(agents)]
    capacity = [next(numbers) for _ in range(agents)]
    top = 1 + max(map(max, cost))
    given = [{"must": True, "options": [{"value": top - cost[agent][job], "use": [[agent, units[agent][job]]]}
                                        for agent in range(agents)]} for job in range(jobs)]
    return {"capacity": capacity, "jobs": given, "base": jobs * top, "sign": -1}


def read_choices(path):
    """Reads a multiple-choice multidimensional knapsack: a class begins with a line of one number."""
    rows = []
    with open(path) as file:
        for line in file:
            if "Solutions" in line:
                break
            if line.split():
                rows.append(list(map(Decimal, line.split())))
    jobs = []
    for row in rows[2:]:
        if len(row) == 1:
            jobs.append({"must": True, "options": []})
        else:
            jobs[-1]["options"].append({"value": row[0], "use": [[number, units] for number, units in enumerate(row[1:])
                                                                 if units > 0]})
    return {"capacity": rows[1], "jobs": jobs, "base": 0, "sign": 1}


def numbers_or_none(text):
    return float(text) if text else None


def listed(folder, kind):
    """Yields name, class, kind, path, best known value and bound of each instance."""
    path = os.path.join(folder, "instances.csv")
    if os.path.exists(path):
        with open(path) as file:
            for row in csv.DictReader(file):
                if row["kind"] in ("gap", "mmkp") and os.path.exists(os.path.join(folder, row["what"])):
                    yield (row["name"], row["class"], row["kind"], os.path.join(folder, row["what"]),
                           numbers_or_none(row["best"]), numbers_or_none(row["bound"]))
        return
    path = os.path.join(folder, "data.csv")
    if os.path.exists(path):
        with open(path) as file:
            for row in csv.DictReader(file):
                name = os.path.basename(row["Path"])
                group = "gap 1-12" if name.startswith("gap") else f"gap {name[0]}"
                yield (name, group, "gap", os.path.join(folder, row["Path"]),
                       numbers_or_none(row["Best known solution value"]), numbers_or_none(row["Best known bound"]))
        return
    for name in sorted(os.listdir(folder)):
        yield name, "", kind, os.path.join(folder, name), None, None


def checked(problem, choice):
    """Returns the value in the instance's own terms, or None, and faults."""
    if not choice or (problem["sign"] < 0 and None in choice):
        return None, []
    faults, value = highs_program.faults_of(problem, choice)
    return (None if faults else float(problem["base"] + problem["sign"] * value)), faults


def solve_by_us(program, kind, path, problem, seconds):
    text, _ = highs_program.run_timed([program, "solve", kind, str(seconds), path])
    answer = json.loads(text)
    value, faults = checked(problem, answer["choice"])
    if value is None and not faults and answer["proven"]:
        faults = ["proven without an allotment"]
    if value is not None and abs(value - answer["objective"]) > 1e-6:
        faults.append(f"says {answer['objective']}, is {value}")
    return {"value": value, "bound": answer["bound"], "proven": answer["proven"], "seconds": answer["seconds"],
            "faults": faults}


def solve_by_highs(model, problem, seconds):
    answer = model.solve(0, seconds)
    value, faults = checked(problem, answer["choice"])
    bound = answer["bound"]
    known = bound is not None and math.isfinite(bound)
    return {"value": value, "bound": float(problem["base"]) + problem["sign"] * bound if known else None,
            "proven": answer["status"] == "Optimal", "seconds": answer["seconds"], "faults": faults + answer["faults"]}


def distance(problem, best, value):
    """Returns by how many percent a value is worse than the best known one; negative if it is better."""
    return None if value is None or best is None else 100 * problem["sign"] * (best - value) / abs(best) + 0.0


def print_table(rows, solvers, limits):
    """Prints, by limit and class, how many instances each solver proved, and how far its values are from the best
    known."""
    groups = {}
    for row in rows:
        groups.setdefault(row["class"], []).append(row)
    for limit in limits:
        print(f"\n{limit:g} s" + "".join(f" | {solver + ': proven, none; % from the best: mean, worst':>52}"
                                        for solver in solvers))
        for name, members in [*groups.items(), *([("all", rows)] if len(groups) > 1 else [])]:
            line = f"{name:16} {len(members):4}"
            for solver in solvers:
                answers = [row[solver][limit] for row in members]
                away = [answer["distance"] for answer in answers if answer["distance"] is not None]
                line += (f" | {sum(answer['proven'] for answer in answers):18} "
                         f"{sum(answer['value'] is None for answer in answers):5} "
                         f"{sum(away) / len(away) if away else math.nan:12.4f} {max(away, default=math.nan):14.4f}")
            print(line)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program")
    parser.add_argument("folder")
    parser.add_argument("--highs", metavar="HIGHS")
    parser.add_argument("--seconds", default="1,10,60", metavar="SECONDS,...")
    parser.add_argument("--only", default="*", metavar="PATTERN", help="only names that match")
    parser.add_argument("--kind", default="gap", choices=["gap", "mmkp"], help="kind of all files if there is no list")
    parser.add_argument("--cpu-clock", action="store_true", help="both solvers count CPU time; needs a C compiler")
    parser.add_argument("--save", metavar="FILE", help="write one line of JSON per instance")
    given = parser.parse_args()
    if given.cpu_clock:
        highs_program.count_cpu_time()
    limits = [float(text) for text in given.seconds.split(",")]
    solvers = ["goodput", *(["highs"] if given.highs else [])]
    save, rows = open(given.save, "w") if given.save else None, []
    for name, group, kind, path, best, bound in listed(given.folder, given.kind):
        if not fnmatch.fnmatch(name, given.only):
            continue
        problem = read_assignment(path) if kind == "gap" else read_choices(path)
        row = {"name": name, "class": group, "best": best, "known_bound": bound, **{solver: {} for solver in solvers}}
        model = highs_program.HighsModel(given.highs, problem) if given.highs else None
        faults = []
        for solver in solvers:
            answer = None
            for limit in limits:
                if answer is None or not answer["proven"]:
                    answer = (solve_by_us(given.program, kind, path, problem, limit) if solver == "goodput"
                              else solve_by_highs(model, problem, limit))
                    answer["proven"] = answer["proven"] and not answer["faults"]
                    answer["distance"] = distance(problem, best, answer["value"])
                    faults += [f"{solver}, {limit:g} s: {fault}" for fault in answer["faults"]]
                    if answer["proven"] and answer["distance"] is not None and answer["distance"] > 1e-7:
                        faults.append(f"{solver}, {limit:g} s: {answer['value']} said to be the best, but it is {best}")
                    if answer["proven"] and bound is not None and problem["sign"] * (answer["value"] - bound) > 1e-6:
                        faults.append(f"{solver}, {limit:g} s: {answer['value']} is beyond the known bound {bound}")
                row[solver][limit] = answer
        cells = " | ".join(f"{solver}: " + ", ".join(
            f"{answer['value'] if answer['value'] is not None else 'none'} [{answer['bound'] or math.nan:.2f}]"
            f"{' proven' if answer['proven'] else ''} {answer['seconds']:.3f} s" for answer in row[solver].values())
            for solver in solvers)
        print(f"{name:10} best {best}, bound {bound} | {cells}", flush=True)
        for fault in faults:
            print(f"    FAULT {fault}", flush=True)
        row["faults"] = faults
        rows.append(row)
        if save:
            print(json.dumps(row), file=save, flush=True)
    if not rows:
        sys.exit(f"no instance in {given.folder}")
    print_table(rows, solvers, limits)
    if given.highs:
        last = limits[-1]
        both = [max(0.01, row["highs"][last]["seconds"]) / max(0.01, row["goodput"][last]["seconds"]) for row in rows
                if row["highs"][last]["proven"] and row["goodput"][last]["proven"]]
        if both:
            times = math.exp(sum(map(math.log, both)) / len(both))
            print(f"\n{len(both)} proven by both: HiGHS takes {times:.3g} times as long in the geometric mean")
            print("(10 ms is the least counted)")
    sys.exit(1 if any(row["faults"] for row in rows) else 0)


if __name__ == "__main__":
    main()
