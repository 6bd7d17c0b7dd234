#!/usr/bin/env python3
"""compare_admission.py DEADLINE_ADMISSION DATA/elasticflow [--restarts 0,30]

Compares admission of jobs with deadlines in recorded states of ElasticFlow's simulator with HiGHS (scipy's, one
thread). Jobs that could not end in time even alone are left out. HiGHS solves the program over time with sums of GPU
seconds: how long each job has each size in each interval between deadlines, so that the least work is missing. HiGHS
says yes wherever ours does, since that program admits more where GPUs cannot be divided, and has neither slots nor
restarts; ours gives a plan in whole sizes. Each state is asked with all nodes, with the fewest that have a plan without
slots and restarts, and with one node less. Prints by trace, and by what the recorded greedy did with all nodes, how
many states have a plan or a proof of none, and for how many HiGHS says yes; how many jobs could not end in time alone,
how many newcomers are admitted (and by the recorded program), how often a plan changes a job's GPUs, and CPU times of
both (HiGHS: the solver's call alone; `times`: of all states together). Exits with 1 if an answer contradicts HiGHS, if
a checker that knows nothing of the search refuses a plan, or if with all nodes an answer is unknown or fewer newcomers
are admitted than were recorded.
"""
import argparse, json, pathlib, statistics, subprocess, sys

import numpy
from scipy.optimize import linprog
from scipy.sparse import coo_matrix

from highs_time import timed_highs

TRACES = {"evp": "T4", "t195": "A100"}


def possible_with_highs(state, speeds, gpus, left_out):
    """Returns whether all work can be done, by sums of GPU seconds, and the solver's CPU seconds."""
    jobs = []
    for name, model, batch, left, deadline, most, *_ in state["jobs"]:
        table = speeds[model][str(batch)]
        sizes = [(n, r) for n, r in zip(table["gpus"], table["iterations_per_s"]) if n <= most and r]
        if left > 0 and str(name) not in left_out:
            jobs.append((left, deadline - state["time"], sizes))
    moments = sorted({0.0} | {d for _, d, _ in jobs if d > 0})
    lengths = [b - a for a, b in zip(moments, moments[1:])]
    rows, columns, values, right, cost, size = [], [], [], [], [], 0

    def row(entries, limit):
        for column, value in entries:
            rows.append(len(right)), columns.append(column), values.append(value)
        right.append(limit)
    taken = [[] for _ in lengths]
    for left, deadline, sizes in jobs:
        done = []
        for i, length in enumerate(lengths):
            if moments[i + 1] > deadline:
                break
            its = []
            for n, r in sizes:  # variables: parts of the interval
                done.append((size, -r * length / left)), taken[i].append((size, n)), its.append((size, 1))
                size += 1
            row(its, 1)
        done.append((size, -1))  # the work that is missing
        size += 1
        cost.append(size - 1)
        row(done, -1)
    for entries in taken:
        row(entries, gpus)
    if not jobs:
        return True, 0
    objective = numpy.zeros(size)
    objective[cost] = 1
    matrix = coo_matrix((values, (rows, columns)), shape=(len(right), size)).tocsc()
    with timed_highs() as seconds:
        found = min((linprog(objective, A_ub=matrix, b_ub=right, bounds=(0, None), method="highs") for _ in range(3)),
                    key=lambda one: one.fun)
    return found.fun < 1e-6, min(seconds)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("program")
    parser.add_argument("data", type=pathlib.Path)
    parser.add_argument("--restarts", default="0,30")
    arguments = parser.parse_args()
    speeds = json.load(open(arguments.data / "throughputs.json"))
    states = {(trace, kind): json.load(open(arguments.data / f"{trace}_{kind}.json"))
              for trace in TRACES for kind in ("admissions", "refusals")}
    groups, highs = {}, {}
    for restart in arguments.restarts.split(","):
        run = subprocess.run([arguments.program, arguments.data, restart], stdout=subprocess.PIPE, text=True, check=True)
        for text in run.stdout.splitlines():
            line = json.loads(text)
            of, k, asked = (line["trace"], line["kind"]), line["state"], (line["gpus"], tuple(line["left_out"]))
            if (of, k, asked) not in highs:
                highs[of, k, asked] = possible_with_highs(states[of][k], speeds[TRACES[of[0]]], *asked)
            line["highs"], line["highs_s"] = highs[of, k, asked]
            greedy = ("any" if line["nodes"] != "all" else "one left" if line["kind"] == "refusals" else
                      "admitted" if line["greedy"] else "refused")
            groups.setdefault((line["trace"], line["nodes"], greedy, line["slot_s"], restart), []).append(line)
    bad = 0
    print(f"{'trace':5} {'nodes':8} {'greedy':8} {'slot':>4} {'restart':>7} {'states':>6} {'plan':>5} {'proof':>5} {'unknown':>7} "
          f"{'HiGHS':>6} {'not alone':>9} {'newcomers':>9} {'recorded':>8} {'changes':>7} {'median ms':>9} {'longest':>7} "
          f"{'HiGHS':>6} {'longest':>7} {'times':>5}")
    for (trace, nodes, greedy, slot, restart), lines in groups.items():
        count = {status: sum(line["status"] == status for line in lines) for status in ("possible", "impossible", "unknown")}
        newcomers, recorded, yes = (sum(line.get(key, 0) for line in lines) for key in ("newcomers", "recorded", "highs"))
        changed = [line["changes"] for line in lines if "changes" in line]
        ours, theirs = [line["milliseconds"] for line in lines], [1e3 * line["highs_s"] for line in lines]
        print(f"{trace:5} {nodes:8} {greedy:8} {slot:4g} {restart:>7} {len(lines):6} {count['possible']:5} "
              f"{count['impossible']:5} {count['unknown']:7} {yes:6} {sum(len(line['left_out']) for line in lines):9} "
              f"{newcomers:9} {recorded:8} {statistics.mean(changed or [0]):7.2f} {statistics.median(ours):9.3f} "
              f"{max(ours):7.2f} {statistics.median(theirs):6.2f} {max(theirs):7.1f} {sum(theirs) / sum(ours):5.1f}")
        for line in lines:
            wrong = line.get("wrong")
            if line["status"] == "possible" and not line["highs"]:
                wrong = "a plan where HiGHS finds none"
            if nodes == "all" and line["status"] == "unknown":
                wrong = "unknown"
            if nodes == "all" and restart == "0" and line.get("newcomers", 0) < line["recorded"]:
                wrong = "fewer newcomers than recorded"
            bad += bool(wrong)
            if wrong:
                print("  state", line["state"], wrong)
    print("all plans are accepted, and nothing is missed" if bad == 0 else f"{bad} answers are wrong or missed")
    sys.exit(bad > 0)


if __name__ == "__main__":
    main()
