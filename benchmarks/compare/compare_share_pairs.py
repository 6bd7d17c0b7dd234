#!/usr/bin/env python3
"""compare_share_pairs.py PROGRAM DATA/gavel [--jobs 10,30,100,200] [--seeds 2] [--objectives max_min,...] [--every]

Compares `goodput share` on pairs with HiGHS (scipy's, one thread) on the same programs: jobs drawn from Gavel's table
of measured speeds, and every two jobs with equally many GPUs as a pair, at the speeds measured for both together.
Prints for each program the objective of both, by how much ours breaks a constraint, our bound's distance, and how many
times as long HiGHS takes (the solver's call alone, against our search alone; --ours: without HiGHS, for many jobs).
Objectives that are not linear are checked by a linear program: finish-time fairness and deadlines by the level that
HiGHS reaches at our answer, Nash welfare by its slope there, water filling level by level. Exits with 1 if an objective
differs by more than 1e-6. --every: also the pairs that gain nothing.
"""
import argparse, gzip, json, math, pathlib, random, subprocess, sys

import numpy
from scipy.optimize import linprog
from scipy.sparse import coo_matrix

from highs_time import timed_highs

TYPES, DOLLARS = ["k80", "p100", "v100"], [0.45, 1.46, 2.48]
ENTITIES = {"x": 1, "y": 2, "z": 3}
OBJECTIVES = ["max_min", "sum", "sum_per_dollar", "makespan", "finish_time_fairness", "nash", "deadlines",
              "water_filling", "entities"]


