#!/usr/bin/python3
"""Measures `goodput parallel` on Sailor's published data: whether stored plans score what its simulator says, how
good our plans are compared with its own and its rivals', and how soon they are found. Exits with 1 if a score differs
by more than 1e-6, if a plan of ours does not score what the answer said, or if one is worse than Sailor's.

usage: check_parallel.py PROGRAM DATA [--deadline-ms N] [--repeat N] [--match TEXT] [--many]

PROGRAM is `goodput`; DATA contains sailor/. `bound`: no plan is better than this within the model; `gap`: distance
between the bound and ours; `ms`: the fastest of N searches (of one if it takes more than a second); `Sailor`, `rival`:
the score of its stored plan and of the best rival's, with the seconds of the search. Rivals' plans that the simulator
scores but that cannot be run (stages of unequal replicas) do not count. --match TEXT asks only cases with TEXT in their
name. --many instead asks 360 questions for plans of one or two GPU types in one zone at gap 0, and prints how many are
proven and how long they take.
"""
import argparse
import csv
import itertools
import json
import pathlib
import statistics
import subprocess
import sys

SAME = 1e-6
ZONE = "us-central1-a"


class Planner:
    """A running program that is asked line by line."""

    def __init__(self, program, profiles):
        self.process = subprocess.Popen([program, "parallel", "--profiles", str(profiles)], text=True,
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE)

    def ask(self, question):
        self.process.stdin.write(json.dumps(question) + "\n")
        self.process.stdin.flush()
        answer = json.loads(self.process.stdout.readline())
        if "error" in answer:
            sys.exit(f"{json.dumps(question)}: {answer['error']}")
        return answer


def read_json(path):
    return json.loads(path.read_text())


def stored_plan(entry, global_batch):
    """Returns a stored plan in the program's form. Equal neighbouring replicas form a group."""
    pipeline, = entry["plan"]["pipelines"]
    stages = []
    for layers, replicas in zip(pipeline["layers_per_stage"], pipeline["tmp_stages"]):
        groups = itertools.groupby((gpus[0][0], degree, gpus[0][2]) for gpus, degree in replicas)
        stages.append({"layers": [layers[0], layers[-1]],
                       "replicas": [{"gpu_type": gpu_type, "tensor_parallel": degree, "zone": zone,
                                     "count": len(list(alike))} for (gpu_type, degree, zone), alike in groups]})
    return {"microbatch": entry["plan"]["mbs"], "global_batch": global_batch, "stages": stages}


def gpus_of(pools):
    """Returns GPUs by zone and type from {"A100-40_us-central1-a": 32, ...}. Types without a zone go to the first
    one."""
    gpus = {}
    for pool, count in pools.items():
        gpu_type, _, zone = pool.partition("_")
        if int(count) > 0:
            gpus.setdefault(zone or ZONE, {})[gpu_type] = int(count)
    return gpus


def check_scores(planner, sailor, opt_batch):
    """Scores all stored plans and compares with the simulator's scores. Returns the results by folder, GPUs and
    system, and whether all agree."""
    results, worst, scored = {}, 0, 0
    for path in sorted((sailor / "results").glob("*/*.json")):
        system = path.stem.split("_")[0]
        for entry in read_json(path):
            if not entry["plan"]:
                continue
            answer = planner.ask({"model": "OPT-350", "plan": stored_plan(entry, opt_batch)})
            for field, stored in (("throughput", "throughput"), ("usd", "cost_per_iteration"),
                                  ("traffic_usd", "communication_cost")):
                worst = max(worst, abs(answer[field] - entry[stored]) / max(abs(entry[stored]), 1e-3))
            scored += 1
            pools = json.dumps(gpus_of(entry["num_gpus"]), sort_keys=True)
            if not answer["why"]:
                results.setdefault((path.parent.name, pools), {})[system] = entry
    print(f"{scored} stored plans: throughput, dollars and traffic differ by at most {worst:.1e} of the simulator's")
    measured_worst = 0
    lines = (sailor / "measured" / "plans.jsonl").read_text().splitlines()
    for entry in map(json.loads, lines):
        answer = planner.ask({"model": entry["plan"]["model"], "plan": entry["plan"]})
        published = entry["published_estimate"]["iteration_s"]
        measured_worst = max(measured_worst, abs(answer["iteration_s"] / published - 1))
    print(f"{len(lines)} measured plans: iteration time differs by at most {measured_worst:.1e} of its estimate")
    return results, max(worst, measured_worst) <= SAME


