#!/usr/bin/env python3
"""Measures how well time to target is predicted for MLPerf's training results, with one accelerator left out at a time.

usage: time_to_target.py PROGRAM CONVERGENCE.CSV RESULTS

RESULTS is a checkout of github.com/mlcommons/training_results_v5.1 (Apache-2.0), or its git directory without a work
tree. A point is a workload, an accelerator, a number of GPUs and a batch. Its time, examples and step time (evaluations
included) are the median over submissions of the median over their runs that reached the target.

Time to target is examples(batch) / throughput, both from `goodput fit`:

- examples from CONVERGENCE.CSV (MLPerf's reference convergence points, as convergence.py takes them); for a workload
  without any from the trainings of the other accelerators
- throughput from step times: nodes as the submission names them, and the batch divided among all GPUs. Language models
  count tokens, because their GPUs share sequences.

Of the accelerator that is left out, one of two things is known:

- one point: the job ran at its smallest number of GPUs, as in Sia's bootstrap. The program gets that point and all
  points of other accelerators, and predicts the other numbers of GPUs.
- other workloads: the job never ran there. The program gets the points of other accelerators, and predicts the step
  time on each of them. How much longer the left-out accelerator takes is the median ratio over the workloads that ran
  on both; the prediction is the geometric mean over the other accelerators.

For comparison: perfect scaling from the one point, with examples as predicted and with those of the one point.
"""
import argparse
import collections
import csv
import itertools
import json
import math
import os
import re
import statistics
import subprocess

LOG = re.compile(r"([^/]+)/results/([^/]+)/([^/]+)/result_\d+\.txt")
MARK = b":::MLLOG"
EVENTS = tuple(f'"{key}"'.encode() for key in ("global_batch_size", "run_start", "run_stop", "eval_accuracy"))
ACCELERATOR = re.compile(r"GB\d+|H200 NVL|[BH]\d+|MI\d+X|RTX Pro \d+")
EXAMPLES_PER_EPOCH = {"dlrm_dcnv2": 4195197692, "retinanet": 1170301, "rgat": 94605581}  # where logs count epochs
TOKENS_PER_EXAMPLE = {"llama2_70b_lora": 8192, "llama31_405b": 8192, "llama31_8b": 8192}

Run = collections.namedtuple("Run", "batch seconds examples")
Point = collections.namedtuple("Point", "workload accelerator gpus nodes batch seconds examples step_s runs std")
Estimate = collections.namedtuple("Estimate", "median low high")


class Checkout:
    """The files of a folder, or of the newest commit of a git directory without a work tree."""

    def __init__(self, folder):
        self.folder = folder
        self.git = None
        if all(os.path.exists(os.path.join(folder, part)) for part in ("HEAD", "objects", "refs")):
            names = subprocess.run(["git", "--git-dir", folder, "ls-tree", "-r", "--name-only", "-z", "HEAD"],
                                   capture_output=True, check=True).stdout.decode().split("\0")
            self.names = sorted(name for name in names if name)
            self.git = subprocess.Popen(["git", "--git-dir", folder, "cat-file", "--batch"], stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE)
        else:
            self.names = sorted(os.path.relpath(os.path.join(path, file), folder).replace(os.sep, "/")
                                for path, _, files in os.walk(folder) for file in files)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.git:
            self.git.communicate()

    def read(self, name):
        """The bytes of a file, or None if a partial copy of the repository lacks them."""
        if not self.git:
            with open(os.path.join(self.folder, name), "rb") as file:
                return file.read()
        self.git.stdin.write(f"HEAD:{name}\n".encode())
        self.git.stdin.flush()
        head = self.git.stdout.readline().split()
        if head[-1] == b"missing":
            return None
        content = self.git.stdout.read(int(head[-1]))
        self.git.stdout.read(1)
        return content


def positive(value):
    return isinstance(value, (int, float)) and not isinstance(value, bool) and 0 < value < math.inf


def parse_log(content, workload):
    """Returns the run described by a result log. Raises ValueError with the reason if it did not reach the target."""
    batch = start = stop = examples = status = None
    for line in content.splitlines():
        at = line.find(MARK)
        if at < 0 or not any(event in line for event in EVENTS):
            continue
        try:
            event = json.loads(line[at + len(MARK):])
            key, value, time, about = event["key"], event.get("value"), event["time_ms"], event.get("metadata") or {}
            about = {name: about.get(name) for name in ("status", "samples_count", "epoch_num")}
        except (ValueError, KeyError, TypeError, AttributeError):
            continue  # two processes wrote into one line
        if key == "global_batch_size":
            batch = value
        elif key == "run_start" and start is None:
            start = time
        elif key == "run_stop":
            stop, status = time, about["status"]
        elif key == "eval_accuracy" and about["samples_count"] is not None:
            examples = about["samples_count"]
        elif key == "eval_accuracy" and positive(about["epoch_num"]):
            examples = about["epoch_num"] * EXAMPLES_PER_EPOCH.get(workload, 1)
    if not positive(start) or not positive(stop) or stop <= start:
        raise ValueError("no start or stop")
    if status != "success":
        raise ValueError("did not reach the target")
    if not positive(batch):
        raise ValueError("no batch size")
    if not positive(examples):
        raise ValueError("no evaluation")
    return Run(batch, (stop - start) / 1000, examples)


