#!/usr/bin/env python3
"""A scheduler that asks `goodput plan` through a pipe: a line in, a line out, round after round.

usage: plan_pipe.py [PROGRAM], which by default is goodput in PATH
"""
import json
import subprocess
import sys

nodes = [{"name": "small-0", "gpu_type": "T4", "gpus": 4}, {"name": "big-0", "gpu_type": "A100", "gpus": 8}]
jobs = [{"name": name, "submitted_s": 0, "restart_cost_s": 30, "gpus": [1, 8],
         "gradient": {"sqr": 1.0, "var": 25.0},
         "batch": {"initial": 128, "max": 4096, "local": {"T4": [16, 128], "A100": [16, 512]},
                   "rate": {"T4": 420, "A100": 2600}}} for name in ("vision", "speech")]
program = sys.argv[1] if len(sys.argv) > 1 else "goodput"
# [loop]
goodput = subprocess.Popen([program, "plan", "--policy", "goodput"],
                           stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
for time_s in (60, 120):
    print(json.dumps({"time_s": time_s, "nodes": nodes, "jobs": jobs}), file=goodput.stdin, flush=True)
    answer = json.loads(goodput.stdout.readline())
    for job, decision in zip(jobs, answer["plan"]):
        print(time_s, decision["name"], decision["starts"], decision["nodes"], decision["local_batch"])
        job["placement"] = {"nodes": decision["nodes"]}  # start, move or stop the job here
# [/loop]
