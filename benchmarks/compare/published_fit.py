#!/usr/bin/python3
"""Fits the seven throughput parameters as the released code of Pollux and Sia does, rewritten from its description:
objective, bounds, start, held parameters and tolerance; scipy's L-BFGS-B, exact gradient. Also has Sia's rule for a
GPU type that has only run on one GPU.

usage: published_fit.py PROFILES [--json]

PROFILES holds one folder an application with placements-TYPE.csv (columns placement, local_bsz or local_batch,
step_time, sync_time in any order). Prints for every application and GPU type
the root mean square error of the logarithm of computing and step time, and the parameters. The numbers of
tests/fit/throughput_test.cpp are those of the column `step`.
"""
import csv
import json
import pathlib
import sys

import numpy as np
from scipy.optimize import minimize

NAMES = ("alpha_c", "beta_c", "alpha_n", "beta_n", "alpha_r", "beta_r", "gamma")
START = np.array([0.1, 0.01, 0.1, 0.01, 0.1, 0.01, 1.001])
BOUND = 1e-8
# Applications whose replicas are pipelines of several GPUs, which placements do not show.
PIPELINES = ("gpt_pmp",)


def read_profile(path):
    """Returns columns nodes, replicas, batch, step, sync of a placements file."""
    rows = []
    with open(path, newline="") as file:
        reader = csv.DictReader(file)
        batch = "local_bsz" if "local_bsz" in reader.fieldnames else "local_batch"
        for row in reader:
            digits = [int(d) for d in row["placement"]]
            rows.append((len(digits), sum(digits), float(row[batch]), float(row["step_time"]),
                         float(row["sync_time"])))
    return np.array(rows)


def read_profiles(folder, without=PIPELINES):
    """Returns samples by application and GPU type, from all placements files in the folder."""
    profiles = {}
    for path in sorted(pathlib.Path(folder).glob("*/placements-*.csv")):
        if path.parent.name not in without:
            gpu_type = path.stem.removeprefix("placements-")
            profiles.setdefault(path.parent.name, {})[gpu_type] = read_profile(path)
    if not profiles:
        sys.exit(f"{folder}: no APPLICATION/placements-TYPE.csv")
    return profiles


def predict(parameters, nodes, replicas, batch):
    """Returns computing time, synchronising time and step time."""
    ac, bc, an, bn, ar, br, gamma = parameters
    further = np.maximum(replicas - 2, 1e-8)
    compute = ac + bc * batch
    sync = np.where(nodes > 1, an + bn * further,
                    np.where(replicas > 1, ar + br * further, BOUND + BOUND * further))
    return compute, sync, (compute**gamma + sync**gamma) ** (1 / gamma)


def objective(parameters, nodes, replicas, batch, log_compute, log_step):
    """Returns value and gradient."""
    ac, bc, an, bn, ar, br, gamma = parameters
    further = np.maximum(replicas - 2, 1e-8)
    network, inside = nodes > 1, (nodes == 1) & (replicas > 1)
    compute, sync, _ = predict(parameters, nodes, replicas, batch)
    log_c, log_w = np.log(compute), np.log(sync)
    high = np.maximum(log_c, log_w)
    power_c, power_w = np.exp(gamma * (log_c - high)), np.exp(gamma * (log_w - high))
    log_t = high + np.log(power_c + power_w) / gamma
    share_c, share_w = power_c / (power_c + power_w), power_w / (power_c + power_w)
    error_c, error_t = log_c - log_compute, log_t - log_step
    rms_c, rms_t = np.sqrt(np.mean(error_c**2)), np.sqrt(np.mean(error_t**2))
    count = len(batch)
    weight_c = error_c / (count * rms_c) if rms_c > 0 else 0 * error_c
    weight_t = error_t / (count * rms_t) if rms_t > 0 else 0 * error_t
    by_compute = (weight_c + weight_t * share_c) / compute
    by_sync = weight_t * share_w / sync
    by_gamma = weight_t * (share_c * log_c + share_w * log_w - log_t) / gamma
    value = rms_c + rms_t + 1e-3 * (gamma - 1) ** 2 + 1e-2 * ((bn / an) ** 2 + (br / ar) ** 2)
    gradient = np.array([
        by_compute.sum(), (by_compute * batch).sum(),
        by_sync[network].sum() - 2e-2 * bn**2 / an**3, (by_sync * further)[network].sum() + 2e-2 * bn / an**2,
        by_sync[inside].sum() - 2e-2 * br**2 / ar**3, (by_sync * further)[inside].sum() + 2e-2 * br / ar**2,
        by_gamma.sum() + 2e-3 * (gamma - 1)])
    return value, gradient


