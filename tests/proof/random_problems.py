#!/usr/bin/env python3
"""random_problems.py PROGRAM [COUNT [SEED]]: requires that certificates of random problems prove what answers say.

PROGRAM is goodput. The problems have equal jobs, jobs that must run, dominated options, options that are too large,
values in cents and of every size, quotas of teams, and units that are not whole numbers.
"""
import json
import random
import subprocess
import sys
import tempfile
from pathlib import Path

from check_proof import Refused, check


def random_problem(draw, hard=False):
    resources = draw.randint(1, 5)
    jobs = draw.randint(6, 14) if hard else draw.randint(0, 12)
    fine_units, cents = draw.random() < 0.25, draw.random() < 0.6
    magnitude = 10.0 ** draw.choice([0, 0, 0, 0, -3, 6])
    units = lambda most: draw.uniform(0.1, most) if fine_units else draw.randint(0 if draw.random() < 0.05 else 1, most)
    must = draw.choice([0, 0, 0, 0.3])
    problem = {"capacity": [units(30) for _ in range(resources)], "jobs": []}
    teams = draw.randint(1, 3) if draw.random() < 0.3 else 0
    problem["capacity"] += [units(20) for _ in range(teams)]
    for _ in range(jobs):
        if problem["jobs"] and draw.random() < 0.25:
            problem["jobs"].append(draw.choice(problem["jobs"]))
            continue
        job = {"options": []}
        if draw.random() < must:
            job["must"] = True
        team = draw.randrange(teams) if teams else None
        for _ in range(draw.randint(1, 6)):
            value = draw.uniform(0, 3) * magnitude if not cents else draw.randint(0, 300) / 100
            use = [[r, units(9)] for r in draw.sample(range(resources), min(resources, draw.randint(1, 3)))]
            if team is not None:
                use.append([resources + team, use[0][1]])
            job["options"].append({"value": value, "use": use})
            if draw.random() < 0.2:  # an option that is dominated, or one that is too large
                job["options"].append({"value": value * draw.choice([0.5, 1, 9]),
                                       "use": [[r, u * draw.choice([1, 2, 40])] for r, u in use]})
        problem["jobs"].append(job)
    return problem


def certificates(program, problems, folder, gap=0):
    """Returns (problem, answer, text of the certificate) for each problem."""
    path = str(Path(folder) / "proof")
    lines = "".join(json.dumps({**problem, "gap": gap}) + "\n" for problem in problems)
    run = subprocess.run([program, "allot", "--proof", path], input=lines, capture_output=True, text=True, check=True)
    for problem, line in zip(problems, run.stdout.splitlines(), strict=True):
        answer = json.loads(line)
        yield problem, answer, Path(answer["proof"]["file"]).read_text() if answer["proof"]["file"] else None


def main():
    count, seed = (int(word) for word in (sys.argv[2:] + ["300", "1"][len(sys.argv) - 2:])[:2])
    draw = random.Random(seed)
    wrong = searched = nothing = size = 0
    for gap in (0, 1e-3):
        with tempfile.TemporaryDirectory() as folder:
            problems = [random_problem(draw) for _ in range((count + 1) // 2)]
            for number, (problem, answer, text) in enumerate(certificates(sys.argv[1], problems, folder, gap)):
                try:
                    (kind, lower, upper), _ = check(text, problem)
                except Refused as refused:
                    print(f"gap {gap}, problem {number}: refused: {refused}")
                    wrong += 1
                    continue
                infeasible = answer["status"] == "infeasible"
                says = kind == "infeas" if infeasible else kind == "range" and (
                    abs(float(lower) - answer["objective"]) <= 1e-9 * max(1, answer["objective"])
                    and float(upper) <= max(answer["bound"], answer["objective"] * (1 + gap)) * (1 + 1e-9) + 1e-9
                    and answer["proof"]["closed"])
                if not says:
                    print(f"gap {gap}, problem {number}: {kind} {lower} {upper} is not what the answer says: {answer}")
                    wrong += 1
                searched += answer["proof"]["nodes"] > 1
                nothing += infeasible
                size += len(text)
    print(f"{count} certificates, {size} bytes: {wrong} wrong; {searched} with several nodes, {nothing} of no allotment")
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