def instance(table, jobs, seed, every):
    """Returns jobs, three quarters of them with one GPU and the others with two, and all pairs. Weights are 1, as in
    Gavel's traces, or differ if the seed is odd."""
    draw = random.Random(seed)
    kinds = {scale: sorted(k for k in table["v100"] if k.endswith(f", {scale})")) for scale in (1, 2)}
    chosen = []
    for i in range(jobs):
        scale = 1 if draw.random() < 0.75 else 2
        kind = draw.choice(kinds[scale])
        rate = [table[t][kind]["null"] for t in TYPES]
        hours = 10 ** draw.uniform(-0.5, 2)
        left = max(1, int(max(rate) * 3600 * hours))
        chosen.append({"name": str(i), "kind": kind, "gpus": scale, "weight": draw.choice([1, 1, 1, 2, 4]) if seed % 2 else 1, "rate": rate,
                       "left": left, "age_s": round(draw.uniform(0, 5e4), 1),
                       "isolated_s": round(draw.uniform(0, 3e4), 1), "entity": draw.choice("xyz")})
    gpus = [max(2, jobs // 8)] * 3
    pairs = []
    for i in range(jobs):
        for k in range(i):
            a, b = chosen[k], chosen[i]
            if a["gpus"] != b["gpus"]:
                continue
            rate = [table[t][a["kind"]].get(b["kind"], [0, 0]) for t in TYPES]
            gains = [sum(r[i] / job["rate"][t] if job["rate"][t] else r[i] * math.inf for i, job in enumerate((a, b))
                         if r[i] > 0) > 1 for t, r in enumerate(rate)]
            if every or any(gains):
                pairs.append({"jobs": [k, i], "rate": rate})
    return {"gpus": gpus, "jobs": chosen, "pairs": pairs}


class Columns:
    """All times that can be assigned, and the rows that they always keep."""

    def __init__(self, of):
        self.of, jobs = of, of["jobs"]
        self.jobs, self.n, self.m = jobs, len(TYPES), len(jobs)
        self.rates, self.of_job = [], [[] for _ in jobs]  # by column: (job, rate); by job: its columns
        self.type, self.use = [], []
        for i, job in enumerate(jobs):
            for t in range(self.n):
                self.add(t, job["gpus"], [(i, job["rate"][t])])
        for pair in of["pairs"]:
            for t in range(self.n):
                self.add(t, jobs[pair["jobs"][0]]["gpus"], list(zip(pair["jobs"], pair["rate"][t])))
        rows, columns, values = [], [], []
        for c, of_column in enumerate(self.rates):
            for i, _ in of_column:
                rows.append(i), columns.append(c), values.append(1.0)
            rows.append(self.m + self.type[c]), columns.append(c), values.append(float(self.use[c]))
        self.base = (rows, columns, values, [1.0] * self.m + [float(g) for g in of["gpus"]])

    def add(self, t, use, rates):
        if any(rate > 0 for _, rate in rates):
            for i, _ in rates:
                self.of_job[i].append(len(self.type))
            self.type.append(t), self.use.append(use), self.rates.append(rates)

    def rate_entries(self, i, scale):
        return [(c, scale * rate) for c in self.of_job[i] for k, rate in self.rates[c] if k == i]

    def solve(self, cost, rows=(), extra=0, stretched=None):
        """Solves for least cost. rows: (entries, limit); `extra`: further columns; `stretched`: limits are multiples of
        it."""
        r, c, v, right = [list(part) for part in self.base]
        if stretched is not None:
            for k, limit in enumerate(right):
                r.append(k), c.append(stretched), v.append(-limit)
            right = [0.0] * len(right)
        for entries, limit in rows:
            for column, value in entries:
                r.append(len(right)), c.append(column), v.append(value)
            right.append(limit)
        size = len(self.type) + extra
        matrix = coo_matrix((v, (r, c)), shape=(len(right), size)).tocsc()
        with timed_highs() as seconds:
            found = linprog(cost, A_ub=matrix, b_ub=right, bounds=(0, None), method="highs")
        return found, min(seconds)

    def level(self, needs, floors=None):
        """Returns the largest level l at which every job has needs * l (+ floors)."""
        top = len(self.type)
        cost = numpy.zeros(top + 1)
        cost[-1] = -1
        # Scales every row by the job's largest rate, and the level to about 1, because HiGHS keeps rows to 1e-7.
        most = [max((r for c in self.of_job[i] for k, r in self.rates[c] if k == i), default=1) for i in range(self.m)]
        unit = max(need / m for need, m in zip(needs, most)) * self.m / 10
        rows = [(self.rate_entries(i, -1 / most[i]) + [(top, need / unit / most[i])],
                 -(floors[i] / most[i] if floors else 0.0)) for i, need in enumerate(needs)]
        found, seconds = self.solve(cost, rows, 1)
        return (-found.fun / unit if found.status == 0 else math.nan), seconds


def proportional(of, job):
    return sum(r * g for r, g in zip(job["rate"], of["gpus"])) / sum(of["gpus"])


def filled(columns, of, entities):
    """Returns levels by water filling, from its definition."""
    jobs, m = of["jobs"], len(of["jobs"])
    one = [proportional(of, job) / job["gpus"] for job in jobs]
    height, active, seconds = [0.0] * m, set(range(m)), 0
    while active:
        if entities:
            sums = {}
            for i in active:
                sums[jobs[i]["entity"]] = sums.get(jobs[i]["entity"], 0) + jobs[i]["weight"]
            speed = [ENTITIES[jobs[i]["entity"]] * jobs[i]["weight"] / sums[jobs[i]["entity"]] if i in active else 0.0
                     for i in range(m)]
        else:
            speed = [float(jobs[i]["weight"]) if i in active else 0.0 for i in range(m)]
        rise, took = columns.level([s * o for s, o in zip(speed, one)], [h * o * (1 - 1e-9) for h, o in zip(height, one)])
        seconds += took
        height = [h + s * rise for h, s in zip(height, speed)]
        for i in sorted(active):  # can the job have more while all others keep theirs?
            step = 1e-4 * max(height[i], 1e-9)
            floors = [h * o * (1 - 1e-8) for h, o in zip(height, one)]
            more, _ = columns.level([one[k] * step if k == i else 0.0 for k in range(m)], floors)
            if not more > 0.5:
                active.discard(i)
    return [h / job["weight"] for h, job in zip(height, jobs)], seconds


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("program")
    parser.add_argument("data", type=pathlib.Path)
    parser.add_argument("--jobs", default="10,30,100,200")
    parser.add_argument("--seeds", type=int, default=2)
    parser.add_argument("--objectives", default=",".join(OBJECTIVES))
    parser.add_argument("--every", action="store_true")
    parser.add_argument("--ours", action="store_true")
    arguments = parser.parse_args()
    table = json.load(gzip.open(arguments.data / "simulation_throughputs.json.gz"))
    worst, ratios = 0.0, {}
    print(f"{'objective':22} {'jobs':>5} {'pairs':>6} {'ours':>16} {'differs':>9} {'violation':>9} {'bound':>9} {'ms':>9} "
          f"{'HiGHS ms':>9} {'times':>6}")
    for m in map(int, arguments.jobs.split(",")):
        for seed in range(arguments.seeds):
            of = instance(table, m, 1000 * m + seed, arguments.every)
            columns = Columns(of)
            for objective in arguments.objectives.split(","):
                compare(arguments, of, columns, objective, m, ratios)
                worst = max(worst, ratios.get("worst", 0))
    for objective, of in ratios.items():
        if objective != "worst":
            print("%s: HiGHS takes %.0f times as long with %d jobs" % (objective[0], of[0] / of[1], objective[1]))
    print(f"largest difference {worst:.1e}")
    sys.exit(worst > 1e-6)


def compare(arguments, of, columns, objective, m, ratios):
    named = {"deadlines": "sum", "entities": "water_filling"}.get(objective, objective)
    if named == "water_filling" and m > 30:
        return
    by_type = lambda values: {t: v for t, v in zip(TYPES, values) if v != 0}
    jobs = [{**{k: v for k, v in job.items() if k != "kind"}, "rate": by_type(job["rate"])} for job in of["jobs"]]
    line = {"objective": named, "gpus": by_type(of["gpus"]), "price_h": dict(zip(TYPES, DOLLARS)),
            "jobs": jobs, "pairs": [{"jobs": p["jobs"], "rate": {t: r for t, r in zip(TYPES, p["rate"]) if r != [0, 0]}}
                                    for p in of["pairs"]]}
    if objective == "deadlines":  # deadlines that can be met: half of what all jobs can have at once
        level, _ = columns.level([float(job["left"]) for job in of["jobs"]])
        for i, job in enumerate(jobs):
            if i % 3 == 0:
                job["deadline_s"] = 2 / level
    if objective == "entities":
        line["entities"] = [{"name": name, "weight": weight} for name, weight in ENTITIES.items()]
    run = subprocess.run([arguments.program, "share"], input=5 * (json.dumps(line) + "\n"), stdout=subprocess.PIPE, text=True)
    answers = [json.loads(text) for text in run.stdout.splitlines()]
    answer = min(answers, key=lambda one: one.get("milliseconds", 0))
    if "error" in answer:
        sys.exit(answer["error"])
    # What the answer says, computed from its shares.
    rate, time_of, used = [0.0] * m, [0.0] * m, [0.0] * len(TYPES)
    for i, share in enumerate(answer["shares"]):
        for t, name in enumerate(TYPES):
            x = share.get(name, 0)
            rate[i] += x * of["jobs"][i]["rate"][t]
            time_of[i] += x
            used[t] += x * of["jobs"][i]["gpus"]
    for pair, share in zip(of["pairs"], answer["pair_shares"]):
        for t, name in enumerate(TYPES):
            x = share.get(name, 0)
            used[t] += x * of["jobs"][pair["jobs"][0]]["gpus"]
            for i, r in zip(pair["jobs"], pair["rate"][t]):
                rate[i] += x * r
                time_of[i] += x
    violation = max(max(time_of) - 1, max(u / g - 1 for u, g in zip(used, of["gpus"])))
    if arguments.ours:
        print(f"{objective:22} {m:5} {len(of['pairs']):6} {answer['objective']:16.9g} {'':9} {violation:9.1e} "
              f"{abs(answer['bound'] / answer['objective'] - 1):9.1e} {answer['milliseconds']:9.2f}")
        return
    jobs, best, seconds = of["jobs"], None, None
    if objective == "max_min":
        needs = [job["weight"] * proportional(of, job) / job["gpus"] for job in jobs]
        best, seconds = columns.level(needs)
        ours = min(r / need for r, need in zip(rate, needs))
    elif objective == "makespan":
        level, seconds = columns.level([float(job["left"]) for job in jobs])
        best, ours = 1 / level, max(job["left"] / r for r, job in zip(rate, jobs))
    elif named in ("sum", "sum_per_dollar"):
        price = DOLLARS if named == "sum_per_dollar" else [1] * 3
        cost = [-sum(r for _, r in of_column) / price[t] for of_column, t in zip(columns.rates, columns.type)]
        rows = [(columns.rate_entries(i, -1.0), -job["left"] / line["jobs"][i]["deadline_s"])
                for i, job in enumerate(jobs) if "deadline_s" in line["jobs"][i]]
        found, seconds = columns.solve(cost, rows)
        best = -found.fun
        ours = answer["objective"]
        for i, r in enumerate(rate):
            if "deadline_s" in line["jobs"][i]:
                violation = max(violation, 1 - r * line["jobs"][i]["deadline_s"] / jobs[i]["left"])
    elif objective == "finish_time_fairness":
        def alone(job):
            q = [g / m / job["gpus"] for g in of["gpus"]]
            return sum(a * b / max(1.0, sum(q)) for a, b in zip(q, job["rate"]))
        alone_s = [job["isolated_s"] + job["left"] / alone(job) for job in jobs]
        ours = max((job["age_s"] + job["left"] / r) / a for r, job, a in zip(rate, jobs, alone_s))
        # At rho = ours, all needs are just met: HiGHS' level there is 1 if rho is best.
        level, seconds = columns.level([job["left"] / max(ours * a - job["age_s"], 1e-9) for job, a in zip(jobs, alone_s)])
        best = ours * (1 + (1 - level))
    elif objective == "nash":
        ours = sum(job["weight"] * math.log(r) for r, job in zip(rate, jobs))
        cost = [-sum(jobs[i]["weight"] / rate[i] * r for i, r in of_column) for of_column in columns.rates]
        found, seconds = columns.solve(cost)  # concave: no better than along its slope
        weights = sum(job["weight"] for job in jobs)
        best = ours + (-found.fun - weights) / weights * abs(ours)
    else:
        levels, seconds = filled(columns, of, objective == "entities")
        gap = max(abs(a - b) / b for a, b in zip(answer["levels"], levels))
        ours, best = min(answer["levels"]), min(answer["levels"]) * (1 + gap)
    error = abs(ours - best) / max(abs(best), 1e-300)
    bound = abs(answer["bound"] - answer["objective"]) / max(abs(answer["bound"]), 1e-300)
    if objective != "entities" and objective != "water_filling":
        ratios.setdefault((objective, m), [0, 0])
        ratios[(objective, m)][0] += seconds * 1e3
        ratios[(objective, m)][1] += answer["milliseconds"]
    tolerance = 1e-5 if named == "water_filling" else 1  # HiGHS keeps rows to 1e-7 only, at every level
    ratios["worst"] = max(ratios.get("worst", 0), error * (0.1 if tolerance < 1 else 1))
    print(f"{objective:22} {m:5} {len(of['pairs']):6} {ours:16.9g} {error:9.1e} {violation:9.1e} {bound:9.1e} "
          f"{answer['milliseconds']:9.2f} {seconds * 1e3:9.1f} {seconds * 1e3 / answer['milliseconds']:6.0f}")


if __name__ == "__main__":
    main()
