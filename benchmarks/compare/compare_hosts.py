#!/usr/bin/python3
"""Compares ways to divide CPU cores and memory in Synergy's world: prices (`--host goodput`) with the published `tune`,
its bound `opt` and the proportional share, under the same orders on the same traces. Exits with 1 if a target is
missed.

usage: compare_hosts.py PROGRAM DATA [--policies LIST] [--match TEXT] [--opt]

PROGRAM is `goodput`; DATA contains traces/ and profiles/. Prints a line for each trace and order: average completion
time of tune in hours, that of goodput and proportional as a fraction of it, and the same for the 99th percentile.
--opt replays `opt`, too, which takes longer, and prints how much of the distance from tune to opt is closed.
"""
import argparse
import json
import math
import pathlib
import subprocess
import sys

TARGETS = {"mean": 0.97, "worst": 1.005, "p99": 1.0}


def replay(program, data, trace, policies, hosts):
    """Returns the program's rows by policy and host."""
    nodes = 16 if "16srv" in trace.stem else 4
    command = [program, "replay", "--world", "synergy", "--json", "--workload", str(trace),
               "--profiles", str(data / "profiles" / "profiles.json"), "--cluster", f"gpu:{nodes}x8",
               "--cores", "24", "--memory-gib", "500", "--interval", "300", "--policy", policies, "--host", hosts]
    run = subprocess.run(command, capture_output=True, text=True, check=False)
    if run.returncode != 0:
        sys.exit(f"{' '.join(command)}: {run.stderr.strip()}")
    rows = [json.loads(line) for line in run.stdout.splitlines()]
    return {(row["policy"], row["host"]): row for row in rows}


def mean(ratios):
    return math.exp(sum(map(math.log, ratios)) / len(ratios))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("program")
    parser.add_argument("data", type=pathlib.Path)
    parser.add_argument("--policies", default="fifo,srtf,las,ftf,drf,tetris")
    parser.add_argument("--match", default="")
    parser.add_argument("--opt", action="store_true")
    arguments = parser.parse_args()

    hosts = "proportional,tune,goodput" + (",opt" if arguments.opt else "")
    averages, tails, closed, stuck = [], [], [], 0
    print(f"{'trace':32} {'order':7} {'tune h':>8} {'goodput':>8} {'prop.':>7} {'p99':>7}"
          + (f" {'opt':>7} {'closed':>7}" if arguments.opt else ""))
    for trace in sorted((arguments.data / "traces").glob("*.csv")):
        if arguments.match not in trace.stem:
            continue
        rows = replay(arguments.program, arguments.data, trace, arguments.policies, hosts)
        for policy in arguments.policies.split(","):
            tune, ours, share = (rows[policy, host] for host in ("tune", "goodput", "proportional"))
            stuck += ours["faults"]
            averages.append(ours["average_jct_h"] / tune["average_jct_h"])
            tails.append(ours["p99_jct_h"] / tune["p99_jct_h"])
            line = (f"{trace.stem:32} {policy:7} {tune['average_jct_h']:8.3f} {averages[-1]:8.4f} "
                    f"{share['average_jct_h'] / tune['average_jct_h']:7.3f} {tails[-1]:7.4f}")
            if arguments.opt:
                opt = rows[policy, "opt"]["average_jct_h"] / tune["average_jct_h"]
                part = (1 - averages[-1]) / (1 - opt) if opt < 0.999 else math.nan
                line += f" {opt:7.4f} {part:7.2f}"
                if not math.isnan(part):
                    closed.append(part)
            print(line, flush=True)
    if not averages:
        sys.exit("no such traces")
    print(f"{len(averages)} pairs: goodput takes {mean(averages):.4f} of tune's average completion time, at worst "
          f"{max(averages):.4f}; 99th percentile {mean(tails):.4f}, at worst {max(tails):.4f}; {stuck} faults")
    if closed:
        closed.sort()
        print(f"distance from tune to opt that is closed: median {closed[len(closed) // 2]:.2f} of {len(closed)}")
    sys.exit(mean(averages) > TARGETS["mean"] or max(averages) > TARGETS["worst"] or mean(tails) > TARGETS["p99"])


if __name__ == "__main__":
    main()