def quality_cases(sailor, results):
    """Yields name, question, Sailor's result and each rival's."""
    models = []
    for name in ("opt_350", "neo27"):
        path, = (sailor / "configs").glob(f"training_config_*{name}.json")
        config = read_json(path)
        models.append((config["model"], config["global_batch_size"]))
    least = read_json(sailor / "configs" / "min_throughput_file.json")[0]
    most = read_json(sailor / "configs" / "max_budget_file.json")[0]
    seen = set()
    for (folder, pools), systems in sorted(results.items(), key=lambda item: (item[0][0], len(item[0][1]), item[0][1])):
        question = {"model": models[0][0], "global_batch": models[0][1], "gpus": json.loads(pools)}
        if folder == "cost":
            question.update(objective="cost", least_throughput=least)
        else:
            question.update(objective="throughput")
        seen.add((folder, pools))
        yield f"stored {folder} {gpus_text(question['gpus'])}", question, systems
    for path in sorted((sailor / "configs").glob("gpu_trace_*.csv")):
        with path.open(newline="") as file:
            for row in csv.DictReader(file):
                gpus = gpus_of({pool: count for pool, count in row.items() if pool and pool != "Timestamp"})
                for model, batch in models:
                    question = {"model": model, "global_batch": batch, "gpus": gpus}
                    if model != models[0][0] or ("homog", json.dumps(gpus, sort_keys=True)) not in seen:
                        yield f"{model} {gpus_text(gpus)}", dict(question, objective="throughput"), {}
                    if model == models[0][0]:
                        yield (f"{model} {gpus_text(gpus)} at most {most} $",
                               dict(question, objective="throughput", most_usd=most), {})
                        yield (f"{model} {gpus_text(gpus)} at least {least}/s",
                               dict(question, objective="cost", least_throughput=least), {})


def gpus_text(gpus):
    """Returns text such as 128 A100-40 + 128 V100-16, with the number of zones if there are several."""
    counts = {}
    for zone in gpus.values():
        for gpu_type, count in zone.items():
            counts[gpu_type] = counts.get(gpu_type, 0) + count
    text = " + ".join(f"{count} {gpu_type}" for gpu_type, count in counts.items())
    return text + (f", {len(gpus)} zones" if len(gpus) > 1 else "")


def time_cases():
    """Yields name, question, limit in ms, and the seconds that Sailor published."""
    def ask(gpus, gap):
        return {"model": "OPT-350", "global_batch": 1024, "gpus": gpus, "objective": "throughput", "gap": gap}
    zones = [f"us-central1-{letter}" for letter in "abcf"] + ["us-west1-b"]
    for gap in (0.01, 0):
        to = f", gap {gap}"
        yield "one type, 128" + to, ask({ZONE: {"A100-40": 128}}, gap), 10, 0.15
        yield "two types, 512" + to, ask({ZONE: {"A100-40": 256, "V100-16": 256}}, gap), 100, 4.7
        yield "two types, 128 + 384" + to, ask({ZONE: {"A100-40": 128, "V100-16": 384}}, gap), 100, None
        yield "three types, 768" + to, ask({ZONE: {"A100-40": 256, "V100-16": 256, "GH-96": 256}}, gap), 1000, 4900
        yield ("three consumer types, 768" + to,
               ask({ZONE: {"Titan-RTX": 256, "RTX-2080": 256, "RTX-3090": 256}}, gap), 1000, None)
        yield "five zones of 128" + to, ask({zone: {"A100-40": 128} for zone in zones}, gap), 1000, None


def many_cases():
    """Yields cases of two models, five batches, and 8 to 512 GPUs of one or two types in a zone."""
    single = [{gpu_type: count} for count in (8, 16, 32, 64, 100, 128, 256, 384, 512) for gpu_type in ("A100-40", "V100-16")]
    pairs = [{"A100-40": a100, "V100-16": v100} for a100, v100 in (
        (4, 4), (8, 8), (8, 24), (16, 16), (16, 48), (24, 40), (32, 32), (32, 96), (48, 16), (64, 64), (96, 32), (80, 240),
        (100, 28), (128, 128), (128, 384), (256, 256), (384, 128), (200, 312))]
    for model, batch, gpus in itertools.product(("OPT-350", "GPT-Neo-2.7"), (128, 256, 512, 1024, 2048), single + pairs):
        yield f"{model} {batch} {gpus_text({ZONE: gpus})}", {
            "model": model, "global_batch": batch, "gpus": {ZONE: gpus}, "objective": "throughput"}


def ask_many(planner, arguments):
    """Asks all of many_cases(). Prints what is not proven and what takes longest."""
    taken = []
    for name, question in many_cases():
        if arguments.match in name:
            answer = search(planner, question, arguments)
            taken.append((answer["milliseconds"], name, columns(answer)))
            if answer["status"] not in ("optimal", "none"):
                print(f"not proven: {name} {columns(answer)}", flush=True)
    taken.sort()
    for _, name, line in taken[-5:]:
        print(f"{name:50} {line}")
    print(f"{len(taken)} questions, {statistics.median(ms for ms, _, _ in taken):.0f} ms in the median, "
          f"{sum(ms > 100 for ms, _, _ in taken)} above 100 ms, {taken[-1][0]:.0f} ms at worst")


