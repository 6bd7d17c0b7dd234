#!/usr/bin/env python3
"""Tests whether what the agent of a real training measures, decides and keeps is right. The measures of
docs/figures.md.

usage: check_agent.py [--program build/training/examples/training/goodput-training] MEASURE...

Measures: noise, time, resume, efficiency, steps, overhead. Each runs goodput-training many times and prints its
figures; a few minutes each on two cores. Needs nothing but Python.
"""
import argparse
import csv
import json
import math
import os
import re
import statistics
import subprocess
import sys
import tempfile

CNN = ["--network", "cnn", "--initial-batch", 8]
TRANSFORMER = ["--network", "transformer", "--initial-batch", 16]


def run(program, *words, processes=1):
    """Returns what the program printed last, by name, and its whole output."""
    command = [program] + [str(word) for word in words]
    if processes > 1:
        command = ["mpirun", "--oversubscribe", "--allow-run-as-root", "-n", str(processes)] + command
    environment = dict(os.environ, OMP_NUM_THREADS="1")
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(f"{' '.join(command)}: {done.stderr}")
    found = re.search(r"(reached|stopped).* after (\d+) steps, (\d+) examples, ([\d.]+) s: loss (\S+), accuracy (\S+)",
                      done.stdout)
    return {"reached": found[1] == "reached", "steps": int(found[2]), "examples": int(found[3]),
            "seconds": float(found[4]), "loss": float(found[5]), "accuracy": float(found[6]), "output": done.stdout}


def logged(program, *words, processes=1):
    """Returns the run's log: a dict of numbers per line, None for an empty field."""
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "log.csv")
        run(program, *words, "--log", path, processes=processes)
        with open(path, encoding="utf-8") as file:
            return [{key: float(value) if value else None for key, value in row.items()}
                    for row in csv.DictReader(file)]


def apart(first, second):
    """Returns the relative distance, which is the same for too large and too small."""
    return math.exp(abs(math.log(first / second))) - 1 if first > 0 and second > 0 else math.inf


def chosen(cases, arguments):
    """Returns the cases of the network that the caller asked for."""
    return [case for case in cases if arguments.network is None or case[0].startswith(arguments.network)]


def noise(program, arguments):
    """Noise scale at 20 checkpoints: measured against exact, both at that moment and averaged like the measured one."""
    settings = ((0.999, 8), (0.996, 8), (0.999, 1), (0.999, 0))  # smoothing, and how often a step is halved
    cases = [("cnn, by goodput", CNN + ["--most-examples", 24000, "--evaluate-every", 1200]),
             ("cnn, batch 8", CNN + ["--fixed-batch", 8, "--most-examples", 20000, "--evaluate-every", 1000]),
             ("cnn, batch 64", CNN + ["--fixed-batch", 64, "--most-examples", 40000, "--evaluate-every", 2000]),
             ("transformer, batch 64", TRANSFORMER + ["--fixed-batch", 64, "--most-examples", 30000,
                                                      "--evaluate-every", 1500])]
    for name, words in chosen([("cnn", CNN + ["--most-examples", 4000, "--evaluate-every", 80])], arguments):
        rows = logged(program, *words, "--fixed-batch", 8, "--reference-every", 1)
        exact = [row["exact_var"] / row["exact_sqr"] for row in rows if row["exact_sqr"] and row["step"] > 0]
        print(f"{name}, batch 8: from one tenth step to the next the exact noise scale itself changes by a factor of "
              f"{1 + statistics.median(map(apart, exact, exact[1:])):.2f} in the median", flush=True)
    print("relative error of the noise scale at 20 checkpoints, median (share within 20 %)")
    for name, words in chosen(cases, arguments):
        for smoothing, split in settings:
            rows = logged(program, *words, "--smoothing", smoothing, "--split-every", split,
                          "--reference-every", 1, "--average-every", 8 if name[0] == "t" else 4)
            rows = [row for row in rows if row["exact_sqr"] and row["step"] > 0][:20]
            measured = [row["var"] / row["sqr"] if row["sqr"] else math.inf for row in rows]
            parts = []
            for reference in ("exact", "average"):
                errors = [apart(m, row[reference + "_var"] / row[reference + "_sqr"]) if math.isfinite(m) else math.inf
                          for m, row in zip(measured, rows)]
                trace = [apart(row["var"], row[reference + "_var"]) for row in rows]
                within = sum(error <= 0.2 for error in errors)
                parts.append(f"{reference}: {statistics.median(errors):7.1%} ({within:2}/{len(rows)}), "
                             f"variance alone {statistics.median(trace):6.1%}")
            print(f"{name:24} smoothing {smoothing}, split every {split}: {'; '.join(parts)}", flush=True)


