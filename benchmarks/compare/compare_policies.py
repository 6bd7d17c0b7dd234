#!/usr/bin/env python3
"""Measures how much sooner jobs complete than under the peer, Sia as published.

usage: compare_policies.py PROGRAM DATA/sia [--seeds 3] [--policies sia,sia-refined,goodput,goodput-declared]
                           [--workloads saturn/workload-1,...] [--load 0.5,1,2,4,8] [--rates none]
                           [--processes 2] [--output FILE]
       compare_policies.py --input FILE... [--policies ...] [--workloads ...] [--load ...]

Replays each workload at each load under each policy with several seeds (they break ties between equal values). Prints
a table for each load: means over seeds, the averages' scatter, and the ratio of the averages to the first policy's. A
last table has geometric means over the workloads of the ratios to the first policy.

A load of 2 means the same jobs in half the time. --output writes every single result as a line of JSON; --input reads
such files instead of running anything, and ignores results that were not asked for.
"""
import argparse
import collections
import concurrent.futures
import itertools
import json
import math
import os
import statistics
import subprocess
import sys
import time

POLICIES = "sia,sia-refined,goodput,goodput-declared"
WORKLOADS = "saturn/workload-1,saturn/workload-9,saturn/workload-10,philly/workload-1,newtrace/workload-1"


def replay(program, data, policies, workload, load, seed, *options):
    """Returns what the program prints for one workload, load and seed: one result per policy."""
    command = [program, "replay", "--workload", f"{data}/workloads/{workload}.csv", "--profiles", f"{data}/profiles",
               "--policy", policies, "--load", str(load), "--seed", str(seed), "--json", *options]
    run = subprocess.run(command, capture_output=True, text=True, check=False)
    if run.returncode != 0:
        sys.exit(f"{' '.join(command)}: {run.stderr.strip()}")
    return [json.loads(line) | {"workload": workload, "load": load, "seed": seed} for line in run.stdout.splitlines()]


def replay_all(arguments, policies, workloads, loads):
    """Returns all results. If it is interrupted, the file contains what was done by then."""
    # Seed by seed, so that the rest takes as long per run as what is done. The longest workload comes first.
    tasks = [(workload, load, seed) for seed in range(1, arguments.seeds + 1)
             for workload in reversed(workloads) for load in reversed(loads)]
    results = []
    begin = time.monotonic()
    with (concurrent.futures.ThreadPoolExecutor(arguments.processes) as pool,
          open(arguments.output or os.devnull, "w", encoding="utf-8") as output):
        runs = [pool.submit(replay, arguments.program, arguments.data, ",".join(policies), *task,
                            "--rates", arguments.rates) for task in tasks]
        for done, run in enumerate(concurrent.futures.as_completed(runs), 1):
            if run.exception():
                pool.shutdown(cancel_futures=True)
            for result in run.result():
                results.append(result)
                print(json.dumps(result), file=output, flush=True)
            left = (time.monotonic() - begin) / done * (len(tasks) - done)
            print(f"\r{done}/{len(tasks)} runs, about {left / 60:.0f} min left ", end="", file=sys.stderr, flush=True)
    print(file=sys.stderr)
    return results


def read(paths):
    """Returns the results that --output wrote."""
    results = []
    for path in paths:
        with open(path, encoding="utf-8") as lines:
            results += [json.loads(line) for line in lines if line.strip()]
    return results


def means_of(results):
    """Returns means over seeds by (load, workload, policy), with the scatter of the averages."""
    groups = collections.defaultdict(list)
    for result in results:
        if result["completed"] != result["jobs"]:
            sys.exit(f"{result['workload']}, load {result['load']:g}, {result['policy']}: "
                     f"only {result['completed']} of {result['jobs']} jobs completed")
        groups[result["load"], result["workload"], result["policy"]].append(result)
    means = {}
    for of, group in groups.items():
        averages = [result["average_jct_h"] for result in group]
        means[of] = {key: statistics.fmean(result[key] for result in group)
                     for key, value in group[0].items() if isinstance(value, (int, float))}
        means[of]["scatter"] = statistics.stdev(averages) if len(averages) > 1 else 0
    return means


