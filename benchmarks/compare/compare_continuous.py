#!/usr/bin/python3
"""Solves the linear programs of a simulated day on 10,240 GPUs with `goodput allot`, HiGHS, GLPK and CBC.

usage: compare_continuous.py FOLDER PROGRAM [--highs HIGHS] [--glpsol GLPSOL] [--cbc CBC] [options]

FOLDER is the folder `simulator` of github.com/suhasjs/continuous-scheduling (MIT), which is not part of this project;
PROGRAM is the program goodput. The simulator's own classes make jobs, speeds and programs: in each round the linear
relaxation of Sia's program, as its policy `sia-lp-relaxed` states it, p = 0.5, 1.1 for a job without GPUs. They need
numpy. Empty modules replace cvxpy and rich, which only its solvers and its messages use. The day continues from our
solution of the relaxation, rounded as the policy rounds. Each program is solved by `goodput allot --relax`, cold, and
by `goodput allot`, whole configurations to a gap of 1e-4, and every N-th one by the others.

Columns that can never help are left out: in these programs all configurations of a GPU type that a job cannot use are
worth the same to it, so only the smallest stays. Seconds: ours are those in the answer, those of HiGHS are CPU
seconds without reading the file, those of GLPK and CBC are what they print (--cpu-clock makes all of them CPU time).
Every point of ours is checked against every row.
"""
import argparse
import csv
import gzip
import importlib
import json
import os
import re
import subprocess
import sys
import tempfile
import types
from decimal import Decimal

import numpy as np

import highs_program

MOST_GPUS = 128  # no class of jobs in these workloads can use more
NODES = {"azure": 6, "aws": 8, "dgx-ext": 4, "quad": 8, "rtx": 6, "a10-pcie": 8, "a100-pcie": 8}
GPUS_PER_NODE = {"aws": 4, "azure": 8, "dgx-ext": 8, "quad": 4, "rtx": 8, "a10-pcie": 4, "a100-pcie": 4}
WITHOUT_GPUS, POWER = 1.1, 0.5


def load_simulator(folder):
    """Imports the simulator's modules without the packages that only its solvers and its messages need."""
    os.chdir(folder)
    sys.path.insert(0, os.getcwd())
    rich = types.ModuleType("rich")
    rich.print = lambda *_: None
    sys.modules.update({"rich": rich, "cvxpy": types.ModuleType("cvxpy")})
    names = {"ilp": "policies.sia_ilp", "rounding": "policies.policy_utils", "events": "event_recorder",
             "sia": "jobs.sia_job", "batch": "jobs.batch_inference_job", "synthetic": "jobs.synthetic_single_phase_job"}
    return types.SimpleNamespace(**{short: importlib.import_module(name) for short, name in names.items()})


def jobs_of(simulator, workload, gpus):
    classes = {"SiaJob": (simulator.sia.SiaJob, simulator.sia.get_sia_job_classes(gpus)),
               "BatchInferenceJob": (simulator.batch.BatchInferenceJob,
                                     simulator.batch.get_batch_inference_job_classes(gpus)),
               "SyntheticSinglePhaseJob": (simulator.synthetic.SyntheticSinglePhaseJob,
                                           simulator.synthetic.get_synthetic_job_classes(gpus))}
    with open(workload) as file:
        for row in csv.DictReader(file):
            kind, models = classes[row["category"]]
            yield kind(row["name"], float(row["time"]), models[row["application"]])


