#!/usr/bin/python3
"""Measures how faithful `goodput replay --policy sia` is to Sia's public simulator (siasosp23/artifacts), on
the same traces and measurements. Exits 1 if a target is missed.

usage: check_replay.py PROGRAM DATA [--seeds N] [--processes N] [--options ...]

PROGRAM is `goodput`; DATA holds workloads/, profiles/ and reference/, as published with Sia. What follows
--options goes to the program.

Choices of Sia's policy are rarely unique (a new job is worth the same on every GPU type), so two replays by the same
rules differ, by 1.6 % in the average completion time of 160 jobs. Therefore every trace is replayed with many seeds
that break ties differently, and the means are compared: with one run of the public simulator (`simulator`), and, for
the average completion time, with the mean of ten replays by its rules (`variants`) if there is one. Targets are for
the means. `sd` is our own standard deviation over seeds.

For saturn/workload-1, completion times are compared job by job with the simulator's, and as a scale those of
our seeds with each other: a replay by the same rules is as far from the simulator as our seeds are from each
other.
"""
import argparse
import concurrent.futures
import csv
import itertools
import json
import os
import pathlib
import subprocess
import sys

import numpy as np
import scipy.stats

# One run of the public simulator with its own solver and defaults (60 s rounds, 6x4 + 2x8 + 3x8 GPUs), and means of
# ten replays by its rules that break ties differently.
AVERAGE, MEDIAN, P99, MAKESPAN, GPU_HOURS, RESTARTS = (
    "average_jct_h", "median_jct_h", "p99_jct_h", "makespan_h", "gpu_hours_per_job", "restarts_per_job")
SIMULATOR = {
    "saturn/workload-1": {AVERAGE: 0.5852, MEDIAN: 0.2300, P99: 8.939, MAKESPAN: 12.66, GPU_HOURS: 3.773,
                          RESTARTS: 4.069},
    "philly/workload-1": {AVERAGE: 0.5465, MEDIAN: 0.2333, P99: 9.327, MAKESPAN: 15.22, GPU_HOURS: 3.653,
                          RESTARTS: 4.225},
    "newtrace/workload-1": {AVERAGE: 0.8065, MEDIAN: 0.3640, P99: 5.043, MAKESPAN: 51.21, GPU_HOURS: 2.904,
                            RESTARTS: 4.851},
}
VARIANTS = {"saturn/workload-1": 0.586, "philly/workload-1": 0.537}
BY_JOB = ("saturn/workload-1", "reference/saturn-1-sia-jct.csv")
# Targets for the trace's mean against the simulator's run. The average is also compared with the variants, or with
# the run if there are none.
TARGETS = {AVERAGE: 0.03, GPU_HOURS: 0.10, RESTARTS: 0.10}
VARIANTS_TARGET = 0.015


def replay(program, data, trace, seed, options):
    """Returns what the program prints for one trace and seed."""
    command = [program, "replay", "--policy", "sia", "--json", "--jobs", "--seed", str(seed), "--workload",
               str(data / "workloads" / f"{trace}.csv"), "--profiles", str(data / "profiles"), *options]
    run = subprocess.run(command, capture_output=True, text=True, check=False)
    if run.returncode != 0:
        sys.exit(f"{' '.join(command)}: {run.stderr.strip()}")
    return json.loads(run.stdout)


def report(figure, mean, deviation, name, reference, target):
    """Prints one comparison. Returns whether it is within the target."""
    difference = mean / reference - 1
    passed = target is None or abs(difference) <= target
    verdict = "" if target is None else f"  within {100 * target:.1f} %: {'PASS' if passed else 'FAIL'}"
    print(f"  {figure:18} {mean:9.4f}  sd {deviation:7.4f}  {name} {reference:8.4f}  {100 * difference:+6.2f} %{verdict}")
    return passed


def compare_jobs(title, pairs):
    """Completion times of the same jobs, in two rows each: prints rank correlation and relative differences."""
    ranks = [scipy.stats.spearmanr(first, second).statistic for first, second in pairs]
    relative = [np.median(np.abs(first / second - 1)) for first, second in pairs]
    print(f"  {title:34} rank correlation {np.mean(ranks):.4f} ({min(ranks):.4f} to {max(ranks):.4f}), "
          f"median difference {100 * np.mean(relative):.1f} % ({100 * min(relative):.1f} to {100 * max(relative):.1f})")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program")
    parser.add_argument("data", type=pathlib.Path)
    parser.add_argument("--seeds", type=int, default=10, help="number of seeds, from 1 on (default: 10)")
    parser.add_argument("--processes", type=int, default=os.cpu_count())
    parser.add_argument("--options", nargs=argparse.REMAINDER, default=[], help="further options of the program")
    arguments = parser.parse_args()

    seeds = range(1, arguments.seeds + 1)
    # Long replays come first.
    tasks = sorted(itertools.product(SIMULATOR, seeds), key=lambda task: task[0] != "newtrace/workload-1")
    with concurrent.futures.ThreadPoolExecutor(arguments.processes) as pool:
        answers = dict(zip(tasks, pool.map(
            lambda task: replay(arguments.program, arguments.data, *task, arguments.options), tasks)))

    passed = True
    for trace, simulator in SIMULATOR.items():
        runs = [answers[trace, seed] for seed in seeds]
        print(f"\n{trace}: {runs[0]['jobs']} jobs, {len(runs)} seeds")
        if any(run["completed"] != run["jobs"] for run in runs):
            print("  not all jobs completed: FAIL")
            passed = False
        for figure, reference in simulator.items():
            values = np.array([run[figure] for run in runs])
            mean, deviation = values.mean(), values.std(ddof=min(1, len(values) - 1))
            passed &= report(figure, mean, deviation, "simulator", reference, TARGETS.get(figure))
            if figure == AVERAGE:
                name, other = ("variants ", VARIANTS[trace]) if trace in VARIANTS else ("simulator", reference)
                passed &= report("", mean, deviation, name, other, VARIANTS_TARGET)

    trace, path = BY_JOB
    with open(arguments.data / path, encoding="utf-8", newline="") as file:
        published = {row["name"]: float(row["jct_h"]) for row in csv.DictReader(file)}
    names = sorted(published)
    ours = []
    for seed in seeds:
        hours = {job["name"]: job["completion_h"] for job in answers[trace, seed]["completions"]}
        if sorted(hours) != names:
            sys.exit(f"{arguments.data / path}: other jobs than in {trace}")
        ours.append(np.array([hours[name] for name in names], dtype=float))
    simulator = np.array([published[name] for name in names])
    print(f"\n{trace}, job by job: mean (least to largest) over all pairs")
    compare_jobs("each seed and the simulator", [(own, simulator) for own in ours])
    if len(ours) > 1:
        compare_jobs("each seed and each other", list(itertools.combinations(ours, 2)))
    sys.exit(0 if passed else 1)


if __name__ == "__main__":
    main()
