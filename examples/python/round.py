#!/usr/bin/env python3
"""A round planned in Python: two nodes, two jobs, and what each of them gets."""

# [round]
import goodput

scheduler = goodput.Scheduler("goodput")
nodes = [{"name": "small-0", "gpu_type": "T4", "gpus": 4}, {"name": "big-0", "gpu_type": "A100", "gpus": 8}]
jobs = [{"name": "vision", "submitted_s": 0, "gpus": [1, 8], "restart_cost_s": 30,
         "batch": {"initial": 128, "max": 4096, "local": {"T4": [16, 128], "A100": [16, 512]},
                   "rate": {"T4": 420, "A100": 2600}},
         "gradient": {"sqr": 1.0, "var": 25.0}},
        {"name": "speech", "submitted_s": 20, "gpus": [1, 4], "team": "audio",
         "batch": {"initial": 64, "max": 512, "local": {"A100": [8, 64]}, "rate": {"A100": 300}}}]
for time_s in (60, 120):
    plan = scheduler.plan({"time_s": time_s, "nodes": nodes, "jobs": jobs, "teams": {"audio": {"gpus": 2}}})
    for job, given in zip(jobs, plan["plan"]):
        print(f"{time_s}: {given['name']} {given['starts']}, {given['nodes']}, batch {given['local_batch']}: {given['why']}")
        job["placement"] = {"nodes": given["nodes"]}
# [/round]
