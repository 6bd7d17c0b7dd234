#!/usr/bin/env python3
"""Measures how well trainings at two batch sizes predict those at others, with one gradient noise scale per workload.

usage: convergence.py PROGRAM CONVERGENCE.CSV

CONVERGENCE.CSV has a row for each workload and batch: workload, batch, median_to_target, std, runs (MLPerf's
reference convergence points, rcp_checker of mlcommons/logging). `goodput fit` gets two rows of a workload and
predicts the others, once from the smallest and the largest batch, once from every pair. Prints for each workload and
for all: the median and worst relative error of the predicted examples, and the share of its 90 % intervals that
contain the reference. A predicted row lies between the two batches ("within"), or needs extrapolation. Workloads with
the same points count once.
"""
import argparse
import collections
import csv
import itertools
import json
import statistics
import subprocess


def read(path):
    """Returns the rows of each workload in order of the batch, in the program's form."""
    workloads = collections.defaultdict(list)
    with open(path, encoding="utf-8") as file:
        for row in csv.DictReader(file):
            workloads[row["workload"]].append({"batch": int(row["batch"]), "examples": float(row["median_to_target"]),
                                               "runs": int(row["runs"]), "std": float(row["std"] or 0)})
    different = {}
    for name, rows in sorted(workloads.items()):
        rows.sort(key=lambda row: row["batch"])
        if rows not in different.values():
            different[name] = rows
    return different


def predict(program, questions):
    """Returns the answers of the program to (given rows, batches)."""
    lines = [json.dumps({"samples": [], "convergence": given, "convergence_batches": batches}) for given, batches in questions]
    out = subprocess.run([program, "fit"], input="\n".join(lines) + "\n", capture_output=True, text=True, check=True).stdout
    return [json.loads(line)["noise_scale"] for line in out.splitlines()]


def show(name, found):
    errors = [abs(one["examples"] / true - 1) for one, true in found]
    held = sum(one["low"] <= true <= one["high"] for one, true in found) / len(found)
    print(f"{name:24} {len(found):5} {100 * statistics.median(errors):8.1f} {100 * max(errors):8.1f} {100 * held:8.0f}")
    return held


def compare(program, workloads, title, pairs_of):
    print(f"{title}\n{'workload':24} {'cases':>5} {'median %':>8} {'worst %':>8} {'held %':>8}")
    everything, held, within = [], [], []
    for name, rows in workloads.items():
        pairs = pairs_of(len(rows))
        asked = [[row for row in rows if row not in (rows[i], rows[j])] for i, j in pairs]
        answers = predict(program, [([rows[i], rows[j]], [row["batch"] for row in others])
                                    for (i, j), others in zip(pairs, asked)])
        found = [(one, row["examples"]) for answer, others in zip(answers, asked)
                 for one, row in zip(answer["predictions"], others)]
        within += [(one, true) for (one, true), (low, high) in zip(found, (
            (rows[i]["batch"], rows[j]["batch"]) for (i, j), others in zip(pairs, asked) for _ in others))
            if low < one["batch"] < high]
        everything += found
        held.append(show(name, found))
    show("all", everything)
    show("all, within", within)
    print(f"held, each workload with the same weight: {100 * statistics.mean(held):.0f} %\n")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program")
    parser.add_argument("points")
    arguments = parser.parse_args()
    workloads = read(arguments.points)
    compare(arguments.program, workloads, "from the smallest and the largest batch", lambda count: [(0, count - 1)])
    compare(arguments.program, workloads, "from every pair", lambda count: list(itertools.combinations(range(count), 2)))
    print("noise scale from all batches, and its 90 % interval")
    for name, answer in zip(workloads, predict(arguments.program, [(rows, []) for rows in workloads.values()])):
        print(f"{name:24} {answer['median']:10.0f} {answer['low']:10.0f} {answer['high']:10.0f} "
              f"{' '.join(answer['from_prior'])}")


if __name__ == "__main__":
    main()
