#!/usr/bin/env python3
"""Do jobs complete sooner where policies and checkpoints know how often nodes fail?

usage: check_interruptions.py PROGRAM DATA/sia [--policy goodput] [--hours 12,24,48] [--seeds 5] [--load 1]
           [--workloads saturn/workload-1,philly/workload-1]

Replays traces while each node fails once in so many hours on average. Prints the average completion time
over its value with checkpoints every 30 minutes and a policy that knows nothing, as geometric means over the seeds with
their standard error, and the useful part of the GPU time; without failures, too: no policy gains more. Exits with 1 if chosen checkpoints with availability in the
values are slower than that by more than two standard errors.
"""
import argparse
import json
import math
import statistics
import subprocess
import sys

WAYS = (("fixed", "ignored"), ("fixed", "values"), ("chosen", "ignored"), ("chosen", "values"), ("none", "no failures"))


def replay(arguments, workload, hours, seed, checkpoints, availability):
    command = [arguments.program, "replay", "--workload", f"{arguments.data}/workloads/{workload}.csv", "--profiles",
               f"{arguments.data}/profiles", "--policy", arguments.policy, "--load", str(arguments.load), "--json"]
    if checkpoints != "none":
        command += ["--node-mtbf-h", str(hours), "--interruptions-seed", str(seed), "--checkpoints", checkpoints,
                    "--availability", availability]
    return json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)


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
    print("workload           h  checkpoints  availability  average h  ratio  error  useful")
    for workload in arguments.workloads.split(","):
        for hours in arguments.hours.split(","):
            base = None
            for way in WAYS:
                results = [replay(arguments, workload, hours, seed, *way) for seed in range(1, arguments.seeds + 1)]
                base = base or results
                logs = [math.log(one["average_jct_h"] / other["average_jct_h"]) for one, other in zip(results, base)]
                mean = statistics.mean(logs)
                error = statistics.stdev(logs) / math.sqrt(len(logs)) if len(logs) > 1 else 0
                average = statistics.mean(one["average_jct_h"] for one in results)
                useful = statistics.mean(one["availability"] for one in results)
                print(f"{workload:17} {hours:>3}  {way[0]:11}  {way[1]:12}  {average:9.3f}  {math.exp(mean):5.3f}  "
                      f"{error:5.3f}  {useful:6.3f}", flush=True)
                slower |= way == ("chosen", "values") and mean > 2 * error
    return 1 if slower else 0


if __name__ == "__main__":
    sys.exit(main())
