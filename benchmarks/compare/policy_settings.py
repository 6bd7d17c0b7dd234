#!/usr/bin/env python3
"""Measures how much our policy's settings matter: half and twice of each, at every load.

usage: policy_settings.py PROGRAM DATA/sia [--load 0.5,1,2,4,8] [--seeds 2] [--policy goodput] [--workloads ...]

Prints by setting and load the average completion time with half and with twice its value over that with its
default, as geometric means over workloads of means over seeds.
"""
import argparse
import concurrent.futures
import os
import statistics

from compare_policies import WORKLOADS, geometric_mean, replay

# The policies' defaults; p is at most 1, so that its neighbours are half and 1.
SETTINGS = {
    "goodput": {"p": 0.7, "order": 0.7, "sharpness": 4, "patience": 2, "restart": 2, "horizon": 3600, "usual": 300,
                "noise": 10},
    "goodput-declared": {"p": 0.7, "order": 1, "sharpness": 8, "patience": 1, "restart": 2, "horizon": 3600,
                         "usual": 300, "noise": 10},
}


def neighbours(settings):
    """Yields half and twice of each setting, in the program's form."""
    for name, value in settings.items():
        yield f"{name}={value / 2}"
        yield f"{name}={min(2 * value, 1) if name == 'p' else 2 * value}"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program")
    parser.add_argument("data")
    parser.add_argument("--load", default="0.5,1,2,4,8")
    parser.add_argument("--seeds", type=int, default=2)
    parser.add_argument("--policy", choices=SETTINGS, default="goodput")
    parser.add_argument("--workloads", default=WORKLOADS)
    arguments = parser.parse_args()
    loads, workloads = arguments.load.split(","), arguments.workloads.split(",")

    def average(workload, load, seed, options):
        result, = replay(arguments.program, arguments.data, arguments.policy, workload, load, seed, *options)
        assert result["completed"] == result["jobs"], (workload, load, options)
        return result["average_jct_h"]

    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        def averages(load, *options):
            return [[pool.submit(average, workload, load, seed, options) for seed in range(1, arguments.seeds + 1)]
                    for workload in workloads]

        def means(runs):
            return [statistics.fmean(run.result() for run in of_workload) for of_workload in runs]
        usual = {load: averages(load) for load in loads}
        changed = {setting: {load: averages(load, "--policy-option", setting) for load in loads}
                   for setting in neighbours(SETTINGS[arguments.policy])}
        print(f"{'load':16}" + "".join(f"{load:>8}" for load in loads), flush=True)
        for setting, runs in changed.items():
            ratios = (geometric_mean([new / old for new, old in zip(means(runs[load]), means(usual[load]))])
                      for load in loads)
            print(f"{setting:16}" + "".join(f"{ratio:8.3f}" for ratio in ratios), flush=True)


if __name__ == "__main__":
    main()