def read_points(folder):
    """Returns all points in order, and for each reason how many logs do not count."""
    submissions, unused = collections.defaultdict(list), collections.Counter()
    with Checkout(folder) as checkout:
        for name in checkout.names:
            found = LOG.fullmatch(name)
            if not found:
                continue
            content = checkout.read(name)
            if content is None:
                unused["missing"] += 1
                continue
            try:
                run = parse_log(content, found[3])
            except ValueError as reason:
                unused[str(reason)] += 1
                continue
            submissions[found.groups() + (run.batch,)].append(run)
        systems = {key[:2]: json.loads(checkout.read(f"{key[0]}/systems/{key[1]}.json")) for key in submissions}
    grouped = collections.defaultdict(list)
    for (organisation, system, workload, batch), runs in submissions.items():
        about = systems[organisation, system]
        nodes = int(about["number_of_nodes"])
        accelerator = ACCELERATOR.search(about["accelerator_model_name"])[0]
        grouped[workload, accelerator, nodes * int(about["accelerators_per_node"]), batch].append((nodes, runs))
    points = []
    for (workload, accelerator, gpus, batch), parts in sorted(grouped.items()):
        def middle(value):
            return statistics.median(statistics.median(value(run) for run in runs) for _, runs in parts)
        points.append(Point(workload, accelerator, gpus, min(nodes for nodes, _ in parts), batch,
                            middle(lambda run: run.seconds), middle(lambda run: run.examples),
                            middle(lambda run: run.seconds * run.batch / run.examples),
                            sum(len(runs) for _, runs in parts),
                            max(statistics.pstdev(run.examples for run in runs) for _, runs in parts)))
    return points, unused


def read_references(path):
    """Returns MLPerf's reference convergence points of each workload, in examples."""
    references = collections.defaultdict(list)
    with open(path, encoding="utf-8") as file:
        for row in csv.DictReader(file):
            unit = EXAMPLES_PER_EPOCH.get(row["workload"], 1)
            references[row["workload"]].append({
                "batch": int(row["batch"]), "examples": float(row["median_to_target"]) * unit, "runs": int(row["runs"]),
                "std": float(row["std"] or 0) * unit})
    return references


def ask(program, documents):
    """Returns the answers of `goodput fit`."""
    lines = "".join(json.dumps(document) + "\n" for document in documents)
    out = subprocess.run([program, "fit"], input=lines, stdout=subprocess.PIPE, text=True, check=True).stdout
    return [json.loads(line) for line in out.splitlines()]


def predict_examples(program, points, references):
    """Returns the examples to the target of each point, predicted without trainings of its own accelerator."""
    documents = []
    for point in points:
        known = references.get(point.workload) or [
            {"batch": other.batch, "examples": other.examples, "runs": other.runs, "std": other.std}
            for other in points if other.workload == point.workload and other.accelerator != point.accelerator]
        documents.append({"samples": [], "convergence": known, "convergence_batches": [point.batch]})
    answers = [answer["noise_scale"]["predictions"][0] for answer in ask(program, documents)]
    return {point: Estimate(one["examples"], one["low"], one["high"]) for point, one in zip(points, answers)}


def shape(point, accelerator):
    """Returns a step of this point on an accelerator, in the program's form."""
    share = point.batch * TOKENS_PER_EXAMPLE.get(point.workload, 1) / point.gpus
    return {"gpu_type": accelerator, "nodes": point.nodes, "gpus": point.gpus, "local_batch": max(1, round(share))}


def predict_steps(program, questions):
    """Returns, for each (known points, [(point, accelerator)]), the step times of the latter."""
    documents = []
    for known, asked in questions:
        samples = [shape(point, point.accelerator) | {"iteration_s": point.step_s} for point in known]
        documents.append({"samples": samples, "predict": [shape(*one) for one in asked]})
    return [[Estimate(one["iteration_s"], one["low_s"], one["high_s"]) for one in answer["predictions"]]
            for answer in ask(program, documents)]


def by_accelerator(points):
    """Yields (points on an accelerator, points of the same workload on others) for each workload and accelerator."""
    for (workload, accelerator), own in itertools.groupby(points, lambda point: point[:2]):
        yield list(own), [point for point in points if point.workload == workload and point.accelerator != accelerator]