def fit(samples, tolerance=1e-5, exact_gradient=True):
    """Returns seven parameters from columns nodes, replicas, batch, step, sync. Without the exact gradient, scipy
    uses differences."""
    nodes, replicas, batch, step, sync = samples.T
    compute = step - sync
    start, low, high = START.copy(), np.full(7, BOUND), np.full(7, np.inf)
    low[6], high[6] = 1.0, 10.0

    def hold(index, value):
        start[index] = low[index] = high[index] = value

    if len(np.unique(batch)) == 1:
        hold(0, compute.mean() / 2)
    if not np.any(nodes > 1):
        hold(2, BOUND)
        hold(3, BOUND)
    if not np.any((nodes == 1) & (replicas > 1)):
        hold(4, BOUND)
        hold(5, BOUND)
    if not np.any(replicas > 2):
        hold(3, BOUND)
        hold(5, BOUND)
    measured = (nodes, replicas, batch, np.log(compute), np.log(step))
    minimised = objective if exact_gradient else lambda *point: objective(*point)[0]
    found = minimize(minimised, start, args=measured, jac=exact_gradient or None, method="L-BFGS-B",
                     bounds=list(zip(low, high)), options={"maxcor": 10, "ftol": tolerance, "gtol": tolerance})
    parameters = found.x
    if not np.any(nodes > 1):
        parameters[2] = max(parameters[2], 1.1 * parameters[4])
        parameters[3] = max(parameters[3], 1.1 * parameters[5])
    return parameters, found


def project(parameters, gpus_per_node, alone_there, alone_here, replicas, batch):
    """Step time, by Sia's rule, on a GPU type that has run on one GPU only: that of the type to which the
    parameters belong and whose nodes have so many GPUs, on as few nodes as hold the replicas, times how much
    faster one GPU is there. `alone_...`: samples of one GPU of either type; a GPU's speed is its largest batch
    over the time of its step."""

    def speed(alone):
        largest = alone[:, 2].max()
        return largest / alone[alone[:, 2] == largest, 3].mean()

    nodes = np.ceil(replicas / gpus_per_node)
    return predict(parameters, nodes, replicas, batch)[2] * speed(alone_there) / speed(alone_here)


def errors(parameters, samples):
    """Returns root mean square errors of the logarithm of computing and step time."""
    nodes, replicas, batch, step, sync = samples.T
    compute, _, predicted = predict(parameters, nodes, replicas, batch)
    return (np.sqrt(np.mean(np.log(compute / (step - sync)) ** 2)),
            np.sqrt(np.mean(np.log(predicted / step) ** 2)))


def main():
    table = {}
    for application, types in read_profiles(sys.argv[1]).items():
        for gpu_type, samples in types.items():
            parameters, found = fit(samples)
            compute, step = errors(parameters, samples)
            table[f"{application} {gpu_type}"] = dict(samples=len(samples), compute=compute, step=step,
                                                      iterations=found.nit, parameters=list(parameters))
    if "--json" in sys.argv:
        print(json.dumps(table, indent=1))
        return
    print(f"{'application':12} {'type':8} {'n':>5} {'compute':>9} {'step':>9} {'iter':>5}  parameters")
    for name, row in table.items():
        application, gpu_type = name.split()
        print(f"{application:12} {gpu_type:8} {row['samples']:5} {row['compute']:9.6f} {row['step']:9.6f} "
              f"{row['iterations']:5}  " + " ".join(f"{p:.4g}" for p in row["parameters"]))
    geometric = np.exp(np.mean([np.log(row["step"]) for row in table.values()]))
    print(f"geometric mean of step: {geometric:.6f}")


if __name__ == "__main__":
    main()
