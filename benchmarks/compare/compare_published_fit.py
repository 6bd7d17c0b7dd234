#!/usr/bin/python3
"""Compares PublishedFitter and scipy's L-BFGS-B on the published objective, in one run.

usage: compare_published_fit.py PROGRAM PROFILES [--jobs N] [--longest N] [--seed N]

PROGRAM is `published_fit_pipe`, whose source is next to this file.

Draws what jobs would measure from the profiles in PROFILES (published_fit.py): each starts on one GPU, grows to
more GPUs and nodes, and meets new batch sizes everywhere. Times of batches between measured ones are
interpolated. Every prefix of a history is fitted, as a job is fitted again after each new sample. Prints how
often the objectives at the stop agree, how much the predicted step times of the whole profile differ, and
times.

Where the method stops depends on rounding, more so with fewer samples (the objective has a kink at an exact fit).
`scipy again` shows how much: the same samples with times changed in the fifteenth digit. Times are the lesser of two
runs; scipy's include its objective in numpy.
"""
import argparse
import subprocess
import time

import numpy as np

import published_fit

NODES, GPUS, BATCH, STEP, SYNC = range(5)


def history(profile, random, longest):
    """Returns the samples of one job in the order in which it meets them; no (nodes, GPUs, batch) occurs twice."""
    shapes = [tuple(shape) for shape in np.unique(profile[:, [GPUS, NODES]], axis=0)]
    if shapes[0] != (1, 1):
        return np.empty((0, 5))
    shape, samples = shapes[0], {}
    while len(samples) < longest:
        rows = profile[(profile[:, GPUS] == shape[0]) & (profile[:, NODES] == shape[1])]
        rows = rows[np.argsort(rows[:, BATCH], kind="stable")]
        _, first = np.unique(rows[:, BATCH], return_index=True)
        rows = rows[first]
        for _ in range(random.integers(1, 5)):
            batch = float(np.round(np.exp(random.uniform(*np.log(rows[[0, -1], BATCH])))))
            samples.setdefault((shape[1], shape[0], batch), [
                shape[1], shape[0], batch, np.interp(batch, rows[:, BATCH], rows[:, STEP]),
                np.interp(batch, rows[:, BATCH], rows[:, SYNC])])
        near = [other for other in shapes if shape[0] / 2 <= other[0] <= 2 * shape[0] and other != shape]
        if not near or random.random() < 0.05:
            break
        # Like policies, prefers full nodes or single ones, and more GPUs to fewer.
        likely = [other[0] >= shape[0] and 2 * other[1] <= other[0] + 1 for other in near]
        near = [other for other, is_likely in zip(near, likely) if is_likely] or near
        shape = near[random.integers(len(near))]
    return np.array(list(samples.values())[:longest])


def run_ours(sets, program):
    """Returns parameters, objective, iterations, evaluations and microseconds of every set, one row each."""
    text = "\n".join(
        f"{len(samples)} " + " ".join(f"{int(n)} {int(k)} {int(b)} {t!r} {s!r}" for n, k, b, t, s in samples.tolist())
        for samples in sets)
    lines = subprocess.run([program], input=text, capture_output=True, text=True, check=True).stdout
    return np.array([[float(cell) for cell in line.split()] for line in lines.splitlines()])


def run_scipy(samples):
    """Returns the same from scipy. If its last line search failed, its own value of the objective belongs to a point
    that it did not keep."""
    begin = time.perf_counter()
    parameters, found = published_fit.fit(samples)
    microseconds = 1e6 * (time.perf_counter() - begin)
    nodes, gpus, batch, step, sync = samples.T
    value, _ = published_fit.objective(parameters, nodes, gpus, batch, np.log(step - sync), np.log(step))
    return np.array([*parameters, value, found.nit, found.nfev, microseconds])


def compare(title, first, second, profiles):
    """Compares two tables of fits, with the profile to predict for each fit."""
    objective = np.abs(second[:, 7] - first[:, 7])
    differences = []
    for row_first, row_second, profile in zip(first, second, profiles):
        asked = profile[:, [NODES, GPUS, BATCH]].T
        ratio = published_fit.predict(row_second[:7], *asked)[2] / published_fit.predict(row_first[:7], *asked)[2]
        differences.append(np.abs(ratio - 1))
    every = np.concatenate(differences)
    worst = np.array([difference.max() for difference in differences])
    print(f"{title:28} {len(first):6} {np.mean(objective <= 1e-6):9.4f} {np.mean(objective <= 1e-3):9.4f} "
          f"{np.mean(second[:, 7] - first[:, 7]):+10.2e} {np.median(every):10.2e} {np.quantile(every, 0.99):10.2e} "
          f"{np.mean(worst <= 1e-3):9.4f}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program")
    parser.add_argument("profiles")
    parser.add_argument("--jobs", type=int, default=10, help="jobs of each application on each GPU type (default: 10)")
    parser.add_argument("--longest", type=int, default=25, help="samples in the longest history (default: 25)")
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()

    random = np.random.default_rng(arguments.seed)
    sets, profiles = [], []
    for types in published_fit.read_profiles(arguments.profiles).values():
        for profile in types.values():
            for _ in range(arguments.jobs):
                whole = history(profile, random, arguments.longest)
                sets.extend(whole[:count] for count in range(1, len(whole) + 1))
                profiles.extend([profile] * len(whole))
    ours = run_ours(sets, arguments.program)
    scipy = np.array([run_scipy(samples) for samples in sets])
    again = []
    for samples in sets:
        changed = samples.copy()
        changed[:, [STEP, SYNC]] *= 1 + 1e-15 * random.integers(-1, 2, size=(len(samples), 2))
        again.append(run_scipy(changed))
    again = np.array(again)

    print(f"{'':28} {'fits':>6} {'objectives within':>19} {'mean':>10} {'step times, relative':>21} {'worst':>9}\n"
          f"{'samples':28} {'':6} {'1e-6':>9} {'1e-3':>9} {'difference':>10} {'median':>10} {'99 %':>10} {'<= 1e-3':>9}")
    counts = np.array([len(samples) for samples in sets])
    for low, high in ((1, 1), (2, 4), (5, 9), (10, 10**9), (1, 10**9)):
        chosen = np.flatnonzero((low <= counts) & (counts <= high))
        if len(chosen) == 0:
            continue
        name = f"{low}" if low == high else f"{low} and more" if high == 10**9 else f"{low} to {high}"
        asked = [profiles[i] for i in chosen]
        compare(f"{name}, ours", scipy[chosen], ours[chosen], asked)
        compare(f"{name}, scipy again", scipy[chosen], again[chosen], asked)
    for low, high in ((1, 4), (5, 14), (15, 25)):
        chosen = (low <= counts) & (counts <= high)
        if np.any(chosen):
            mine, theirs = ours[chosen, 10], np.minimum(scipy, again)[chosen, 10]
            print(f"time, {low} to {high} samples: median {np.median(mine):.1f} us, scipy {np.median(theirs):.0f} us, "
                  f"ratio {np.median(theirs / mine):.0f}; evaluations {np.median(ours[chosen, 9]):.0f}, "
                  f"99 % {np.quantile(ours[chosen, 9], 0.99):.0f}; ours, 99 % {np.quantile(mine, 0.99):.1f} us")


if __name__ == "__main__":
    main()
