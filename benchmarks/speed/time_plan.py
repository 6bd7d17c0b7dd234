#!/usr/bin/env python3
"""Times rounds of 20 jobs on 64 GPUs through `goodput plan`: jobs come and go, and every running job reports a measurement a round.

usage: time_plan.py PROGRAM [ROUNDS [OPTION OF goodput plan ...]]
"""
import json
import math
import random
import subprocess
import sys

TYPES = {"T4": (6, 4, 1.0), "A100": (2, 8, 5.0), "2080Ti": (3, 8, 2.0)}  # nodes, GPUs a node, speed
JOBS = 20


def sample(job, gpu_type, nodes, gpus, batch, accumulation):
    compute = (job["constant"] + job["per_example"] * batch) / TYPES[gpu_type][2]
    sync = 0.0 if gpus == 1 else job["network" if nodes > 1 else "within"] * (1 + 0.1 * (gpus - 2))
    step = math.hypot(compute, sync)
    noise = math.exp(random.gauss(0, 0.02))
    return {"gpu_type": gpu_type, "nodes": nodes, "gpus": gpus, "local_batch": batch, "accumulation": accumulation,
            "step_s": step * noise, "sync_s": (step - compute) * noise}


def new_job(time):
    return {"constant": random.uniform(0.02, 0.2), "per_example": random.uniform(0.0005, 0.005),
            "network": random.uniform(0.05, 0.4), "within": random.uniform(0.01, 0.1), "variance": random.uniform(0.5, 20),
            "submitted": time, "restarts": 0, "held": None, "profiled": False}


def line_of(name, job):
    samples = []
    if not job["profiled"]:
        job["profiled"] = True
        samples = [sample(job, gpu_type, 1, 1, batch, 0) for gpu_type in TYPES for batch in (32, 64, 128)]
    held = job["held"]
    if held:
        gpus = sum(gpus for _, gpus in held["nodes"])
        samples.append(sample(job, held["gpu_type"], len(held["nodes"]), gpus, held["local_batch"], held["accumulation"]))
    return {"name": name, "submitted_s": job["submitted"], "restarts": job["restarts"], "restart_cost_s": 30, "attained_gpu_s": 0,
            "gpus": [1, 64], "adapt": "batch", "batch": {"initial": 128, "max": 4096, "local": {t: [16, 512] for t in TYPES}},
            "gradient": {"sqr": 1, "var": job["variance"]}, "samples": samples, "preemptible": True,
            "placement": {"nodes": held["nodes"]} if held else None}


def main():
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    rounds = int(sys.argv[2]) if len(sys.argv) > 2 else 300
    random.seed(5)
    nodes = [{"name": f"{t}-{i}", "gpu_type": t, "gpus": gpus} for t, (count, gpus, _) in TYPES.items() for i in range(count)]
    program = subprocess.Popen([sys.argv[1], "plan", *sys.argv[3:]], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    jobs, arrived, times = {}, 0, []
    for time in range(60, 60 * rounds + 60, 60):
        for name in [name for name in jobs if random.random() < 0.03]:
            del jobs[name]
        while len(jobs) < JOBS:
            arrived += 1
            jobs[f"job-{arrived}"] = new_job(time - 60 * random.random())
        document = {"time_s": time, "nodes": nodes, "jobs": [line_of(name, job) for name, job in jobs.items()]}
        program.stdin.write(json.dumps(document) + "\n")
        program.stdin.flush()
        answer = json.loads(program.stdout.readline())
        if "error" in answer:
            sys.exit(answer["error"])
        times.append(answer["milliseconds"])
        for given in answer["plan"]:
            job, held = jobs[given["name"]], jobs[given["name"]]["held"]
            given = given if given["nodes"] else None
            if held and given and sorted(held["nodes"]) != sorted(given["nodes"]):
                job["restarts"] += 1
            job["held"] = given
    program.stdin.close()
    program.wait()
    print(f"{rounds} rounds of {JOBS} jobs on 64 GPUs, milliseconds")
    print(f"{'step':8} {'median':>8} {'99 %':>8}")
    for step in (*times[0], "all"):
        values = sorted(sum(t.values()) if step == "all" else t[step] for t in times)
        print(f"{step:8} {values[len(values) // 2]:8.3f} {values[len(values) * 99 // 100]:8.3f}")


main()
