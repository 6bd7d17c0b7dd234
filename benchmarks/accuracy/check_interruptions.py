#!/usr/bin/env python3
"""Tests whether jobs complete sooner if policies and checkpoints know how often nodes fail.

usage: check_interruptions.py PROGRAM DATA/sia [--policy goodput] [--hours 12,24,48] [--seeds 5] [--load 1]
           [--workloads saturn/workload-1,philly/workload-1]

Replays traces in which each node fails on average once in the hours given. Prints the average completion time
relative to that with checkpoints every 30 minutes and a policy that ignores failures, as geometric means over the
seeds with standard errors; the same relative to the same checkpoints with such a policy (unaware); and the useful
part of the GPU time. Three more rows tell what to expect:

    placebo   as chosen and ignored, but the policy's power p changes by up to 0.02, which shifts values of neighbouring
              sizes as little as availability does: shows how a trace reacts to any change
    free      checkpoints that cost nothing, every ten seconds: no choice of checkpoints and sizes gains more
    none      no failures at all

Exits with 1 if chosen checkpoints with availability in the values are slower than fixed ones with a policy that
ignores failures, by more than two standard errors.
"""
import argparse
import json
import math
import statistics
import subprocess
import sys

WAYS = (("fixed", "ignored"), ("fixed", "values"), ("chosen", "ignored"), ("chosen", "values"), ("chosen", "placebo"),
        ("free", "ignored"), ("none", "no failures"))
PLACEBOS = (-0.02, 0.005, -0.005, 0.01, -0.01, 0.015, -0.015, 0.02)  # added to the policy's p


def replay(arguments, workload, hours, seed, checkpoints, availability):
    command = [arguments.program, "replay", "--workload", f"{arguments.data}/workloads/{workload}.csv", "--profiles",
               f"{arguments.data}/profiles", "--policy", arguments.policy, "--load", str(arguments.load), "--json"]
    if checkpoints != "none":
        command += ["--node-mtbf-h", str(hours), "--interruptions-seed", str(seed), "--checkpoints", checkpoints,
                    "--availability", "ignored" if availability == "placebo" else availability]
    if checkpoints == "free":
        command += ["--checkpoint", "10"]
    if availability == "placebo":
        command += ["--policy-option", f"p={0.7 + PLACEBOS[seed % len(PLACEBOS)]}"]
    return json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)


def ratio_of(results, base):
    """Returns the log of the geometric mean of completion times relative to `base`, and its standard error."""
    logs = [math.log(one["average_jct_h"] / other["average_jct_h"]) for one, other in zip(results, base)]
    return statistics.mean(logs), statistics.stdev(logs) / math.sqrt(len(logs)) if len(logs) > 1 else 0


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program")
    parser.add_argument("data")
    parser.add_argument("--policy", default="goodput")
    parser.add_argument("--hours", default="12,24,48")
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--load", type=float, default=1)
    parser.add_argument("--workloads", default="saturn/workload-1,philly/workload-1")
    arguments = parser.parse_args()
    slower = False
    print("workload           h  checkpoints  availability  average h  ratio  error  unaware  error  useful")
    for workload in arguments.workloads.split(","):
        for hours in arguments.hours.split(","):
            base = None
            for way in WAYS:
                if way[1] == "placebo" and arguments.policy != "goodput":
                    continue
                results = [replay(arguments, workload, hours, seed, *way) for seed in range(1, arguments.seeds + 1)]
                base = base or results
                if way[1] == "ignored":
                    unaware = results
                mean, error = ratio_of(results, base)
                of_unaware, error_of_unaware = ratio_of(results, unaware)
                average = statistics.mean(one["average_jct_h"] for one in results)
                useful = statistics.mean(one["availability"] for one in results)
                print(f"{workload:17} {hours:>3}  {way[0]:11}  {way[1]:12}  {average:9.3f}  {math.exp(mean):5.3f}  "
                      f"{error:5.3f}  {math.exp(of_unaware):7.3f}  {error_of_unaware:5.3f}  {useful:6.3f}", flush=True)
                slower |= way == ("chosen", "values") and mean > 2 * error
    return 1 if slower else 0


if __name__ == "__main__":
    sys.exit(main())
