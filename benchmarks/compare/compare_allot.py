#!/usr/bin/python3
"""Solves recorded rounds with this library and with general solvers, in turn in one run, and compares their times.

usage: compare_allot.py PROGRAM FOLDER [options]        --help lists them

PROGRAM is built from allot_general_solvers.cpp, FOLDER contains *.jsonl.gz with one problem per line. Needs Debian's
python3-scipy for HiGHS, and libglpk-dev and coinor-libcbc-dev if PROGRAM is built with GLPK and CBC.

Every solver has one thread and the round's own relative gap. The CPU time is that of the solver call alone (the model
is in the solver's form before): the least of three calls or, from 50 ms on, of one call. The row `highs` is HiGHS
itself, the row `milp` is scipy.optimize.milp around it. A round that a solver did not finish counts with the time it
had, so its ratio is too small.
"""
import argparse
import fnmatch
import glob
import gzip
import json
import os
import subprocess
import sys
import time

import numpy as np
from scipy.optimize import Bounds, LinearConstraint, milp
from scipy.optimize import _milp
from scipy.sparse import csc_matrix

OURS, INSIDE, AROUND = "goodput", "highs", "milp"


class TimedHighs:
    """Wraps scipy's entry to HiGHS and keeps the CPU seconds of the last call."""

    def __init__(self, call):
        self.call, self.seconds = call, 0.0

    def __call__(self, *arguments):
        begin = time.process_time()
        result = self.call(*arguments)
        self.seconds = time.process_time() - begin
        return result


def solve_by_highs(problem, limit):
    """Returns the answers of the rows `highs` and `milp`: one solution, two times."""
    capacity, jobs = problem["capacity"], problem["jobs"]
    rows, columns, units, values = [], [], [], []
    for number, job in enumerate(jobs):
        for option in job["options"]:
            for resource, amount in [*option["use"], (len(capacity) + number, 1)]:
                rows.append(resource)
                columns.append(len(values))
                units.append(amount)
            values.append(option["value"])
    matrix = csc_matrix((np.array(units, float), (rows, columns)), shape=(len(capacity) + len(jobs), len(values)))
    low = np.array([-np.inf] * len(capacity) + [1.0 if job.get("must") else -np.inf for job in jobs])
    high = np.array(capacity + [1.0] * len(jobs))
    arguments = dict(c=-np.array(values), integrality=np.ones(len(values)), bounds=Bounds(0, 1),
                     constraints=LinearConstraint(matrix, low, high),
                     options={"mip_rel_gap": problem["gap"], "time_limit": limit})
    around = inside = float("inf")
    for _ in range(3):
        begin = time.process_time()
        found = milp(**arguments)
        around = min(around, time.process_time() - begin)
        inside = min(inside, _milp._highs_wrapper.seconds)
        if around >= 0.05:
            break
    answer = {"finished": found.status == 0, "objective": None}
    if found.x is not None:
        chosen = np.round(found.x)
        answer["objective"] = float(np.array(values) @ chosen)
        used = matrix @ chosen
        answer["feasible"] = bool(np.all(used <= high + 1e-9 * np.maximum(1, high)) and np.all(used >= low))
    return {INSIDE: {**answer, "ms": 1e3 * inside}, AROUND: {**answer, "ms": 1e3 * around}}


def stacked(problems, first, count):
    """Joins `count` rounds from `first` on into one cluster, with the values of the i-th times 1 + 0.001 i."""
    parts = [problems[(first + i) % len(problems)] for i in range(count)]
    jobs = [{**job, "options": [{**option, "value": option["value"] * (1 + 0.001 * i)} for option in job["options"]]}
            for i, part in enumerate(parts) for job in part["jobs"]]
    return {"capacity": [float(sum(units)) for units in zip(*(part["capacity"] for part in parts))], "jobs": jobs,
            "gap": parts[0]["gap"]}


def quantile(values, part):
    return sorted(values)[min(len(values) - 1, int(part * len(values)))]