class Day:
    """The simulator's loop, in which the caller solves the programs."""

    def __init__(self, simulator, workload, scale, seed):
        np.random.seed(seed)
        self.nodes = {name: scale * count for name, count in NODES.items()}
        self.gpus = {name: self.nodes[name] * GPUS_PER_NODE[name] for name in NODES}
        self.policy = simulator.ilp.SiaILP.__new__(simulator.ilp.SiaILP)
        self.policy.num_nodes, self.policy.ngpus_per_node = self.nodes, GPUS_PER_NODE
        self.policy.cluster_ordering = self.types = sorted(NODES)
        self.policy.num_gputypes, self.policy.cluster_gpus = len(NODES), self.gpus
        self.every, _ = self.policy._get_configurations()
        self.configurations = [shape for shape in self.every if shape[1] <= MOST_GPUS]
        self.rounding = simulator.rounding.round_allocations_largest
        jobs = list(jobs_of(simulator, workload, self.gpus))
        for job in {(job.jobclass if hasattr(job, "jobclass") else job.job_class): job for job in jobs}.values():
            usable = [shape[1] for shape, value in zip(self.every, job.evaluate_allocations(self.every)) if value > 0]
            if hasattr(job, "job_class"):  # a new job of this kind can use one GPU, an older one all that is profiled
                usable = [shape[1] for shape in job.job_class.configs_to_idx]
            if max(usable) > MOST_GPUS:
                raise ValueError(f"{job.name} can use {max(usable)} GPUs")
        self.recorder = simulator.events.EventRecorder(jobs, self.nodes, GPUS_PER_NODE)

    def advance(self, seconds):
        self.recorder.step(seconds)
        return self.recorder.get_active_jobs()

    def program(self, active):
        """Returns the round's program in the form of `goodput allot`, and by job the configuration of each option."""
        number = {name: at for at, name in enumerate(self.types)}
        jobs, shapes = [], []
        for name in sorted(active):
            worth = np.power(np.asarray(active[name].evaluate_allocations(self.configurations)), POWER)
            worth[worth < 1e-2] = -1
            useless, options, meant = {}, [], []
            for shape, value in zip(self.configurations, worth):
                if value < 0 and useless.setdefault(shape[2], shape) != shape:
                    continue
                options.append({"value": round(float(value) + WITHOUT_GPUS, 9), "use": [[number[shape[2]], shape[1]]]})
                meant.append(shape)
            jobs.append({"options": options})
            shapes.append(meant)
        return {"capacity": [self.gpus[name] for name in self.types], "jobs": jobs}, shapes

    def take(self, active, shapes, choice):
        """Gives jobs what the relaxation says. Split jobs are rounded as the policy does."""
        free, split, given = dict(self.gpus), {}, {}
        for name, meant, parts in zip(sorted(active), shapes, choice):
            kept = [(meant[option], part) for option, part in parts if round(part, 3) > 0]
            given[name] = None
            if len(kept) == 1 and kept[0][1] > 0.95 and free[kept[0][0][2]] >= kept[0][0][1]:
                given[name] = kept[0][0]
                free[given[name][2]] -= given[name][1]
            elif len(kept) > 1 and abs(sum(part for _, part in kept) - 1) < 0.05:
                split[name] = sorted(kept, key=lambda pair: -pair[1])
        given.update(self.rounding(split, free))
        for name, shape in given.items():
            active[name].reallocate(shape)
        return len(split)


class Program:
    """A running `goodput allot`."""

    def __init__(self, command):
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
                                        env=highs_program.environment)

    def ask(self, line):
        self.process.stdin.write(line + "\n")
        self.process.stdin.flush()
        answer = json.loads(self.process.stdout.readline())
        if "error" in answer:
            raise RuntimeError(answer["error"])
        return answer


def faults_of_relaxed(program, answer):
    left, value = list(program["capacity"]), 0.0
    for job, parts in zip(program["jobs"], answer["choice"]):
        if sum(part for _, part in parts) > 1 + 1e-9 or min((part for _, part in parts), default=0) < -1e-12:
            return ["the parts of a job are more than one"]
        for option, part in parts:
            value += part * job["options"][option]["value"]
            for row, units in job["options"][option]["use"]:
                left[row] -= part * units
    faults = [f"row {row} is exceeded by {-units}" for row, units in enumerate(left) if units < -1e-6]
    if abs(value - answer["objective"]) > 1e-9 * abs(value):
        faults.append("the objective is not that of the answer")
    return faults


def solve_by_text_solver(kind, solver, problem):
    """Runs GLPK's dual simplex or CBC (Clp) on a free MPS file. Returns seconds as the solver prints them, and its
    objective."""
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "problem.mps")
        highs_program.write_mps(problem, path, integer=False, least=True)
        if kind == "glpsol":
            output = os.path.join(folder, "answer")
            log, _ = highs_program.run_timed([solver, "--freemps", path, "-o", output])
            with open(output) as file:
                found = re.search(r"^Objective:\s+\S+ = (\S+)", file.read(), re.MULTILINE)
            seconds = re.search(r"Time used:\s+(\S+) secs", log)
        else:
            log, _ = highs_program.run_timed([solver, path, "-solve", "-quit"])
            found = re.search(r"Optimal objective\s+(\S+)", log) or re.search(r"objective value\s+(\S+)", log)
            seconds = re.search(r"Total time \(CPU seconds\):\s+(\S+)", log)
        if not found or not seconds:
            raise RuntimeError(f"{solver}: {log[-500:]}")
        return float(seconds.group(1)), abs(float(found.group(1)))


