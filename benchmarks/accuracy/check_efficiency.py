#!/usr/bin/env python3
"""Tests whether the noise that an agent measures with a small batch predicts how many more examples larger batches
need.

usage: GOODPUT_LIBRARY=... PYTHONPATH=python check_efficiency.py DATA/h100 [--kind gpt] [--targets 1.6,1.1]
           [--parameters 7600000]

Reads recorded trainings at several batch sizes (efficiency_curves.csv) and the norms of their gradients
(efficiency_noise.csv). For each batch, the best of all recorded rates counts. The efficiency of a batch is the number
of examples to the target loss at the smallest batch divided by that number at this batch. An agent gets the norms of
the small-batch run step by step, and is asked for its noise scale when that run reaches the target, with norms in
Adam's metric and with plain ones. Also prints what averages over the whole run so far would give. Exits with 1 if an
agent with Adam's metric is more than 20 % off.
"""
import argparse
import collections
import csv
import math
import pathlib
import sys

import goodput


def runs_of(path, fields, kind):
    """Returns the rows of each run by (batch, rate, rule, seed), as numbers."""
    runs = collections.defaultdict(list)
    with open(path, encoding="utf-8") as file:
        for row in csv.DictReader(file):
            if row["kind"] == kind:
                key = int(row["batch"]), row["lr"], row["rule"], row["seed"]
                runs[key].append([float(row[field]) for field in fields])
    return runs


def examples_to(target, curve):
    """Returns the number of examples at which a loss is first reached, interpolated between evaluations."""
    for (before, loss_before), (after, loss) in zip(curve, curve[1:]):
        if loss <= target:
            return before + (loss_before - target) / (loss_before - loss) * (after - before)
    return math.inf


def measured_noise(norms, batch, until, parameters, adam):
    """Returns the agent's noise scale in examples after `until` examples, and the one from plain means over all of
    it."""
    agent = goodput.Agent(parameters=parameters, initial_batch=batch, max_batch=batch, optimizer="adam" if adam else "sgd",
                          measure_every=int(norms[1][0] - norms[0][0]))
    agent.hold("gpu", 2)
    step, squares, variances = 0, 0.0, 0.0
    for at, examples, count, *numbers in norms:
        if examples > until:
            break
        large, small = numbers[2:] if adam else numbers[:2]
        while step < at:
            agent.begin_step(step, adam_updates=step)
            agent.end_step(step + 0.5)
            step += 1
        agent.begin_step(step, adam_updates=step)
        if math.isfinite(large):
            agent.end_step_norms([{"mean_of_squares": large, "square_of_mean": small, "count": count, "scale": 1}], step + 0.5)
            squares += (count * small - large) / (count - 1)
            variances += (large - small) * batch / (count - 1)
        else:
            agent.drop_step()
        step += 1
    return agent.state.noise_scale, variances / squares


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("data", type=pathlib.Path)
    parser.add_argument("--kind", default="gpt")
    parser.add_argument("--targets", default="1.6,1.1")
    parser.add_argument("--parameters", type=int, default=7_600_000)
    arguments = parser.parse_args()
    curves = runs_of(arguments.data / "efficiency_curves.csv", ("examples", "loss"), arguments.kind)
    noise = runs_of(arguments.data / "efficiency_noise.csv", ("step", "examples", "n", "L", "T", "L_adam", "T_adam"),
                    arguments.kind)
    batches = sorted({key[0] for key in curves})
    small, worst = batches[0], 0.0
    print("target  batch  measured  Adam's metric       all so far   plain norms      noise scales")
    for target in map(float, arguments.targets.split(",")):
        best = {batch: min((examples_to(target, curve), key) for key, curve in curves.items() if key[0] == batch)
                for batch in batches}
        until, run = best[small]
        if not math.isfinite(until):
            print(f"{target:6.2f}  is never reached at batch {small}")
            continue
        adam, all_so_far = measured_noise(noise[run], small, until, arguments.parameters, True)
        plain, _ = measured_noise(noise[run], small, until, arguments.parameters, False)
        for batch in batches[1:]:
            if not math.isfinite(best[batch][0]):
                continue
            truth = until / best[batch][0]
            said = [(scale + small) / (scale + batch) for scale in (adam, all_so_far, plain)]
            errors = [100 * (each / truth - 1) for each in said]
            worst = max(worst, abs(errors[0]))
            print(f"{target:6.2f}  {batch:5}  {truth:8.3f}  " +
                  "  ".join(f"{each:6.3f} ({error:+4.0f} %)" for each, error in zip(said, errors)) +
                  f"   {adam:4.0f}, {plain:4.0f}")
    print(f"worst in Adam's metric: {worst:.0f} %")
    return 0 if worst <= 20 else 1


if __name__ == "__main__":
    sys.exit(main())