def time_to_target(program, arguments):
    """Processor time to a target accuracy: by goodput, and with each fixed batch size (same learning-rate rule)."""
    cases = [("cnn to 97 %", CNN + ["--target-accuracy", 0.97], [8 << i for i in range(7)]),
             ("transformer to 95 %", TRANSFORMER + ["--target-accuracy", 0.95], [16 << i for i in range(6)])]
    seeds = arguments.seeds
    for name, words, batches in chosen(cases, arguments):
        choices = [("by goodput", 8)] + [(batch, split) for batch in batches for split in (8, 0)]
        seconds = {choice: [] for choice in choices}
        for seed in range(1, seeds + 1):  # in turn, so that other work on the machine affects all of them alike
            for batch, split in choices:
                fixed = [] if batch == "by goodput" else ["--fixed-batch", batch]
                result = run(program, *words, "--processor-time", "--seed", seed, "--split-every", split,
                             "--most-examples", 100000, *fixed)
                seconds[batch, split].append(result["seconds"] if result["reached"] else math.inf)
        print(f"{name}: processor seconds, mean of {seeds} seeds (and median)")
        for (batch, split), values in seconds.items():
            print(f"  {batch!s:>10}, {'a step in 8 in halves' if split else 'no halves':21}: {statistics.mean(values):7.3f} "
                  f"({statistics.median(values):7.3f})")
        for which in (statistics.mean, statistics.median):
            best = min(which(values) for (batch, _), values in seconds.items() if batch != "by goodput")
            print(f"  by goodput over the best fixed batch, {which.__name__}: {which(seconds['by goodput', 8]) / best:.2f}",
                  flush=True)