def search(planner, question, arguments):
    """Returns the answer with the least milliseconds of several searches."""
    question = dict(question, deadline_ms=arguments.deadline_ms)
    answer = planner.ask(question)
    for _ in range(arguments.repeat - 1):
        if answer["milliseconds"] > 1000:
            break
        answer["milliseconds"] = min(answer["milliseconds"], planner.ask(question)["milliseconds"])
    return answer


def problem_of(planner, question, answer):
    """Returns what is wrong with an answer according to its own plan, or None."""
    if answer["plan"] is None:
        return None
    again = planner.ask({"model": question["model"], "plan": answer["plan"], "gpus": question["gpus"]})
    if again["why"] or not again["fits"]:
        return f"its plan is none: {again['why']}"
    if any(abs(again[field] - answer[field]) > SAME * answer[field] for field in ("throughput", "usd")):
        return "its plan does not score what it was answered with"
    if answer["throughput"] < question.get("least_throughput", 0) * (1 - SAME):
        return "its plan is too slow"
    if answer["usd"] > question.get("most_usd", float("inf")) * (1 + SAME):
        return "its plan is too dear"
    return None


def columns(answer):
    """Returns our value, bound, gap and ms as text."""
    def number(name, form):
        return "-" if answer[name] is None else format(answer[name], form)
    gap = "-" if answer["gap"] is None else f"{answer['gap']:.2%}"
    return f"{number('objective', '.5f'):>9} {number('bound', '.5f'):>9} {gap:>7} {answer['milliseconds']:9.1f} {answer['status']:>8}"


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("program")
    parser.add_argument("data", type=pathlib.Path)
    parser.add_argument("--deadline-ms", type=float, default=10000)
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--match", default="")
    parser.add_argument("--many", action="store_true")
    arguments = parser.parse_args()
    sailor = arguments.data / "sailor"
    planner = Planner(arguments.program, sailor / "profiles")
    if arguments.many:
        return ask_many(planner, arguments)
    opt_batch = read_json(sailor / "configs" / "training_config_opt_350.json")["global_batch_size"]
    results, agrees = check_scores(planner, sailor, opt_batch)
    failed = [] if agrees else ["stored scores"]

    asked = proven = better = equal = 0
    print(f"\n{'iterations/s, or dollars an iteration':66} {'ours':>9} {'bound':>9} {'gap':>7} {'ms':>9} {'status':>8} "
          f"{'Sailor':>9} {'its s':>6} {'rival':>9} {'its s':>6}  who")
    for name, question, systems in quality_cases(sailor, results):
        if arguments.match not in name:
            continue
        answer = search(planner, question, arguments)
        cost = question["objective"] == "cost"
        field = "cost_per_iteration" if cost else "throughput"
        rivals = sorted((entry[field] * (1 if cost else -1), system) for system, entry in systems.items()
                        if system != "SAILOR" and entry["throughput"] >= question.get("least_throughput", 0))
        line = f"{name:66} {columns(answer)}"
        for system in ["SAILOR"] * ("SAILOR" in systems) + [system for _, system in rivals[:1]]:
            entry = systems[system]
            line += f" {entry[field]:9.5f} {entry['search_time']:6.2f}" + ("" if system == "SAILOR" else f"  {system}")
        problem = problem_of(planner, question, answer)
        if "SAILOR" in systems:
            theirs = systems["SAILOR"][field]
            ratio = 0 if answer["plan"] is None else theirs / answer["usd"] if cost else answer["throughput"] / theirs
            if ratio < 1 - SAME:
                problem = problem or "worse than Sailor's"
            better, equal = better + (ratio > 1 + SAME), equal + (abs(ratio - 1) <= SAME)
        if problem:
            failed.append(name)
            line += f"  WRONG: {problem}"
        asked, proven = asked + 1, proven + (answer["status"] == "optimal" or answer["status"] == "none")
        print(line, flush=True)
    print(f"{asked} cases, {proven} proven; against Sailor's stored plans {better} better, {equal} equal")

    print(f"\n{'time':42} {'ours':>9} {'bound':>9} {'gap':>7} {'ms':>9} {'status':>8} {'limit ms':>9} {'published s':>12}")
    for name, question, limit, published in time_cases():
        if arguments.match not in name:
            continue
        answer = search(planner, question, arguments)
        problem = problem_of(planner, question, answer)
        line = (f"{name:42} {columns(answer)} {limit:9} {published if published else '-':>12}"
                + ("" if answer["status"] == "optimal" and answer["milliseconds"] <= limit else "  not reached"))
        if problem:
            failed.append(name)
            line += f"  WRONG: {problem}"
        print(line, flush=True)
    if failed:
        sys.exit("wrong: " + ", ".join(failed))


if __name__ == "__main__":
    main()
