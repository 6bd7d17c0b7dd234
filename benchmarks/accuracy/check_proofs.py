#!/usr/bin/env python3
"""Runs `goodput allot --proof` on published problems to write certificates, and checks each of them.

usage: check_proofs.py PROGRAM FOLDER [--gap GAP] [--deadline-ms MS] [--viprchk PATH] [--only NAME]

FOLDER contains *.jsonl.gz with one problem per line, or instances.csv and the files that it names (columns name,
kind, what; kind gap: generalised assignment in the layout of OR-Library, kind mmkp). PATH is viprchk of
github.com/scipopt/vipr, which must then accept each certificate, too. Prints for each file: problems, proven answers,
certificates that prove as much as the answer says, accepted certificates, nodes, bytes, milliseconds that the solver
and the writer took, and the writer's time as a multiple of that of `goodput allot` (including its input and output).
"""
import argparse
import csv
import gzip
import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent.parent / "tests" / "proof"))
from check_proof import Refused, check  # noqa: E402


def read_assignment(text):
    numbers = [float(word) for word in text.split()]
    agents, jobs = int(numbers[0]), int(numbers[1])
    cost, units = numbers[2:2 + agents * jobs], numbers[2 + agents * jobs:2 + 2 * agents * jobs]
    top = 1 + max(cost)
    return {"capacity": numbers[2 + 2 * agents * jobs:2 + 2 * agents * jobs + agents],
            "jobs": [{"must": True, "options": [{"value": top - cost[a * jobs + j], "use": [[a, units[a * jobs + j]]]}
                                                for a in range(agents)]} for j in range(jobs)]}


def read_choices(text):
    rows = [[float(word) for word in line.split()] for line in text.split("Solutions")[0].splitlines()]
    rows = [row for row in rows if row]
    problem = {"capacity": rows[1], "jobs": []}
    for row in rows[2:]:
        if len(row) == 1:
            problem["jobs"].append({"must": True, "options": []})
        else:
            use = [[r, units] for r, units in enumerate(row[1:]) if units > 0]
            problem["jobs"][-1]["options"].append({"value": row[0], "use": use})
    return problem


def problems_of(folder, only):
    """Yields (name, problems) of each file."""
    for path in sorted(folder.glob("*.jsonl.gz")):
        if only in path.name:
            with gzip.open(path, "rt") as lines:
                yield path.name.removesuffix(".jsonl.gz"), [json.loads(line) for line in lines]
    if (folder / "instances.csv").exists():
        with open(folder / "instances.csv", newline="") as table:
            for row in csv.DictReader(table):
                if row["kind"] in ("gap", "mmkp") and only in row["name"]:
                    read = read_assignment if row["kind"] == "gap" else read_choices
                    yield row["name"], [read((folder / row["what"]).read_text())]


def run(program, problems, options):
    """Returns the answers, and the milliseconds that they took altogether."""
    lines = "".join(json.dumps(problem) + "\n" for problem in problems)
    start = time.monotonic()
    out = subprocess.run([program, "allot", *options], input=lines, capture_output=True, text=True, check=True).stdout
    return [json.loads(line) for line in out.splitlines()], 1e3 * (time.monotonic() - start)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program")
    parser.add_argument("folder", type=Path)
    parser.add_argument("--gap", type=float, default=1e-4)
    parser.add_argument("--deadline-ms", type=float)
    parser.add_argument("--viprchk")
    parser.add_argument("--only", default="")
    asked = parser.parse_args()
    print(f"{'':24}{'problems':>9}{'proven':>8}{'closed':>8}{'accepted':>9}{'nodes':>9}{'bytes':>12}"
          f"{'solve ms':>10}{'write ms':>10}{'of all':>8}")
    totals, refused = [0] * 8, 0
    for name, problems in problems_of(asked.folder, asked.only):
        problems = [{"capacity": p["capacity"], "jobs": p["jobs"], "gap": asked.gap} for p in problems]
        if asked.deadline_ms:
            for problem in problems:
                problem["deadline_ms"] = asked.deadline_ms
        _, without = run(asked.program, problems, [])
        with tempfile.TemporaryDirectory() as folder:
            answers, _ = run(asked.program, problems, ["--proof", str(Path(folder) / "proof")])
            row = [len(problems), 0, 0, 0, 0, 0, 0, 0]
            for number, (problem, answer) in enumerate(zip(problems, answers, strict=True)):
                proof = answer["proof"]
                row[1] += answer["status"] in ("optimal", "infeasible")
                row[2] += proof["closed"]
                row[4] += proof["nodes"]
                row[5] += proof["bytes"]
                row[6] += answer["milliseconds"]
                row[7] += proof["milliseconds"]
                try:
                    if proof["file"]:
                        check(Path(proof["file"]).read_text(), problem)
                        if asked.viprchk and subprocess.run([asked.viprchk, proof["file"]], capture_output=True).returncode:
                            raise Refused("by viprchk")
                        row[3] += 1
                except Refused as complaint:
                    print(f"{name}, line {number + 1}: refused: {complaint}")
                    refused += 1
        print(f"{name:24}{row[0]:9}{row[1]:8}{row[2]:8}{row[3]:9}{row[4]:9}{row[5]:12}{row[6]:10.1f}{row[7]:10.1f}"
              f"{row[7] / without:8.2f}", flush=True)
        totals = [a + b for a, b in zip(totals, row)]
    print(f"{'all':24}{totals[0]:9}{totals[1]:8}{totals[2]:8}{totals[3]:9}{totals[4]:9}{totals[5]:12}{totals[6]:10.1f}"
          f"{totals[7]:10.1f}")
    sys.exit(1 if refused else 0)


if __name__ == "__main__":
    main()
