#!/usr/bin/python3
"""Measures the step times that `goodput fit` predicts, next to the published fit and to Sia's projection rule
(published_fit.py), on the same measurements. Exits 1 if a target is missed.

usage: check_fit.py PROGRAM PROFILES [--known TYPE] [--nodes N] [--gpus N] [--draws N] [--seed N]

PROGRAM is `goodput`; PROFILES holds one folder an application with placements-TYPE.csv, of whatever types.
Errors are root mean squares of ln(predicted / measured step time). Pipelines are left out.

fitted     All samples of an application on a GPU type are fitted, and predicted.
left out   For every shape (nodes, GPUs) in turn, its samples are left out of the fit, and predicted.
borrowed   Known are the samples on one GPU of every type, and of TYPE (--known) those up to so many nodes and
           GPUs; predicted are those of the other types on several GPUs.
spoilt     A tenth of the samples, drawn at random, take three times as long: how far do predictions move?
"""
import argparse
import json
import subprocess
import sys

import numpy as np

import published_fit

NODES, GPUS, BATCH, STEP, SYNC = range(5)


class Program:
    """`goodput fit`, asked line by line."""

    def __init__(self, path):
        self.process = subprocess.Popen([path, "fit"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def predict(self, samples, asked):
        """Returns predictions for `asked` by GPU type, after samples by GPU type: by type, one line per row, the
        median step time and the ends of the central 90 %."""
        line = {"samples": [self.configuration(gpu_type, row) | {"step_s": row[STEP], "sync_s": row[SYNC]}
                            for gpu_type, rows in samples.items() for row in rows.tolist()],
                "predict": [self.configuration(gpu_type, row)
                            for gpu_type, rows in asked.items() for row in rows.tolist()]}
        self.process.stdin.write(json.dumps(line) + "\n")
        self.process.stdin.flush()
        answer = json.loads(self.process.stdout.readline())
        if "error" in answer:
            sys.exit(f"the program answered: {answer['error']}")
        predictions = iter(answer["predictions"])
        return {gpu_type: np.array([[p["iteration_s"], p["low_s"], p["high_s"]]
                                    for p in (next(predictions) for _ in rows)]) for gpu_type, rows in asked.items()}

    @staticmethod
    def configuration(gpu_type, row):
        return {"gpu_type": gpu_type, "nodes": int(row[NODES]), "gpus": int(row[GPUS]),
                "local_batch": int(row[BATCH]), "accumulation": 0}


def published(samples, asked):
    parameters, _ = published_fit.fit(samples)
    return published_fit.predict(parameters, *asked[:, [NODES, GPUS, BATCH]].T)[2]


def error(predicted, asked):
    return np.sqrt(np.mean(np.log(predicted / asked[:, STEP]) ** 2))


def geometric_mean(values):
    return np.exp(np.mean(np.log(values)))


def distinct(samples, columns):
    return np.unique(samples[:, columns], axis=0)


class Table:
    """Prints rows as they come."""

    def __init__(self, title, columns):
        print(f"\n{title}\n{'application':12} {'type':9} {'samples':>8}"
              + "".join(f" {column:>10}" for column in columns))

    @staticmethod
    def row(application, gpu_type, count, values):
        print(f"{application:12} {gpu_type:9} {count:8}"
              + "".join(f" {value:10.4g}" for value in values), flush=True)


class Targets:
    def __init__(self):
        self.missed = 0

    def check(self, name, value, least, most):
        met = least <= value <= most
        self.missed += not met
        within = f"at most {most:g}" if least == -np.inf else f"{least:g} to {most:g}"
        print(f"  {name}: {value:.4g} (target: {within}) {'ok' if met else 'MISSED'}")


def check_fitted(program, profiles, targets):
    table = Table("fitted: error of the step time", ["published", "goodput", "ratio"])
    ratios = []
    for application, types in profiles.items():
        for gpu_type, samples in types.items():
            theirs = error(published(samples, samples), samples)
            ours = error(program.predict({gpu_type: samples}, {gpu_type: samples})[gpu_type][:, 0], samples)
            ratios.append(ours / theirs)
            table.row(application, gpu_type, len(samples), [theirs, ours, ratios[-1]])
    targets.check("ratio, geometric mean", geometric_mean(ratios), -np.inf, 0.5)
    targets.check("ratio, worst", max(ratios), -np.inf, 1)


def check_left_out(program, profiles, targets):
    table = Table("left out: error of the step time of a shape that was not fitted",
                  ["published", "goodput", "ratio", "held", "width"])
    ratios, held = [], []
    for application, types in profiles.items():
        for gpu_type, samples in types.items():
            theirs, ours, asked = [], [], []
            for shape in distinct(samples, [NODES, GPUS]):
                out = np.all(samples[:, [NODES, GPUS]] == shape, axis=1)
                if np.all(out):
                    continue
                theirs.append(published(samples[~out], samples[out]))
                ours.append(program.predict({gpu_type: samples[~out]}, {gpu_type: samples[out]})[gpu_type])
                asked.append(samples[out])
            if not asked:
                continue
            theirs, ours, asked = np.concatenate(theirs), np.concatenate(ours), np.concatenate(asked)
            their_error, our_error = error(theirs, asked), error(ours[:, 0], asked)
            ratios.append(our_error / their_error)
            held.append((ours[:, 1] <= asked[:, STEP]) & (asked[:, STEP] <= ours[:, 2]))
            table.row(application, gpu_type, len(asked),
                      [their_error, our_error, ratios[-1], held[-1].mean(), geometric_mean(ours[:, 2] / ours[:, 1])])
    print(f"  ratio, geometric mean: {geometric_mean(ratios):.4g}; worst: {max(ratios):.4g}")
    print(f"  truths within the central 90 %: {np.concatenate(held).mean():.4g}")


def check_borrowed(program, profiles, targets, known, nodes, gpus):
    table = Table(f"borrowed: error of the step time on several GPUs of types that ran on one; known: {known} up to "
                  f"{nodes} nodes and {gpus} GPUs", ["Sia's rule", "goodput", "ratio", "held", "width"])
    ratios, held = [], []
    for application, types in profiles.items():
        alone = {gpu_type: samples[samples[:, GPUS] == 1] for gpu_type, samples in types.items()}
        if known not in types:
            print(f"{application:12} no measurements on {known}")
            continue
        of_known = types[known]
        small = of_known[(of_known[:, NODES] <= nodes) & (of_known[:, GPUS] <= gpus)]
        gpus_per_node = of_known[of_known[:, NODES] == 1, GPUS].max()
        asked = {gpu_type: samples[samples[:, GPUS] > 1] for gpu_type, samples in types.items()
                 if gpu_type != known and len(alone[gpu_type]) > 0 and np.any(samples[:, GPUS] > 1)}
        if len(small) == 0 or len(alone[known]) == 0 or not asked:
            print(f"{application:12} nothing to ask or to ask from")
            continue
        parameters, _ = published_fit.fit(small)
        predictions = program.predict({known: small} | {t: alone[t] for t in asked}, asked)
        for gpu_type, truth in asked.items():
            theirs = published_fit.project(parameters, gpus_per_node, alone[known], alone[gpu_type],
                                           *truth[:, [GPUS, BATCH]].T)
            ours = predictions[gpu_type]
            their_error, our_error = error(theirs, truth), error(ours[:, 0], truth)
            ratios.append(our_error / their_error)
            held.append((ours[:, 1] <= truth[:, STEP]) & (truth[:, STEP] <= ours[:, 2]))
            table.row(application, gpu_type, len(truth),
                      [their_error, our_error, ratios[-1], held[-1].mean(), geometric_mean(ours[:, 2] / ours[:, 1])])
    if not ratios:
        sys.exit(f"no application was measured on {known} and on another GPU type")
    targets.check("ratio, geometric mean", geometric_mean(ratios), -np.inf, 0.6)
    targets.check("truths within the central 90 %", np.concatenate(held).mean(), 0.8, 0.98)


def check_spoilt(program, profiles, targets, draws, seed):
    columns = [NODES, GPUS, BATCH]
    table = Table("spoilt: how far a tenth of the samples off by three moves the predictions (0.01: by a per cent); "
                  "median and worst over shapes", ["published", "worst", "goodput", "worst"])
    random = np.random.default_rng(seed)
    all_ours = []
    for application, types in profiles.items():
        for gpu_type, samples in types.items():
            asked = distinct(samples, columns)
            asked = np.column_stack([asked, np.zeros((len(asked), 2))])
            shapes, of_shape = np.unique(asked[:, [NODES, GPUS]], axis=0, return_inverse=True)

            def both(fitted):
                return published(fitted, asked), program.predict({gpu_type: fitted},
                                                                 {gpu_type: asked})[gpu_type][:, 0]

            clean = both(samples)
            moved = [[], []]
            for _ in range(draws):
                spoilt = samples.copy()
                hit = random.permutation(len(samples))[:round(len(samples) / 10)]
                spoilt[hit, STEP] *= 3
                spoilt[hit, SYNC] *= 3
                for before, after, found in zip(clean, both(spoilt), moved):
                    off = np.abs(after / before - 1)
                    found.extend(off[of_shape == i].mean() for i in range(len(shapes)))
            all_ours.append(moved[1])
            table.row(application, gpu_type, len(samples),
                      [f(found) for found in moved for f in (np.median, np.max)])
    targets.check("moved by, median", np.median(np.concatenate(all_ours)), -np.inf, 0.05)
    targets.check("part of shapes moved by at most 5 %", np.mean(np.concatenate(all_ours) <= 0.05), 0.95, 1)
    print(f"  moved by, worst shape: {np.concatenate(all_ours).max():.4g}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program")
    parser.add_argument("profiles")
    parser.add_argument("--known", default="aws", help="GPU type known on several GPUs (default: aws)")
    parser.add_argument("--nodes", type=int, default=2, help="most nodes known of that type (default: 2)")
    parser.add_argument("--gpus", type=int, default=8, help="most GPUs known of that type (default: 8)")
    parser.add_argument("--draws", type=int, default=3, help="times that samples are spoilt (default: 3)")
    parser.add_argument("--seed", type=int, default=1, help="seed of these draws (default: 1)")
    arguments = parser.parse_args()
    program, targets = Program(arguments.program), Targets()
    profiles = published_fit.read_profiles(arguments.profiles)
    check_fitted(program, profiles, targets)
    check_left_out(program, profiles, targets)
    check_borrowed(program, profiles, targets, arguments.known, arguments.nodes, arguments.gpus)
    check_spoilt(program, profiles, targets, arguments.draws, arguments.seed)
    print(f"\n{targets.missed} targets missed" if targets.missed else "\nall targets met")
    sys.exit(1 if targets.missed else 0)


if __name__ == "__main__":
    main()
