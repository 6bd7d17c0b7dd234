#!/usr/bin/env python3
"""Runs a sweep of replays as a job array on a Slurm cluster of three nodes, all on this machine. The sweep is cancelled
halfway and the rest submitted again. The table must equal that of the same sweep on one machine without Slurm.

    sweep_cluster.py CLUSTER_SCRIPT SWEEP PROGRAM [--folder SCRATCH] [--port 17300]

Needs the Debian packages slurmctld slurmd slurm-client munge.
"""
import argparse
import csv
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

SPEC = {"policies": ["goodput", "las", "fifo"], "loads": [0.5, 1, 2], "seeds": [1, 2],
        "clusters": {"small": "aws:4x4,rtx:3x8"}}
REPLAYS = 18


def timeless(file):
    with open(file, newline="") as lines:
        return [{name: value for name, value in row.items() if "_ms" not in name and name != "policy_s"}
                for row in csv.DictReader(lines)]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("cluster")
    parser.add_argument("sweep")
    parser.add_argument("program")
    parser.add_argument("--folder")
    parser.add_argument("--port", type=int, default=17300)
    arguments = parser.parse_args()
    folder = Path(arguments.folder or tempfile.mkdtemp(prefix="goodput-sweep-"))
    cluster, out = folder / "cluster", folder / "out"
    folder.mkdir(parents=True, exist_ok=True)
    spec = folder / "spec.json"
    spec.write_text(json.dumps(SPEC))
    environment = dict(os.environ)
    # While there is a file "slow", every replay takes a second longer, so that an array can be cancelled halfway.
    slow, program = folder / "slow", folder / "program.sh"
    program.write_text(f'#!/bin/sh\n[ -e "{slow}" ] && sleep 1\nexec "{Path(arguments.program).resolve()}" "$@"\n')
    program.chmod(0o755)
    slow.touch()

    def sweep(*options):
        command = [sys.executable, arguments.sweep, *map(str, options)]
        if options[0] != "merge":
            command += ["--program", str(program)]
        ran = subprocess.run(command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        print(ran.stdout, end="", flush=True)
        assert ran.returncode == 0, f"{options}: {ran.returncode}"
        return ran.stdout

    def done():
        return len(list((out / "cells").glob("*.json")))

    def wait_until(holds, what, seconds=90):
        end = time.time() + seconds
        while not holds():
            assert time.time() < end, f"{what}: not within {seconds} s; {done()} replays done"
            time.sleep(0.2)

    def queued():
        return subprocess.run(["squeue", "--noheader"], env=environment, stdout=subprocess.PIPE, text=True).stdout.split()

    subprocess.run([arguments.cluster, "start", cluster, str(arguments.port), "cpu:3:t4:1"], check=True)
    try:
        with open(cluster / "environment") as file:
            for line in file:
                name, value = line.removeprefix("export ").strip().split("=", 1)
                environment[name] = value
    
        assert "18 of 18 replays in 6 tasks" in sweep("submit", spec, "--out", out, "--tasks", 6)
        wait_until(lambda: done() >= 3, "the first replays")
        subprocess.run(["scancel", "--name=goodput-sweep"], env=environment, check=True)
        wait_until(lambda: not queued(), "an array that was cancelled ends")
        first = done()
        slow.unlink()
        assert first < REPLAYS, "the array ended before it could be cancelled"
        assert f"{REPLAYS - first} of {REPLAYS} replays" in sweep("submit", spec, "--out", out, "--tasks", 6)
        wait_until(lambda: done() == REPLAYS, "all replays")
        wait_until(lambda: not queued(), "the array ends")
        assert "every replay is done" in sweep("submit", spec, "--out", out)
    finally:
        subprocess.run([arguments.cluster, "stop", cluster], check=False)
    sweep("merge", out)
    alone = folder / "alone"
    sweep("run", spec, "--out", alone)
    sweep("merge", alone)
    assert timeless(out / "results.csv") == timeless(alone / "results.csv"), "the cluster's table differs"
    print(f"{REPLAYS} replays on the cluster, {first} of them before it was cancelled: the table of one machine")
    if not arguments.folder:
        shutil.rmtree(folder)


main()