def require_all(means, policies, workloads, loads):
    """Ends the program if a load, workload and policy to compare has no result."""
    for of in itertools.product(loads, workloads, policies):
        if of not in means:
            sys.exit(f"there is no result of load {of[0]:g}, {of[1]}, {of[2]}")


def ratios(means, load, workloads, policy, peer, key):
    """Returns one ratio to the peer per workload."""
    return [means[load, workload, policy][key] / means[load, workload, peer][key] for workload in workloads]


def geometric_mean(values):
    return math.exp(statistics.fmean(map(math.log, values))) if min(values) > 0 else 0


def named(results, key, wanted):
    """Returns the names in the results that the caller asked for, in that order, or all names if it asked for none."""
    present = dict.fromkeys(result[key] for result in results)
    return [name for name in wanted or present if name in present]


def print_tables(results, policies, workloads, loads):
    means = means_of(results)
    peer = policies[0]
    require_all(means, policies, workloads, loads)
    for load in loads:
        print(f"{f'load {load:g}':20} {'policy':17} {'average h':>9} {'+-':>6} {'ratio':>6} {'median':>7} {'p99 h':>6} "
              f"{'GPU h':>6} {'restarts':>8} {'rho 99 %':>8} {'ms p99':>7}")
        for workload in workloads:
            for policy in policies:
                of = means[load, workload, policy]
                ratio = of["average_jct_h"] / means[load, workload, peer]["average_jct_h"]
                print(f"{workload:20} {policy:17} {of['average_jct_h']:9.4f} {of['scatter']:6.4f} {ratio:6.3f} "
                      f"{of['median_jct_h']:7.3f} {of['p99_jct_h']:6.2f} {of['gpu_hours_per_job']:6.2f} "
                      f"{of['restarts_per_job']:8.2f} {of['rho_p99']:8.2f} {of['policy_ms_p99']:7.2f}")
        print()
    print(f"{f'ratios to {peer}':20} {'policy':17} {'average':>9} {'worst':>6} {'p99':>6} {'restarts':>8} {'rho 99 %':>8}")
    for load in loads:
        for policy in policies:
            average, p99, restarts, rho = (
                ratios(means, load, workloads, policy, peer, key)
                for key in ("average_jct_h", "p99_jct_h", "restarts_per_job", "rho_p99"))
            print(f"{f'load {load:g}':20} {policy:17} {geometric_mean(average):9.3f} {max(average):6.3f} "
                  f"{geometric_mean(p99):6.3f} {geometric_mean(restarts):8.3f} {geometric_mean(rho):8.3f}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program", nargs="?")
    parser.add_argument("data", nargs="?")
    parser.add_argument("--seeds", type=int, default=3, help="number of seeds, from 1 on (default: 3)")
    parser.add_argument("--policies", help=f"the first one is the peer (default: {POLICIES})")
    parser.add_argument("--workloads")
    parser.add_argument("--load", help="divisors of the times of submission, separated by commas (default: 1)")
    parser.add_argument("--rates", choices=["given", "none"], default="given",
                        help="whether jobs declare the rates of one GPU (default: given)")
    parser.add_argument("--processes", type=int, default=os.cpu_count())
    parser.add_argument("--output", help="file for all results, one JSON document per line")
    parser.add_argument("--input", nargs="+", help="files of --output to read instead of running anything")
    arguments = parser.parse_args()
    if not arguments.input and not arguments.data:
        parser.error("PROGRAM and DATA, or --input, must be given")

    def asked_for(text, default, kind=str):
        chosen = text or ("" if arguments.input else default)
        return [kind(part) for part in chosen.split(",") if part]
    policies = asked_for(arguments.policies, POLICIES)
    workloads = asked_for(arguments.workloads, WORKLOADS)
    loads = asked_for(arguments.load, "1", float)
    if arguments.input:
        results = read(arguments.input)
        policies = named(results, "policy", policies)
        workloads = named(results, "workload", workloads)
        loads = named(results, "load", loads) if loads else sorted(named(results, "load", None))
        if not (policies and workloads and loads):
            sys.exit("the files have nothing of what was asked for")
    else:
        results = replay_all(arguments, policies, workloads, loads)
    print_tables(results, policies, workloads, loads)


if __name__ == "__main__":
    main()
