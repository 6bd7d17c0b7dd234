#!/usr/bin/python3
"""Measures how faithful `goodput replay --world gavel` and `--world shockwave` are to Gavel's and Shockwave's public
simulators, on the same traces and profiles. Exits 1 if a policy that needs no solver is not equal job by job.

usage: check_time_sharing.py PROGRAM DATA [--match TEXT] [--repeat N]

PROGRAM is `goodput`; DATA contains gavel/ and shockwave/. Prints a line for each policy and trace that the program
knows and whose completion times were published: jobs that complete at the same time (to 0.02 s), average completion
time published and ours, in hours, the difference, the difference of the makespan, and, if the simulator's seconds
were published, how many times as fast the whole replay is (the fastest of N runs, including the start of the program
and the reading of files). --match TEXT takes only lines with TEXT in their name.
"""
import argparse
import json
import pathlib
import re
import subprocess
import sys
import time

SAME_SECONDS = 0.02
# The program's names for Gavel's policies. Its simulator adds _perf for those that know the speed of types.
GAVEL = {"fifo": "fifo_perf", "isolated": "isolated", "max_min": "max_min_fairness_perf",
         "water_filling": "max_min_fairness_water_filling_perf", "sum": "max_sum_throughput_perf",
         "finish_time_fairness": "finish_time_fairness_perf", "makespan": "min_total_duration_perf", "allox": "allox"}
SHOCKWAVE = {"max_min": "max_min_fairness", "sum": "max_sum_throughput_perf", "makespan": "min_total_duration"}
EXACT = {"gavel": {"fifo", "isolated"}, "shockwave": {"gandiva_fair", "fifo", "isolated", "isolated_plus"}}


def published_results(data):
    """Yields world, policy (ours), name, options, completion times by job, makespan and seconds of each published
    result."""
    gavel, shockwave = data / "gavel", data / "shockwave"
    for summary in json.loads((gavel / "sim" / "summary.json").read_text()):
        path = gavel / "sim" / f"{summary['trace']}_{summary['policy']}_jct.json"
        ours = [policy for policy, name in GAVEL.items() if name == summary["policy"]]
        if not path.exists() or not ours:
            continue
        cluster = ",".join(f"{kind}:{number}x1" for number, kind in re.findall(r"(\d+) (\w+)", summary["cluster"]))
        options = ["--workload", gavel / "sim" / f"{summary['trace']}.trace",
                   "--profiles", gavel / "simulation_throughputs.json.gz",
                   "--cluster", cluster, "--interval", summary["round_s"]]
        yield ("gavel", ours[0], f"gavel {summary['trace']} {ours[0]}", options, json.loads(path.read_text()),
               summary["makespan_s"], summary["wall_s"])
    for reference in sorted(shockwave.glob("reference-*.json")):
        for run in json.loads(reference.read_text())["runs"]:
            ours = next((policy for policy, name in SHOCKWAVE.items() if name == run["policy"]), run["policy"])
            options = ["--workload", shockwave / "traces" / f"{run['trace']}.jsonl", "--profiles", shockwave,
                       "--table", run["table"], "--cluster", f"v100:{run['gpus']}x1", "--interval", 120]
            times = {str(job): seconds for job, seconds in enumerate(run["jct_s"])}
            yield ("shockwave", ours, f"shockwave {run['trace']} {ours} ({run['kind']})", options, times,
                   run["makespan_s"], None)


def replay(program, world, policy, options):
    """Returns what the program prints, or nothing for an unknown policy, and the seconds that it took."""
    command = [program, "replay", "--world", world, "--policy", policy, "--json", "--jobs", *map(str, options)]
    begin = time.perf_counter()
    run = subprocess.run(command, capture_output=True, text=True, check=False)
    seconds = time.perf_counter() - begin
    if "there is no policy" in run.stderr:
        return None, seconds
    if run.returncode != 0:
        sys.exit(f"{' '.join(command)}: {run.stderr.strip()}")
    return json.loads(run.stdout), seconds


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("program")
    parser.add_argument("data", type=pathlib.Path)
    parser.add_argument("--match", default="")
    parser.add_argument("--repeat", type=int, default=3)
    arguments = parser.parse_args()

    failed, results = [], 0
    print(f"{'result':48} {'equal':>9} {'published h':>11} {'ours h':>8} {'differs':>9} {'makespan':>9} {'faster':>8}")
    for world, policy, name, options, published, makespan, simulator_seconds in published_results(arguments.data):
        if arguments.match not in name:
            continue
        runs = [replay(arguments.program, world, policy, options) for _ in range(max(arguments.repeat, 1))]
        ours, seconds = runs[0][0], min(seconds for _, seconds in runs)
        if ours is None:
            continue
        times = {job["name"]: job["completion_h"] for job in ours["completions"]}
        equal = sum(times[job] is not None and abs(times[job] * 3600 - published[job]) < SAME_SECONDS
                    for job in published)
        average = sum(published.values()) / len(published) / 3600
        faster = f"{simulator_seconds / seconds:7.0f}x" if simulator_seconds else ""
        print(f"{name:48} {equal:4}/{len(published):4} {average:11.4f} {ours['average_jct_h']:8.4f} "
              f"{ours['average_jct_h'] / average - 1:9.3%} {ours['makespan_h'] * 3600 / makespan - 1:9.3%} {faster:>8}")
        results += 1
        if policy in EXACT[world] and equal < len(published):
            failed.append(name)
    if results == 0:
        sys.exit("no such results")
    for name in failed:
        print(f"{name}: not equal job by job")
    sys.exit(bool(failed))


if __name__ == "__main__":
    main()
