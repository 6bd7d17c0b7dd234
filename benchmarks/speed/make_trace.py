#!/usr/bin/env python3
"""Makes a trace of any length from jobs of other traces, for replays of thousands of jobs.

usage: make_trace.py WORKLOAD.csv... --jobs 6000 [--hours 48] [--even] [--seed 1] > TRACE.csv

Times of submission are uniform over the hours. Jobs are drawn as often as they occur; with --even, every application
is equally frequent.
"""
import argparse
import collections
import csv
import random
import sys


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("workloads", nargs="+")
    parser.add_argument("--jobs", type=int, required=True)
    parser.add_argument("--hours", type=float, default=48)
    parser.add_argument("--even", action="store_true")
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    draw = random.Random(arguments.seed)
    by_application = collections.defaultdict(list)
    for path in arguments.workloads:
        with open(path, newline="", encoding="utf-8") as rows:
            for row in csv.DictReader(rows):
                by_application[row["application"]].append(row)
    applications = sorted(by_application)
    frequency = [1 if arguments.even else len(by_application[name]) for name in applications]
    times = sorted(draw.uniform(0, 3600 * arguments.hours) for _ in range(arguments.jobs))
    out = csv.writer(sys.stdout, lineterminator="\n")
    out.writerow(["name", "time", "application", "num_replicas", "batch_size"])
    for number, time in enumerate(times):
        application = draw.choices(applications, frequency)[0]
        row = draw.choice(by_application[application])
        out.writerow([f"{application}-{number}", f"{time:.0f}", application, row["num_replicas"], row["batch_size"]])


if __name__ == "__main__":
    main()