def quantile(values, part):
    return sorted(values)[min(len(values) - 1, int(part * len(values)))]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder")
    parser.add_argument("program")
    parser.add_argument("--highs", metavar="HIGHS")
    parser.add_argument("--glpsol", metavar="GLPSOL")
    parser.add_argument("--cbc", metavar="CBC")
    parser.add_argument("--workload", default="workloads/40kjobs_24hrs_pai/workload-1.csv")
    parser.add_argument("--scale", type=int, default=40, help="cluster size as a multiple of 256 GPUs")
    parser.add_argument("--round", type=int, default=300, metavar="SECONDS")
    parser.add_argument("--hours", type=float, default=24)
    parser.add_argument("--every", type=int, default=12, metavar="N", help="solve every N-th program with the others")
    parser.add_argument("--seed", type=int, default=1, help="seed of the noise of speeds")
    parser.add_argument("--cpu-clock", action="store_true", help="all solvers count CPU time; needs a C compiler")
    parser.add_argument("--write", metavar="FILE", help="write the programs that the others solve, gzip, one per line")
    given = parser.parse_args()
    command, highs, glpsol, cbc = (text and (os.path.abspath(text) if os.path.exists(text) else text)
                                   for text in (given.program, given.highs, given.glpsol, given.cbc))
    if given.cpu_clock:
        highs_program.count_cpu_time()
    write = gzip.open(given.write, "wt") if given.write else None
    relaxed, whole = Program([command, "allot", "--relax"]), Program([command, "allot"])
    simulator = load_simulator(given.folder)
    day = Day(simulator, given.workload, given.scale, given.seed)
    print(f"{sum(day.gpus.values())} GPUs of {len(day.types)} types, {len(day.every)} configurations", flush=True)
    times = {"goodput relaxed": [], "goodput whole": [], "highs": [], "glpsol": [], "cbc": []}
    jobs, columns, apart, lost, faulty = [], [], [], [], 0
    for number in range(int(given.hours * 3600 / given.round)):
        active = day.advance(given.round)
        if not active:
            continue
        problem, shapes = day.program(active)
        line = json.dumps(problem)
        answer = relaxed.ask(line)
        best = answer["objective"]
        faults = faults_of_relaxed(problem, answer)
        integral = whole.ask(json.dumps({**problem, "gap": 1e-4}))
        times["goodput relaxed"].append(answer["milliseconds"] / 1e3)
        times["goodput whole"].append(integral["milliseconds"] / 1e3)
        lost.append(1 - integral["objective"] / best)
        jobs.append(len(active))
        columns.append(sum(len(job["options"]) for job in problem["jobs"]))
        said = f"relaxed {times['goodput relaxed'][-1]:.4f} s, whole {times['goodput whole'][-1]:.4f} s"
        if number % given.every == given.every - 1:
            if write:
                print(json.dumps({"name": f"round-{number}", **problem, "relaxed": best}), file=write, flush=True)
            found = {}
            if highs:
                exact = json.loads(line, parse_float=Decimal)
                solved = highs_program.HighsModel(highs, exact, integer=False).solve(0, 600)
                found["highs"] = (solved["seconds"], solved["objective"])
            for kind, solver in (("glpsol", glpsol), ("cbc", cbc)):
                if solver:
                    found[kind] = solve_by_text_solver(kind, solver, problem)
            for kind, (seconds, objective) in found.items():
                times[kind].append(seconds)
                apart.append(abs(objective - best) / abs(best))
                said += f", {kind} {seconds:.3f} s, apart {apart[-1]:.1e}"
        split = day.take(active, shapes, answer["choice"])
        faulty += bool(faults)
        print(f"{number * given.round / 3600:6.2f} h {jobs[-1]:6} jobs {columns[-1]:8} columns, {split} split: {said} "
              f"{' '.join(faults)}", flush=True)
    print(f"\n{len(jobs)} programs, jobs {quantile(jobs, 0.5)} in the median, {max(jobs)} at most, columns "
          f"{quantile(columns, 0.5)} and {max(columns)}, with all configurations "
          f"{quantile(jobs, 0.5) * len(day.every)} and {max(jobs) * len(day.every)}")
    for name, seconds in times.items():
        if seconds:
            print(f"{name:16} {len(seconds):4} programs, seconds: median {quantile(seconds, 0.5):.4f}, 99 % "
                  f"{quantile(seconds, 0.99):.4f}, worst {max(seconds):.4f}, sum {sum(seconds):.3f}")
    if apart:
        print(f"objectives differ from ours by {max(apart):.2g} at most")
    print(f"whole configurations are worth {100 * sum(lost) / len(lost):.4f} % less than the relaxation in the mean, "
          f"{100 * max(lost):.4f} % at most; {faulty} answers with a fault")
    sys.exit(1 if faulty else 0)


if __name__ == "__main__":
    main()
