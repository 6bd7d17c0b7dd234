#!/usr/bin/env python3
"""Sends recorded rounds through `goodput allot` and checks every answer against the constraints and a general solver's objective.

usage: check_allot.py PROGRAM FOLDER      the program goodput; a folder of *.jsonl.gz with one problem and its reference a line
"""
import glob
import gzip
import json
import os
import subprocess
import sys


def faults_of(problem, answer):
    """Returns what is wrong with an answer, and how far its value lies below the reference, relative."""
    left, value, faults = list(problem["capacity"]), 0.0, []
    for job, choice in zip(problem["jobs"], answer["choice"]):
        if choice is None:
            if job.get("must"):
                faults.append("a job that must run does not")
            continue
        option = job["options"][choice]
        value += option["value"]
        for resource, units in option["use"]:
            left[resource] -= units
    reference = problem["reference"]["objective"]
    scale = max(1.0, abs(reference))
    if len(answer["choice"]) != len(problem["jobs"]):
        faults.append("choices for another number of jobs")
    if min(left) < 0:
        faults.append("a capacity is exceeded")
    if abs(value - answer["objective"]) > 1e-9 * scale:
        faults.append("the objective is not that of the choice")
    if answer["bound"] < max(reference - 1e-9 * scale, answer["objective"]):
        faults.append("the bound lies below a known allotment")
    if reference - value > 1e-4 * scale:
        faults.append("worse than the reference by more than 1e-4")
    return faults, (reference - value) / scale


def main():
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    rounds = proven = faulty = 0
    worst = float("-inf")
    print(f"{'file':32} {'rounds':>6} {'proven':>6} {'median ms':>10} {'99 % ms':>10} {'worst ms':>10}")
    for path in sorted(glob.glob(os.path.join(sys.argv[2], "*.jsonl.gz"))):
        text = gzip.open(path, "rb").read()
        run = subprocess.run([sys.argv[1], "allot"], input=text, capture_output=True, check=True)
        problems = [json.loads(line) for line in text.splitlines()]
        answers = [json.loads(line) for line in run.stdout.splitlines()]
        if len(problems) != len(answers):
            sys.exit(f"{path}: {len(problems)} problems, but {len(answers)} answers")
        for number, (problem, answer) in enumerate(zip(problems, answers), 1):
            faults, loss = faults_of(problem, answer)
            worst = max(worst, loss)
            faulty += bool(faults)
            for fault in faults:
                print(f"{path} line {number}: {fault}")
        milliseconds = sorted(answer["milliseconds"] for answer in answers)
        count, optimal = len(answers), sum(answer["status"] == "optimal" for answer in answers)
        print(f"{os.path.basename(path):32} {count:6} {optimal:6} {milliseconds[count // 2]:10.3f} "
              f"{milliseconds[count * 99 // 100]:10.3f} {milliseconds[-1]:10.3f}")
        rounds += count
        proven += optimal
    print(f"{rounds} rounds, {proven} proven, {faulty} with a fault, at worst {worst:.2e} below the reference")
    sys.exit(1 if faulty or not rounds else 0)


main()