def from_one_point(program, points):
    """Returns the known point and the step time of each point that is not the first of its accelerator."""
    cases = [(own, others) for own, others in by_accelerator(points) if len(own) > 1]
    steps = predict_steps(program, [(own[:1] + others, [(point, point.accelerator) for point in own[1:]])
                                    for own, others in cases])
    return {point: (own[0], step) for (own, _), found in zip(cases, steps) for point, step in zip(own[1:], found)}


def from_other_workloads(program, points):
    """Returns the step time of each point whose accelerator has run another workload."""
    questions = [(others, [(point, name) for point in own for name in sorted({other.accelerator for other in others})])
                 for own, others in by_accelerator(points)]
    found = [(*asked, math.log(step.median)) for (_, pairs), steps in zip(questions, predict_steps(program, questions))
             for asked, step in zip(pairs, steps)]
    longer = collections.defaultdict(lambda: collections.defaultdict(list))  # by both accelerators, then by workload
    for point, name, step in found:
        longer[point.accelerator, name][point.workload].append(math.log(point.step_s) - step)
    predicted = collections.defaultdict(list)
    for point, name, step in found:
        ratios = [statistics.median(values) for workload, values in longer[point.accelerator, name].items()
                  if workload != point.workload]
        if ratios:
            predicted[point].append(step + statistics.median(ratios))
    return {point: math.exp(statistics.mean(values)) for point, values in predicted.items()}


def show(title, predicted, truth, workloads=True):
    """A table of the relative errors of `predicted`, estimates or numbers by point. For estimates also how many of
    their 90 % intervals hold the truth, and the median of their upper over their lower end.
    """
    print(f"{title}\n{'':18} {'points':>6} {'median %':>9} {'p90 %':>7} {'worst %':>8} {'held %':>7} {'wide':>5}")
    groups = collections.defaultdict(list)
    for point in predicted:
        if workloads:
            groups[point.workload].append(point)
    groups["all"] = list(predicted)
    for name, chosen in groups.items():
        values = {point: predicted[point] for point in chosen}
        errors = sorted(abs(getattr(one, "median", one) / truth(point) - 1) for point, one in values.items())
        held, wide = "", ""
        if all(isinstance(one, Estimate) for one in values.values()):
            held = f"{100 * statistics.mean(one.low <= truth(point) <= one.high for point, one in values.items()):.0f}"
            wide = f"{statistics.median(one.high / one.low for one in values.values()):.1f}"
        print(f"{name:18} {len(errors):6} {100 * statistics.median(errors):9.1f} "
              f"{100 * errors[math.ceil(0.9 * len(errors)) - 1]:7.1f} {100 * errors[-1]:8.1f} {held:>7} {wide:>5}")
    print()


def duration(point, step, examples):
    """Returns the time to target. The relative errors of both factors count as independent."""
    median = step.median * examples.median / point.batch
    low, high = (math.exp(math.hypot(*(math.log(getattr(one, end) / one.median) for one in (step, examples))))
                 for end in ("low", "high"))
    return Estimate(median, median / low, median * high)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program")
    parser.add_argument("convergence")
    parser.add_argument("results")
    arguments = parser.parse_args()
    points, unused = read_points(arguments.results)
    print(f"{len(points)} points of {sum(point.runs for point in points)} runs; {len({point[:3] for point in points})} "
          f"of workload, accelerator and GPUs; logs not used: {dict(unused)}\n")
    examples = predict_examples(arguments.program, points, read_references(arguments.convergence))
    one = from_one_point(arguments.program, points)
    other = from_other_workloads(arguments.program, points)

    show("examples to the target", examples, lambda point: point.examples)
    show("step time, one point known", {point: step for point, (_, step) in one.items()}, lambda point: point.step_s)
    times = {point: duration(point, step, examples[point]) for point, (_, step) in one.items()}
    show("time to target, one point known", times, lambda point: point.seconds)
    for title, factor in (("perfect scaling", lambda point, known: examples[point].median / known.examples),
                          ("perfect scaling, the examples of the one point", lambda point, known: 1)):
        scaled = {point: known.seconds * known.gpus / point.gpus * factor(point, known)
                  for point, (known, _) in one.items()}
        show(f"the same: {title}", scaled, lambda point: point.seconds, workloads=False)
    show("step time, other workloads known", other, lambda point: point.step_s)
    unmeasured = {point: step * examples[point].median / point.batch for point, step in other.items()}
    show("time to target, other workloads known", unmeasured, lambda point: point.seconds)
    print("time to target by accelerator, median error %")
    errors = [{point: abs(getattr(value, "median", value) / point.seconds - 1) for point, value in predicted.items()}
              for predicted in (times, unmeasured)]
    for accelerator in sorted({point.accelerator for point in points}):
        for name, by_point in zip(("one point", "other workloads"), errors):
            chosen = [error for point, error in by_point.items() if point.accelerator == accelerator]
            if chosen:
                print(f"{accelerator:14} {name:16} {len(chosen):3} {100 * statistics.median(chosen):6.1f}")


if __name__ == "__main__":
    main()
