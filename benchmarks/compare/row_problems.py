#!/usr/bin/python3
"""Writes allotment problems with many rows, as in a cluster with teams, licences, budgets and nodes.

usage: row_problems.py family|map [--highs HIGHS] [--only PATTERN] [--seed N] > FILE.jsonl

family: 32 problems, four of each of eight groups. map: 25 sizes with two problems each, and at 50 jobs x 16 rows one
change at a time, three problems each. One problem per line, in the form of `goodput allot`, with `name`. All come
from fixed seeds: the same problems everywhere, none of them from a trace. With --highs (a program `highs`), each line
has a `reference`: objective, bound and CPU seconds of HiGHS at a relative gap of 1e-6, at most 120 s, its point
checked against every row.

Rows begin with the GPUs of the pools, then come those of node blocks, then the others. An option is a number of GPUs
of one pool (and block). Its value is the job's weight x (speed of the pool x GPUs)^(0.55 to 0.9). It also uses other
rows: its GPUs of a team's quota, an amount of cores or memory per GPU that differs from job to job, the pool's watts
or price per GPU of power and budgets, and one licence.
"""
import argparse
import fnmatch
import json
import random
import sys
from dataclasses import dataclass, replace
from decimal import Decimal

SIZES = [1, 2, 4, 8, 16]
EVERYTHING = ("team", "cores", "memory", "licence", "power", "budget")


@dataclass
class Shape:
    """The parameters of a problem."""
    jobs: int = 50
    rows: int = 16
    pools: int = 3
    blocks: int = 0
    kinds: tuple = EVERYTHING    # kinds of rows after pools and blocks, in turn
    options: int = 12
    tightness: tuple = (0.10, 0.40)  # of an extra row: its capacity as a fraction of what all jobs could use
    supply: tuple = (0.6, 1.3)   # of all pools, as a fraction of what the jobs use on average
    share: float = 0.6           # fraction of the jobs that use a row of cores, memory or licences
    must: float = 0.0            # fraction of the jobs that must run
    whole: bool = False          # amounts are whole numbers
    several_teams: bool = False  # a job may be in no team, one or more
    value: str = "power"         # or: uncorrelated, weakly, strongly


def rounded(amount, whole):
    return max(1, int(amount + 0.5)) if whole else round(amount + 0.005, 2)


