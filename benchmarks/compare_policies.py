#!/usr/bin/env python3
"""How much sooner do jobs complete than under the peer, Sia as published?

usage: compare_policies.py PROGRAM DATA/sia [--seeds 3] [--policies sia,sia-refined,goodput,goodput-declared]
                           [--workloads saturn/workload-1,...]

Replays each workload under each policy with several seeds (they break ties between equal values), and prints
average, p99, GPU hours and restarts as means over seeds, the averages' scatter, and the ratio of the averages to
the first policy's. The last lines are geometric means of the ratios over the workloads.
"""
import argparse
import concurrent.futures
import json
import math
import os
import statistics
import subprocess


def replay(program, data, workload, policies, seed):
    command = [program, "replay", "--workload", f"{data}/workloads/{workload}.csv", "--profiles",
               f"{data}/profiles", "--policy", policies, "--seed", str(seed), "--json"]
    lines = subprocess.run(command, check=True, capture_output=True, text=True).stdout.splitlines()
    return [json.loads(line) for line in lines]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("program")
    parser.add_argument("data")
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--policies", default="sia,sia-refined,goodput,goodput-declared")
    parser.add_argument("--workloads", default="saturn/workload-1,saturn/workload-9,saturn/workload-10,"
                                               "philly/workload-1,newtrace/workload-1")
    arguments = parser.parse_args()
    workloads = arguments.workloads.split(",")
    policies = arguments.policies.split(",")
    seeds = range(1, arguments.seeds + 1)
    results = {}
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        runs = {(w, s): pool.submit(replay, arguments.program, arguments.data, w, arguments.policies, s)
                for w in reversed(workloads) for s in seeds}
        for (workload, _), run in runs.items():
            for result in run.result():
                assert result["completed"] == result["jobs"], (workload, result)
                results.setdefault((workload, result["policy"]), []).append(result)
    print(f"{'workload':20} {'policy':17} {'average h':>9} {'+-':>6} {'ratio':>6} {'median':>7} {'p99 h':>6} "
          f"{'GPU h':>6} {'restarts':>8} {'rho 99 %':>8} {'ms p99':>7}")
    logarithms = {}
    for workload in workloads:
        for policy in policies:
            of = results[workload, policy]

            def mean(key):
                return statistics.fmean(r[key] for r in of)
            average = mean("average_jct_h")
            if policy == policies[0]:
                peer = average
            scatter = statistics.stdev(r["average_jct_h"] for r in of) if len(of) > 1 else 0
            logarithms.setdefault(policy, []).append(math.log(average / peer))
            print(f"{workload:20} {policy:17} {average:9.4f} {scatter:6.4f} {average / peer:6.3f} "
                  f"{mean('median_jct_h'):7.3f} {mean('p99_jct_h'):6.2f} {mean('gpu_hours_per_job'):6.2f} "
                  f"{mean('restarts_per_job'):8.2f} {mean('rho_p99'):8.2f} {mean('policy_ms_p99'):7.2f}")
    for policy, of in logarithms.items():
        print(f"{'geometric mean':20} {policy:17} {'':9} {'':6} {math.exp(statistics.fmean(of)):6.3f}   "
              f"worst {math.exp(max(of)):.3f}")


if __name__ == "__main__":
    main()