def print_table(title, rounds):
    """Prints one row per solver: times, ratios to ours, and how the objectives compare."""
    print(f"\n{title}: {len(rounds)} rounds")
    print(f"{'':10} {'median ms':>10} {'99 % ms':>10} {'worst ms':>10} | {'ratio: median':>13} {'p10':>8} {'worst':>8} "
          f"{'of sums':>8} | {'unfinished':>10} {'no answer':>9} {'worse':>6} {'better':>6} {'faulty':>6}")
    ours = [answers[OURS]["ms"] for _, answers in rounds]
    for solver in rounds[0][1]:
        times = [answers[solver]["ms"] for _, answers in rounds]
        ratios = [their / our for their, our in zip(times, ours)]
        worse = better = 0
        for gap, answers in rounds:
            their, our = answers[solver]["objective"], answers[OURS]["objective"]
            if None not in (their, our):
                allowed = gap * max(1.0, abs(their), abs(our)) * (1 + 1e-6)
                worse += their < our - allowed
                better += their > our + allowed
        count = {key: sum(test(answers[solver]) for _, answers in rounds) for key, test in {
            "unfinished": lambda a: not a["finished"], "none": lambda a: a["objective"] is None,
            "faulty": lambda a: not a.get("feasible", True)}.items()}
        print(f"{solver:10} {quantile(times, 0.5):10.3f} {quantile(times, 0.99):10.3f} {max(times):10.3f} | "
              f"{quantile(ratios, 0.5):13.1f} {quantile(ratios, 0.1):8.1f} {min(ratios):8.2f} "
              f"{sum(times) / sum(ours):8.1f} | {count['unfinished']:10} {count['none']:9} {worse:6} {better:6} "
              f"{count['faulty']:6}", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program")
    parser.add_argument("folder")
    parser.add_argument("--files", default="*", help="pattern for the names of files with rounds")
    parser.add_argument("--every", type=int, default=1, metavar="N", help="every N-th round only")
    parser.add_argument("--time-limit", type=float, default=10, metavar="SECONDS", help="limit of a solver per round")
    parser.add_argument("--solvers", default="highs,glpk,cbc", help="separated by commas")
    parser.add_argument("--stacked", type=int, default=0, metavar="K",
                        help="join each chosen round with the K - 1 that follow it")
    parser.add_argument("--save", metavar="FILE", help="write every answer, one line of JSON per round")
    given = parser.parse_args()
    solvers = given.solvers.split(",")
    _milp._highs_wrapper = TimedHighs(_milp._highs_wrapper)
    command = [given.program, "--time-limit", str(given.time_limit), *(name for name in solvers if name != INSIDE)]
    program = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    save = open(given.save, "w") if given.save else None
    everything = []
    for path in sorted(glob.glob(os.path.join(given.folder, "*.jsonl.gz"))):
        name = os.path.basename(path).removesuffix(".jsonl.gz")
        if not fnmatch.fnmatch(name, given.files):
            continue
        with gzip.open(path, "rt") as file:
            problems = [json.loads(line) for line in file]
        rounds = []
        for number in range(0, len(problems), given.every):
            problem = stacked(problems, number, given.stacked) if given.stacked else problems[number]
            program.stdin.write(json.dumps(problem) + "\n")
            program.stdin.flush()
            line = program.stdout.readline()
            if not line:
                sys.exit(f"{given.program} stopped at {path}, line {number + 1}")
            answers = json.loads(line)
            answers = {OURS: answers.pop(OURS), **answers}
            if INSIDE in solvers:
                answers.update(solve_by_highs(problem, given.time_limit))
            rounds.append((problem["gap"], answers))
            if save:
                print(json.dumps({"file": name, "round": number, **answers}), file=save, flush=True)
        print_table(name, rounds)
        everything += rounds
    if not everything:
        sys.exit(f"no round in {given.folder}")
    print_table("all", everything)


if __name__ == "__main__":
    main()
