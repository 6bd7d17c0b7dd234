#!/usr/bin/env python3
"""Measures what renting nodes costs and how long jobs take, compared with a fixed cluster and Pollux's band of utility.

usage: check_renting.py PROGRAM DATA/sia [--workload saturn/workload-1] [--load 1] [--worth 1,2,5,10,15,20,40]
       [--times 4] [--spot] [--jsonl FILE]

Prints a table: the fixed cluster of 6 x 4 T4 (aws), 2 x 8 A100 (dgx-ext) and 3 x 8 2080 Ti (rtx) rented all the time,
Pollux's band, and our policy for each worth of an hour, with at most four times the nodes of the fixed cluster
(--times). Every node takes 3 minutes to start and is paid by the minute. Prices per hour: g4dn.12xlarge 3.912 and
p4d.24xlarge 32.77 dollars, on demand in us-east-1 (2023). 2080 Ti are not offered there, so 6.40 per node is assumed.

--spot instead compares all on demand, all spot, and both, for each worth. There are at most as many spot nodes as
nodes in the fixed cluster (assumed: spot is scarce). They cost a third (assumed), are taken back once in 8 hours on
average (assumed), and return after 10 minutes. Exits with 1 if our policy at the default worth is slower than the
fixed cluster, or costs more than two thirds of it.
"""
import argparse
import json
import subprocess
import sys

NODES = (("aws", 6, 4, 3.912), ("dgx-ext", 2, 8, 32.77), ("rtx", 3, 8, 6.40))
DEFAULT = 10.0
HEAD = "setting              worth  completed  average h     p99 h  makespan h     dollars  dollars/job    node h  restarts"


def offers(times, spot=False, share=1 / 3, hours=8):
    return ",".join(f"{name}:{times * nodes}x{gpus}@{price * share:.3f}/spot/{hours}" if spot else
                    f"{name}:{times * nodes}x{gpus}@{price}" for name, nodes, gpus, price in NODES)


def replay(arguments, rent, offered, worth=DEFAULT):
    command = [arguments.program, "replay", "--workload", f"{arguments.data}/workloads/{arguments.workload}.csv",
               "--profiles", f"{arguments.data}/profiles", "--policy", "goodput", "--load", str(arguments.load), "--json",
               "--rent", rent, "--offers", offered, "--hour-worth", str(worth)]
    return json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)


def show(arguments, name, worth, row):
    print(f"{name:20} {worth:>5}  {row['completed']:9}  {row['average_jct_h']:9.3f} {row['p99_jct_h']:9.2f} "
          f"{row['makespan_h']:11.2f} {row['dollars']:11.2f} {row['dollars_per_job']:12.3f} {row['node_hours']:9.1f} "
          f"{row['restarts_per_job']:9.2f}", flush=True)
    if arguments.jsonl:
        with open(arguments.jsonl, "a", encoding="utf-8") as out:
            out.write(json.dumps({"setting": name, "worth": worth, "workload": arguments.workload,
                                  "load": arguments.load, **row}) + "\n")
    return row


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program")
    parser.add_argument("data")
    parser.add_argument("--workload", default="saturn/workload-1")
    parser.add_argument("--load", type=float, default=1)
    parser.add_argument("--worth", default="1,2,5,10,15,20,40")
    parser.add_argument("--times", type=int, default=4, help="limit of each type, in nodes of the fixed cluster")
    parser.add_argument("--spot", action="store_true")
    parser.add_argument("--jsonl", help="file to which every row is appended")
    arguments = parser.parse_args()
    times = arguments.times
    worths = [float(worth) for worth in arguments.worth.split(",")]
    print(f"{arguments.workload}, load {arguments.load:g}\n{HEAD}")
    if arguments.spot:
        settings = (("all on demand", offers(times)), ("all spot", offers(1, True)),
                    ("both", offers(times) + "," + offers(1, True)))
        for worth in worths:
            for name, offered in settings:
                show(arguments, name, f"{worth:g}", replay(arguments, "ours", offered, worth))
        return 0
    fixed = show(arguments, "fixed 64 GPUs", "", replay(arguments, "fixed", offers(1)))
    show(arguments, "Pollux's band", "", replay(arguments, "pollux", offers(times)))
    held = True
    for worth in worths:
        row = show(arguments, "ours", f"{worth:g}", replay(arguments, "ours", offers(times), worth))
        if worth == DEFAULT:
            held = row["average_jct_h"] <= fixed["average_jct_h"] and row["dollars"] <= fixed["dollars"] * 2 / 3
    print(f"no slower than the fixed cluster at two thirds of its cost, at worth {DEFAULT:g}: {'yes' if held else 'no'}")
    return 0 if held else 1


if __name__ == "__main__":
    sys.exit(main())
