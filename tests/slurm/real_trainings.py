#!/usr/bin/env python3
"""Runs real and simulated trainings together on a small Slurm cluster on this machine, under the controller of
examples/slurm. Jobs come one after the other, so that others must shrink. A node with real trainings loses power and
comes back.

    real_trainings.py EXAMPLES_SLURM_FOLDER CONTROLLER TRAINING_STAND_IN GOODPUT_TRAINING [--folder SCRATCH] [--port 17300]

Fails unless every job completes once; a stopped training continues at the step at which it was stopped, and a killed
one at its last checkpoint; all of them learn; and the controller has read their reports. Takes two to four minutes.
"""
import argparse
import collections
import csv
import os
import re
import signal
import subprocess
import sys
import tempfile
import time

from elastic_cluster import LIMITS, Checks, Cluster, held, read_lines

NODES = ["small:2:t4:2", "big:1:a100:4"]
STEPS, CHECKPOINT_EVERY, PAUSE_MS = 2000, 50, 15
REAL = "goodput gpus=1-4 batch=8-512 local=t4:1-256,a100:1-256"
CRASH_AT, GIVE_UP_AT = 30, 400
# Slurm asks a returned node for the jobs that it should run, but only for jobs started twenty seconds before. It
# asks again only five minutes later.
AWAY = 25


def starts_of(cluster, job):
    """Returns (step, processes) of each start, from the training's output."""
    path = os.path.join(cluster.work, f"slurm-{job}.out")
    if not os.path.exists(path):
        return []
    with open(path, encoding="utf-8") as file:
        return [(int(step), int(processes)) for step, processes in
                re.findall(r"^starts at step (\d+) on (\d+) process", file.read(), re.M)]


def logged(cluster, job):
    """Returns the log's evaluations in the order in which they were written."""
    path = os.path.join(cluster.work, f"train-{job}.csv")
    if not os.path.exists(path):
        return []
    with open(path, encoding="utf-8") as file:
        whole = [line for line in file if line.endswith("\n")]
    return [{name: float(row[name]) for name in ("step", "batch", "loss", "accuracy")} for row in csv.DictReader(whole)]


def check_training(checks, job, rows, starts, reached):
    """Returns how many steps were done twice, at least. `reached`: the furthest step seen between successive starts."""
    again = 0
    for number, (start, _) in enumerate(starts[1:]):
        before = reached.get(number + 1, 0)
        checks.require(start >= before // CHECKPOINT_EVERY * CHECKPOINT_EVERY,
                       f"job {job} had reached step {before}, but went on from {start}")
        again += max(before - start, 0)
    checks.require(rows[-1]["step"] <= STEPS and rows[-1]["accuracy"] > 0.9 and rows[-1]["loss"] < 0.3 * rows[0]["loss"],
                   f"job {job} has not learnt: {rows[-1]}")
    return again


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name in ("scripts", "controller", "stand_in", "training"):
        parser.add_argument(name)
    parser.add_argument("--folder", help="scratch folder to keep; default: a temporary one, kept if a check fails")
    parser.add_argument("--port", type=int, default=17300)
    options = parser.parse_args()
    controller, stand_in, training = (os.path.abspath(path) for path in (options.controller, options.stand_in, options.training))
    folder = options.folder or tempfile.mkdtemp(prefix="goodput-slurm-")
    script, batch, real = (os.path.join(os.path.abspath(options.scripts), name)
                           for name in ("cluster.sh", "train.sh", "train_real.sh"))
    checks, cluster, running = Checks(), None, None
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    crashed, reached = [], collections.defaultdict(dict)
    try:
        log = os.path.join(folder, "plans.log")
        cluster = Cluster(script, os.path.join(folder, "cluster"), options.port, nodes=NODES)
        running = subprocess.Popen([controller, "--interval", "5", "--poll", "1", "--restart", "6", "--log", log],
                                   env=cluster.environment, cwd=folder)
        trained, begin = [], time.time()

        def submit_real(seed):
            cluster.submit("--hold", "--gres=gpu:1", "--comment", REAL, batch, real, training, "--network", "cnn", "--seed",
                           str(seed), "--most-steps", str(STEPS), "--checkpoint-every", str(CHECKPOINT_EVERY), "--pause-ms",
                           str(PAUSE_MS), "--evaluate-every", "200")
            trained.append(list(cluster.submitted)[-1])

        def submit_played():
            cluster.submit("--hold", "--gres=gpu:1", "--comment", f"goodput gpus=1-4 {LIMITS['speech']}", batch, stand_in,
                           "speech", "4000")

        def crash():
            """Crashes the node on which most real trainings have their processes."""
            while (jobs := cluster.jobs()) is None:
                time.sleep(0.5)
            first = [min(node for node, _, _ in held(job)) for number, job in jobs.items()
                     if number in trained and job["job_state"] == "RUNNING" and held(job)]
            checks.require(bool(first), "no real training runs when a node should crash")
            crashed.append(max(sorted(set(first)), key=first.count) if first else "small0")
            cluster.call("crash", crashed[0])
            todo.append((time.time() - begin + AWAY, lambda: cluster.call("boot", crashed[0])))

        todo = [(0, lambda: submit_real(1)), (1, submit_played), (8, lambda: submit_real(2)), (9, submit_played),
                (16, lambda: submit_real(3)), (CRASH_AT, crash)]
        while time.time() < begin + GIVE_UP_AT:
            while todo and time.time() >= begin + todo[0][0]:
                todo.pop(0)[1]()
            checks.look(cluster, "cluster", False)
            for job in trained:
                rows, starts = logged(cluster, job), len(starts_of(cluster, job))
                if rows:
                    reached[job][starts] = rows[-1]["step"]
            if not todo and cluster.all_completed():
                break
            time.sleep(0.5)
        running.terminate()
        checks.require(running.wait(timeout=10) == 0, "the controller does not end when it is asked to")
        checks.completions(cluster, "cluster", False)
        for job in trained:
            rows, starts = logged(cluster, job), starts_of(cluster, job)
            again = check_training(checks, job, rows, starts, reached[job])
            print(f"real training {job}: started on {', '.join(f'{on} from step {step}' for step, on in starts)} processes; "
                  f"at least {again:.0f} steps twice; batch {rows[0]['batch']:.0f} to {rows[-1]['batch']:.0f}, accuracy "
                  f"{rows[-1]['accuracy']:.3f}", flush=True)
        checks.require(sum(len(starts_of(cluster, job)) for job in trained) > len(trained), "no real training was restarted")
        rounds = [entry for entry in read_lines(log) if "goals" in entry]
        checks.require(rounds and not any(entry.get("refused") for entry in rounds), "the controller refused a job or its reports")
        print(f"{len(cluster.submitted)} jobs, all done after {time.time() - begin:.0f} s; node {crashed} crashed")
    finally:
        if running and running.poll() is None:
            running.kill()
        if cluster:
            cluster.call("stop")
    return checks.status(folder, bool(options.folder))


if __name__ == "__main__":
    sys.exit(main())