def sizes_by_pool(shape, draw):
    """Returns by pool the numbers of GPUs that a job may have there."""
    each = [shape.options // shape.pools + (pool < shape.options % shape.pools) for pool in range(shape.pools)]
    offered = []
    for count in each:
        known = SIZES if count <= len(SIZES) else list(range(1, 17))
        offered.append(sorted(draw.sample(known, min(count, len(known)))))
    return offered


def problem_of(shape, draw):
    pools, kinds = shape.pools, []
    for number in range(shape.rows - pools - shape.blocks):
        kinds.append(shape.kinds[number % len(shape.kinds)])
    draw.shuffle(kinds)
    first = pools + shape.blocks
    speed = [draw.uniform(0.6, 2.5) for _ in range(pools)]
    home = [draw.randrange(pools) for _ in kinds]        # the pool of a row of cores or memory
    price = [[draw.uniform(1, 6) for _ in range(pools)] for _ in kinds]
    block_pool = [number % pools for number in range(shape.blocks)]
    teams = [row for row, kind in enumerate(kinds) if kind == "team"]
    jobs = []
    for _ in range(shape.jobs):
        weight, power = draw.lognormvariate(2, 0.5), draw.uniform(0.55, 0.9)
        taste = [draw.uniform(0.5, 1.5) for _ in range(pools)]
        mine = {draw.choice(teams)} if teams else set()
        if shape.several_teams:
            mine = {row for row in teams if draw.random() < 0.5}
        amount = {row: draw.uniform(0.2, 8.2) for row, kind in enumerate(kinds)
                  if kind in ("cores", "memory") and draw.random() < shape.share}
        licences = {row for row, kind in enumerate(kinds) if kind == "licence" and draw.random() < shape.share * 0.7}
        options = []
        for pool, sizes in enumerate(sizes_by_pool(shape, draw)):
            for gpus in sizes:
                uses = []
                for row, kind in enumerate(kinds):
                    taken = 0
                    if kind == "team" and row in mine:
                        taken = gpus
                    elif kind in ("cores", "memory") and home[row] == pool and row in amount:
                        taken = rounded(amount[row] * gpus, shape.whole)
                    elif kind in ("power", "budget"):
                        taken = rounded(price[row][pool] * gpus, shape.whole)
                    elif kind == "licence" and row in licences:
                        taken = 1
                    if taken:
                        uses.append([first + row, taken])
                value = {"power": weight * (speed[pool] * taste[pool] * gpus) ** power,
                         "uncorrelated": draw.uniform(1, 100),
                         "weakly": 10 * gpus * speed[pool] * draw.uniform(0.8, 1.2),
                         "strongly": 10 * gpus + 10}[shape.value]
                here = [block for block, of in enumerate(block_pool) if of == pool]
                places = draw.sample(here, min(len(here), draw.randint(1, 3))) if here else [None]
                for block in sorted(places, key=lambda place: -1 if place is None else place):
                    in_block = [] if block is None else [[pools + block, gpus]]
                    options.append({"value": round(value, 4), "use": [[pool, gpus], *in_block, *uses]})
        jobs.append({"options": options})
    return {"capacity": capacities(shape, kinds, jobs, draw), "jobs": jobs}


def capacities(shape, kinds, jobs, draw):
    most = [0.0] * shape.rows
    demand = 0.0
    for job in jobs:
        largest = {}
        for option in job["options"]:
            for row, taken in option["use"]:
                largest[row] = max(largest.get(row, 0), taken)
        for row, taken in largest.items():
            most[row] += taken
        demand += sum(option["use"][0][1] for option in job["options"]) / len(job["options"])
    supply = demand * draw.uniform(*shape.supply)
    parts = [draw.uniform(0.6, 1.4) for _ in range(shape.pools)]
    capacity = [max(1, round(supply * part / sum(parts))) for part in parts]
    for block in range(shape.blocks):
        pool = block % shape.pools
        others = len(range(pool, shape.blocks, shape.pools))
        capacity.append(max(16, round(capacity[pool] / others * draw.uniform(0.9, 1.5))))
    for row, kind in enumerate(kinds):
        part = draw.uniform(*shape.tightness)
        capacity.append(max(1, round(most[shape.pools + shape.blocks + row] * part)))
    return capacity


def can_all_run(problem):
    """Whether the jobs that must run fit one by one, each with the option that takes least of what is left."""
    left = list(problem["capacity"])
    for job in problem["jobs"]:
        if not job.get("must"):
            continue
        fitting = [option for option in job["options"] if all(taken <= left[row] for row, taken in option["use"])]
        if not fitting:
            return False
        chosen = min(fitting, key=lambda option: max(taken / left[row] for row, taken in option["use"]))
        for row, taken in chosen["use"]:
            left[row] -= taken
    return True


def drawn(name, shape, seed):
    """Returns the problem of that name: the first draw in which all jobs that must run can run."""
    for attempt in range(1000):
        draw = random.Random(f"{seed} {name} {attempt}")
        problem = problem_of(shape, draw)
        for job in draw.sample(problem["jobs"], round(shape.must * shape.jobs)):
            job["must"] = True
        if can_all_run(problem):
            return {"name": name, **problem}
    raise ValueError(f"{name}: no draw lets all jobs run that have to")


def family():
    """Yields names and shapes of 32 problems like a cluster's."""
    host = ("cores", "memory")
    groups = {
        "small": (Shape(pools=2, options=10, kinds=("team", "cores", "memory", "licence", "budget")),
                  [(20, 8), (20, 12), (20, 16), (20, 24)]),
        "teams": (Shape(options=15, kinds=("team",) * 5 + ("budget", "power")),
                  [(50, 12), (100, 20), (150, 24), (200, 32)]),
        "host": (Shape(kinds=host, whole=True, share=1.0), [(50, 8), (100, 10), (150, 12), (200, 16)]),
        "licences": (Shape(kinds=("licence", "licence", "licence", "team", "budget")),
                     [(40, 16), (80, 20), (120, 24), (150, 32)]),
        "blocks": (Shape(pools=2, options=10, whole=True, kinds=("team", "power", "team", "memory")),
                   [(50, 20), (80, 24), (120, 32), (150, 40)]),
        "all": (Shape(options=15, whole=True, several_teams=True), [(50, 16), (50, 24), (50, 48), (50, 64)]),
        "large": (Shape(pools=4, several_teams=True), [(200, 24), (300, 32), (400, 48), (500, 64)]),
        "must": (Shape(must=0.2, kinds=("team", "cores", "memory", "power", "licence")),
                 [(50, 10), (80, 12), (100, 20), (120, 24)]),
    }
    for group, (shape, sizes) in groups.items():
        for number, (jobs, rows) in enumerate(sizes):
            blocks = rows // 2 if group == "blocks" else 0
            yield f"{group}-{jobs}x{rows}-{number}", replace(shape, jobs=jobs, rows=rows, blocks=blocks)


def whole_map():
    """Yields names and shapes: sizes, and what one change does at 50 jobs x 16 rows."""
    base = Shape(tightness=(0.15, 0.15), supply=(0.5, 0.5), share=0.35, value="weakly", several_teams=True)
    for jobs in (20, 50, 100, 200, 500):
        for rows in (4, 8, 16, 32, 64):
            pools = 2 if rows == 4 else 3
            for number in range(2):
                yield f"size-{jobs}x{rows}-{number}", replace(base, jobs=jobs, rows=rows, pools=pools)
    changes = [(f"tightness-{part}", {"tightness": (part, part)}) for part in (0.1, 0.3, 0.5, 0.7)]
    changes += [(f"pools-{part}", {"supply": (part, part)}) for part in (0.25, 1.0, 2.0)]
    changes += [(f"share-{part}", {"share": part}) for part in (0.1, 0.7, 1.0)]
    changes += [(f"value-{value}", {"value": value}) for value in ("uncorrelated", "strongly", "power")]
    changes += [(f"options-{count}", {"options": count}) for count in (3, 6, 24, 30)]
    changes += [(f"kind-{kind}", {"kinds": (kind,)}) for kind in EVERYTHING]
    changes += [("whole", {"whole": True}), ("blocks", {"blocks": 8}), ("must", {"must": 0.2}),
                ("one_team", {"several_teams": False})]
    for name, change in changes:
        for number in range(3):
            yield f"{name}-{number}", replace(base, **change)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("which", choices=["family", "map"])
    parser.add_argument("--highs", metavar="HIGHS", help="program highs; writes a reference with every problem")
    parser.add_argument("--only", default="*", metavar="PATTERN", help="only names that match")
    parser.add_argument("--seed", type=int, default=1, metavar="N")
    given = parser.parse_args()
    for name, shape in {"family": family, "map": whole_map}[given.which]():
        if not fnmatch.fnmatch(name, given.only):
            continue
        problem = drawn(name, shape, given.seed)
        if given.highs:
            import highs_program
            exact = json.loads(json.dumps(problem), parse_float=Decimal)
            answer = highs_program.HighsModel(given.highs, exact).solve(1e-6, 120)
            for fault in answer["faults"]:
                print(f"{name}: {fault}", file=sys.stderr)
            objective = answer["objective"]
            problem["reference"] = {"objective": None if objective is None else float(objective),
                                    "bound": answer["bound"], "seconds": round(answer["seconds"], 3),
                                    "status": answer["status"]}
        print(json.dumps(problem), flush=True)


if __name__ == "__main__":
    main()