def resume(program, arguments):
    """Loss after a stop halfway and a restart on another number of processes, compared with uninterrupted runs on
    either."""
    cases = [("cnn, batch 32", CNN + ["--fixed-batch", 32], 12800), ("cnn, by goodput", CNN, 12800),
             ("transformer, batch 32", TRANSFORMER + ["--fixed-batch", 32], 32000),
             ("transformer, by goodput", TRANSFORMER, 32000)]
    seeds = range(1, arguments.seeds + 1)

    def loss(words, seed, examples, first, then):
        with tempfile.TemporaryDirectory() as folder:
            words = words + ["--processor-time", "--seed", seed, "--checkpoint", os.path.join(folder, "checkpoint")]
            if first != then:
                run(program, *words, "--most-examples", examples // 2, processes=first)
            return run(program, *words, "--most-examples", examples, processes=then)["loss"]

    for name, words, examples in chosen(cases, arguments):
        whole = {on: [loss(words, seed, examples, on, on) for seed in seeds] for on in (1, 2)}
        for on, losses in whole.items():
            print(f"{name}: {on} process{'es' if on > 1 else ''}, uninterrupted: {', '.join(f'{each:.4f}' for each in losses)}")
        count = 2 * len(seeds)
        for first, then in ((1, 2), (2, 1)):
            moved = [loss(words, seed, examples, first, then) for seed in seeds]
            least, most = (edge(whole[1] + whole[2]) for edge in (min, max))
            ratios = [math.log(each / alone) for each, alone in zip(moved, whole[first])]
            away = max(math.exp(abs(ratio)) - 1 for ratio in ratios)
            print(f"  {first} then {then}: {', '.join(f'{each:.4f}' for each in moved)}; {sum(least <= each <= most for each in moved)} of "
                  f"{len(moved)} within the range of those (of a run like them {(count - 1) / (count + 1):.0%} are); from the "
                  f"uninterrupted run of the same seed at most {away:.1%} away, on average {statistics.mean(ratios):+.1%} "
                  f"(+- {statistics.stdev(ratios) / math.sqrt(len(ratios)):.1%})", flush=True)


def efficiency(program, arguments):
    """Epochs to a target accuracy by batch size, compared with what the noise scale predicts."""
    cases = [("cnn", CNN, 0.97, 8), ("transformer", TRANSFORMER, 0.95, 16)]
    for name, words, target, initial in chosen(cases, arguments):
        seeds, table, errors = arguments.seeds, {}, {"along": [], "before": []}
        for scale in (1, 2, 4, 8, 16, 32):
            results = []
            for seed in range(1, seeds + 1):
                result = run(program, *words, "--seed", seed, "--fixed-batch", initial * scale,
                             "--target-accuracy", target, "--evaluate-every", 256, "--most-examples", 600000,
                             "--timing")
                result["useful"] = float(re.search(r"useful examples ([\d.]+)", result["output"])[1])
                results.append(result)
            table[scale] = results
        base = statistics.mean(r["examples"] for r in table[1])
        with_noise = [row["noise_scale"] for seed in range(1, seeds + 1)
                      for row in logged(program, *words, "--seed", seed, "--fixed-batch", initial,
                                        "--target-accuracy", target)
                      if row["step"] > 20]
        typical = statistics.median(with_noise)
        print(f"{name}: examples to {target:.0%} accuracy, mean of {seeds} seeds; median noise scale at the initial "
              f"batch size {typical:.0f} examples")
        for scale, results in table.items():
            examples = statistics.mean(r["examples"] for r in results)
            along = base * examples / statistics.mean(r["useful"] for r in results)
            before = base * (typical + initial * scale) / (typical + initial)
            scatter = statistics.stdev(r["examples"] for r in results) / math.sqrt(seeds) / examples
            if scale > 1:
                errors["along"].append(abs(along / examples - 1))
                errors["before"].append(abs(before / examples - 1))
            print(f"  {scale:2} times: {examples:8.0f} (+- {scatter:.0%}), predicted by the noise scale along that run "
                  f"{along:8.0f} ({along / examples - 1:+.0%}), by that of the initial batch {before:8.0f} "
                  f"({before / examples - 1:+.0%})")
        print(f"  median error: {statistics.median(errors['along']):.0%} along the run, "
              f"{statistics.median(errors['before']):.0%} beforehand", flush=True)


def steps(program, arguments):
    """Step times in processor time: fitted to half of the (processes, batch) pairs, predicted for the others."""
    for name, network in chosen([("cnn", CNN[:2]), ("transformer", TRANSFORMER[:2])], arguments):
        runs = {}
        for _ in range(3):  # the pairs in turn, so that other work on the machine affects all of them alike
            for processes in (1, 2):
                for atomic in (4, 8, 16, 32, 64, 128):
                    result = run(program, *network, "--initial-batch", 4, "--fixed-batch", atomic * processes,
                                 "--split-every", 0, "--evaluate-every", 10**9, "--most-steps", 60, "--timing",
                                 "--processor-time", processes=processes)
                    gpus, batch, accumulation, step, sync = result["output"].splitlines()[-1].split()
                    runs.setdefault((int(gpus), int(batch), int(accumulation)), []).append((float(step), float(sync)))
        noise = [apart(first[0], second[0]) for each in runs.values() for first, second in zip(each, each[1:])]
        measured = [{"gpu_type": "cpu", "nodes": 1, "gpus": gpus, "local_batch": batch, "accumulation": accumulation,
                     "step_s": sorted(each)[len(each) // 2][0], "sync_s": sorted(each)[len(each) // 2][1]}
                    for (gpus, batch, accumulation), each in runs.items()]
        errors = []
        for half in (0, 1):
            known = [sample for i, sample in enumerate(measured) if (i + i // 6) % 2 == half]
            rest = [sample for i, sample in enumerate(measured) if (i + i // 6) % 2 != half]
            asked = [{key: value for key, value in sample.items() if not key.endswith("_s")} for sample in rest]
            question = json.dumps({"samples": known, "predict": asked})
            answer = subprocess.run([arguments.goodput, "fit"], input=question, capture_output=True, text=True,
                                    check=True)
            for guess, sample in zip(json.loads(answer.stdout)["predictions"], rest):
                errors.append(abs(guess["iteration_s"] / sample["step_s"] - 1))
                print(f"  {sample['gpus']} of batch {sample['local_batch']}: {1e3 * sample['step_s']:.3f} ms (of which "
                      f"waiting {1e3 * sample['sync_s']:.3f}), predicted {1e3 * guess['iteration_s']:.3f}")
        print(f"{name}: step times of pairs that were not measured: median error {statistics.median(errors):.1%}, "
              f"largest {max(errors):.1%}; between two runs of the same pair {statistics.median(noise):.1%} in the median, "
              f"at most {max(noise):.1%}", flush=True)


def overhead(program, _):
    """Share of a step with 10 million parameters that measuring and deciding take by default: calls of the agent, and
    halved steps."""
    shares = []
    for _ in range(3):
        result = run(program, "--network", "wide", "--initial-batch", 32, "--fixed-batch", 32, "--most-steps", 120,
                     "--processor-time", "--evaluate-every", 10**9, "--timing")
        measuring = float(re.search(r"deciding ([\d.]+) s", result["output"])[1])
        plans = {tuple(line.split()[:3]): float(line.split()[3]) for line in result["output"].splitlines()
                 if re.match(r"\d+ \d+ \d+ ", line)}
        whole, halves = plans["1", "32", "0"], 2 * plans["1", "16", "1"]
        shares.append((measuring / (result["seconds"] - measuring), halves / whole, whole))
    calls, halved, step = (statistics.median(values) for values in zip(*shares))
    print(f"over the first 120 steps of 32 examples ({1e3 * step:.0f} ms each) the agent's calls cost {calls:.1%} of the "
          f"rest; one step in 64 is in two halves and takes {halved:.2f} times as long, {(halved - 1) / 64:+.1%}", flush=True)


MEASURES = {"noise": noise, "time": time_to_target, "resume": resume, "efficiency": efficiency, "steps": steps,
            "overhead": overhead}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--program", default="build/training/examples/training/goodput-training")
    parser.add_argument("--goodput", default="build/release/examples/goodput")
    parser.add_argument("--network", choices=("cnn", "transformer"), help="test only this network")
    parser.add_argument("--seeds", type=int, default=5, help="number of seeds for time, resume and efficiency")
    parser.add_argument("measures", nargs="+", choices=MEASURES, metavar="MEASURE")
    arguments = parser.parse_args()
    for measure in arguments.measures:
        MEASURES[measure](arguments.program, arguments)


if __name__ == "__main__":
    main()
