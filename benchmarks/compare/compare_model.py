#!/usr/bin/env python3
"""Finds best batch plans of a job on twenty shapes, by this library and by the published search in numpy, in one run.

usage: compare_model.py MODEL_BENCHMARK        the program built from model_benchmark.cpp; needs numpy
"""
import json
import pathlib
import subprocess
import sys


def run(command):
    return json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    published = [sys.executable, str(pathlib.Path(__file__).with_name("published_goodput.py"))]
    ours = [sys.argv[1], "--benchmark_filter=best_plans", "--benchmark_format=json"]
    # CPU time, in turn, the fastest of each, because other work on the machine slows single runs down.
    numpy_runs, our_runs = [], []
    for _ in range(5):
        numpy_runs.append(run(published))
        our_runs.append({b["name"]: b for b in run(ours)["benchmarks"]})
    seconds = min(r["seconds"] for r in numpy_runs)
    print(f"published search, numpy   {seconds * 1e6:9.2f} us a job   goodput, summed over shapes {numpy_runs[0]['goodput']:.1f}")
    for name in ("best_plans_one_by_one", "best_plans_together"):
        time = min(r[name]["cpu_time"] for r in our_runs) * 1e-9
        print(f"{name:25s} {time * 1e6:9.2f} us a job   {seconds / time:6.1f} times as fast")
    goodput = our_runs[0]["best_plans_together"]["goodput"]
    print(f"goodput, summed over shapes {goodput:.1f}: {100 * (goodput / numpy_runs[0]['goodput'] - 1):+.2f} %")


if __name__ == "__main__":
    main()
