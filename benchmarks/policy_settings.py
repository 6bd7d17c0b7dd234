#!/usr/bin/env python3
"""How much do our policy's settings matter? Half and twice of each, at every load.

usage: policy_settings.py PROGRAM DATA/sia [--load 0.5,1,2,4,8] [--seeds 2] [--policy goodput] [--workloads ...]

Prints by setting and load the average completion time with half and with twice its value over that with its
default, as geometric means over workloads and seeds.
"""
import argparse
import concurrent.futures
import json
import math
import os
import statistics
import subprocess

# Defaults of goodput; p is at most 1, so that its neighbours are half and 1.
SETTINGS = {"p": 0.7, "order": 0.7, "sharpness": 4, "patience": 2, "restart": 2, "horizon": 3600, "usual": 300,
            "noise": 10}


def average(arguments, workload, load, seed, option):
    command = [arguments.program, "replay", "--workload", f"{arguments.data}/workloads/{workload}.csv",
               "--profiles", f"{arguments.data}/profiles", "--policy", arguments.policy, "--load", load,
               "--seed", str(seed), "--json", *(["--policy-option", option] if option else [])]
    result = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
    assert result["completed"] == result["jobs"], (workload, load, option)
    return result["average_jct_h"]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("program")
    parser.add_argument("data")
    parser.add_argument("--load", default="0.5,1,2,4,8")
    parser.add_argument("--seeds", type=int, default=2)
    parser.add_argument("--policy", default="goodput")
    parser.add_argument("--workloads", default="saturn/workload-1,saturn/workload-9,saturn/workload-10,"
                                               "philly/workload-1,newtrace/workload-1")
    arguments = parser.parse_args()
    loads, workloads = arguments.load.split(","), arguments.workloads.split(",")
    options = [""] + [f"{name}={min(value * factor, 1) if name == 'p' else value * factor}"
                      for name, value in SETTINGS.items() for factor in (0.5, 2)]
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        runs = {(option, load): [pool.submit(average, arguments, workload, load, seed, option)
                                 for workload in workloads for seed in range(1, arguments.seeds + 1)]
                for option in options for load in loads}
        print(f"{'load':16}" + "".join(f"{load:>8}" for load in loads), flush=True)
        for option in options[1:]:
            ratios = [math.exp(statistics.fmean(math.log(run.result() / usual.result()) for run, usual in
                                                zip(runs[option, load], runs["", load]))) for load in loads]
            print(f"{option:16}" + "".join(f"{ratio:8.3f}" for ratio in ratios), flush=True)


if __name__ == "__main__":
    main()
