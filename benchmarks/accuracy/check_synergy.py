#!/usr/bin/python3
"""Measures how faithful `goodput replay --world synergy` is to Synergy's public simulator, on the same traces and
profiles. Exits 1 if a target is missed.

usage: check_synergy.py PROGRAM DATA [--match TEXT] [--random]

PROGRAM is `goodput`; DATA contains traces/, profiles/ and results/, as the simulator wrote them. Prints a line per
result: average completion time published and ours, in hours, the difference, the difference of the makespan, and the
number of jobs that complete at another second. --match TEXT takes only results with TEXT in their name. Without
--random, results of the simulator's "random" placement are left out.
"""
import argparse
import json
import pathlib
import subprocess
import sys

HOSTS = {"fair": "proportional", "greedy": "greedy", "tune": "tune", "opt": "opt"}
NODES = {"static_trace.ini": 4, "default_cluster.ini": 16}
SAME_SECONDS = 1e-3
# Targets for the differences of all results: mean and worst of the average completion time, worst of the makespan.
TARGETS = {"mean": 0.01, "worst": 0.04, "makespan": 0.02}


def replay(program, data, published):
    """Returns what the program prints for the trace, order and allocator of a published result."""
    command = [program, "replay", "--world", "synergy", "--json", "--jobs",
               "--workload", str(data / "traces" / published["trace"]),
               "--profiles", str(data / "profiles" / "profiles.json"),
               "--cluster", f"gpu:{NODES[published['config']]}x8", "--cores", "24", "--memory-gib", "500",
               "--interval", str(published["round_s"]), "--policy", published["scheduler"].lower(),
               "--host", HOSTS[published["mode"]], "--placement", "synergy" if published["placement"] else "random"]
    run = subprocess.run(command, capture_output=True, text=True, check=False)
    if run.returncode != 0:
        sys.exit(f"{' '.join(command)}: {run.stderr.strip()}")
    return json.loads(run.stdout)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("program")
    parser.add_argument("data", type=pathlib.Path)
    parser.add_argument("--match", default="")
    parser.add_argument("--random", action="store_true")
    arguments = parser.parse_args()

    averages, makespans, exact = [], [], 0
    print(f"{'result':52} {'published h':>11} {'ours h':>8} {'differs':>9} {'makespan':>9} {'jobs':>5} {'faults':>6}")
    for path in sorted((arguments.data / "results").glob("*.json")):
        published = json.loads(path.read_text())
        if arguments.match not in path.stem or not (published["placement"] or arguments.random):
            continue
        ours = replay(arguments.program, arguments.data, published)
        times = {job["name"]: job["completion_h"] for job in ours["completions"]}
        by_job = published["per_job"]
        others = sum(times[name] is None or abs(times[name] * 3600 - (end - begin)) > SAME_SECONDS
                     for name, (begin, end) in by_job.items())
        average = ours["average_jct_h"] / (published["avg_jct_s"] / 3600) - 1
        first = min(begin for begin, _ in by_job.values())
        makespan = ours["makespan_h"] * 3600 / (published["makespan_s"] - first) - 1
        averages.append(abs(average))
        makespans.append(abs(makespan))
        exact += others == 0
        print(f"{path.stem:52} {published['avg_jct_s'] / 3600:11.4f} {ours['average_jct_h']:8.4f} {average:9.3%} "
              f"{makespan:9.3%} {others:5} {ours['faults']:6}")
    if not averages:
        sys.exit("no such results")
    mean, worst, makespan = sum(averages) / len(averages), max(averages), max(makespans)
    print(f"{len(averages)} results, {exact} of them equal job by job; average completion time: mean difference "
          f"{mean:.4%}, worst {worst:.4%}; makespan: worst {makespan:.4%}")
    sys.exit(mean > TARGETS["mean"] or worst > TARGETS["worst"] or makespan > TARGETS["makespan"])


if __name__ == "__main__":
    main()
