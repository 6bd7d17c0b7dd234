#!/usr/bin/env python3
"""The published batch search in numpy: fifty total batch sizes for each shape, all shapes of a job at once.

Written for comparison, from the formulas that AdaptDL, Pollux and Sia share. compare_model.py runs it with
model_benchmark. Prints one line of JSON: CPU seconds per job (all its shapes), and the mean over jobs of the sum of its
valid goodputs.
"""
import json
import sys
import time

import numpy

GRID = 50
# initial batch, largest batch, atomic least, atomic most, typical seconds of computing: constant, per example.
# model_benchmark.cpp has the same table and the same random numbers.
APPLICATIONS = [
    (12, 384, 4, 12, 0.05, 0.06),
    (128, 4096, 32, 1024, 0.02, 0.0005),
    (20, 640, 10, 80, 0.1, 0.03),
    (200, 12800, 20, 200, 0.02, 0.005),
    (8, 512, 4, 16, 0.1, 0.03),
]
SHAPES = [(1, 1), (1, 2), (1, 4)] + [(n, 4 * n) for n in range(2, 19)]


class Random:
    """Sixty-four bits of a linear congruential generator. The upper 53 bits make a number in [0, 1)."""

    def __init__(self, seed):
        self.state = seed

    def unit(self):
        self.state = (self.state * 6364136223846793005 + 1442695040888963407) % 2**64
        return (self.state >> 11) * 2.0**-53

    def log_between(self, low, high):
        return low * (high / low) ** self.unit()


def jobs(count):
    random = Random(1)
    for index in range(count):
        initial, most, atomic_least, atomic_most, constant, per_example = APPLICATIONS[index % len(APPLICATIONS)]
        yield {
            "limits": (initial, most, atomic_least, atomic_most),
            "alpha_c": constant * random.log_between(0.3, 3),
            "beta_c": per_example * random.log_between(0.3, 3),
            "alpha_n": random.log_between(0.005, 0.3),
            "beta_n": random.log_between(1e-5, 1e-2),
            "alpha_r": random.log_between(0.002, 0.05),
            "beta_r": random.log_between(1e-5, 5e-3),
            "gamma": random.log_between(1, 10),
            "variance": random.log_between(0.5, 1000),
        }


def best_goodputs(job, nodes, replicas, only_legal=False):
    """Returns the best goodput of every shape: arrays of nodes and replicas in, an array of goodputs out.

    Rounding up can exceed the largest batch. The published search does not check this; `only_legal` does.
    """
    initial, most, atomic_least, atomic_most = job["limits"]
    first = numpy.maximum(initial, atomic_least * replicas)
    total = numpy.geomspace(first, most, num=GRID)
    load = total / replicas
    steps = numpy.maximum(numpy.ceil(load / atomic_most - 1e-8) - 1, 0)
    steps = numpy.where((replicas == 1) & (load > initial + 1e-8), numpy.maximum(steps, 1), steps)
    atomic = numpy.ceil(load / (steps + 1) - 1e-8)

    compute = job["alpha_c"] + job["beta_c"] * atomic
    further = numpy.maximum(replicas - 2, 0)
    network = job["alpha_n"] + job["beta_n"] * further
    inside = job["alpha_r"] + job["beta_r"] * further
    sync = numpy.where(nodes > 1, network, numpy.where(replicas > 1, inside, 0))
    gamma = job["gamma"]
    seconds = steps * compute + (compute**gamma + sync**gamma) ** (1 / gamma)

    used = replicas * atomic * (steps + 1)
    variance, squared_norm = job["variance"], 1.0
    gain = (variance + squared_norm) / (variance * initial / used + squared_norm)
    goodput = used / seconds * gain * initial / used
    legal = (atomic >= atomic_least) & (atomic <= atomic_most)
    if only_legal:
        legal &= (used >= initial) & (used <= most)
    goodput = numpy.where(legal, goodput, 0)
    best = numpy.argmax(goodput, axis=0)
    return goodput[best, numpy.arange(len(replicas))]


def main():
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 1000
    nodes = numpy.array([n for n, _ in SHAPES])
    replicas = numpy.array([k for _, k in SHAPES])
    cases = list(jobs(count))
    fastest = float("inf")
    for _ in range(5):
        start = time.process_time()
        for job in cases:
            best_goodputs(job, nodes, replicas)
        fastest = min(fastest, (time.process_time() - start) / count)
    total = sum(float(best_goodputs(job, nodes, replicas, only_legal=True).sum()) for job in cases)
    print(json.dumps({"seconds": fastest, "goodput": total / count}))


if __name__ == "__main__":
    main()
