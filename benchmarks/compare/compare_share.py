#!/usr/bin/env python3
"""compare_share.py PROGRAM DATA/gavel [--repeat N] [--jobs 100,250,1000]

Sends every instance of the folder through `goodput share`. Compares recomputed objectives and constraints with the
stored optima and, with --highs, the time of HiGHS (scipy's, the solver's call alone) for the same linear programs on
this machine in this run, one thread. Only --highs needs python3-scipy.
"""
import argparse, glob, json, math, os, subprocess, sys

POLICIES = {
    "max_min_fairness_perf": "max_min",
    "max_min_fairness_water_filling_perf": "water_filling",
    "finish_time_fairness_perf": "finish_time_fairness",
    "max_sum_throughput_perf": "sum",
    "max_sum_throughput_normalized_by_cost_perf": "sum_per_dollar",
    "max_sum_throughput_SLO": "sum",
    "min_total_duration_perf": "makespan",
    "isolated": "isolated",
    "proportional": "proportional",
    "fifo_perf": "fifo",
    "allox": "allox",
}


def question(instance, reference, objective):
    types = instance["worker_types"]
    deadlines = reference.get("slo_seconds", {}) if reference else {}
    jobs = []
    for i, job in enumerate(instance["jobs"]):
        entry = {"name": str(job["job_id"]), "gpus": job["scale_factor"], "weight": job["priority_weight"],
                 "rate": dict(zip(types, job["throughputs"])), "left": job["num_steps_remaining"],
                 "age_s": job["time_since_start"], "isolated_s": job["cumulative_isolated_time"]}
        if str(job["job_id"]) in deadlines:
            entry["deadline_s"] = deadlines[str(job["job_id"])]
        jobs.append(entry)
    return {"objective": objective, "gpus": dict(zip(types, instance["num_workers"])),
            "price_h": dict(zip(types, instance["instance_cost_per_hour"])), "jobs": jobs}


def recomputed(policy, instance, shares):
    """Returns the objective by its definition, and by how much a constraint is violated."""
    types, workers = instance["worker_types"], instance["num_workers"]
    jobs, m = instance["jobs"], len(instance["jobs"])
    x = [[share.get(t, 0.0) for t in types] for share in shares]
    rate = [sum(a * b for a, b in zip(row, job["throughputs"])) for row, job in zip(x, jobs)]
    violation = max([sum(row) - 1 for row in x] + [-min(row) for row in x])
    for t in range(len(types)):
        used = sum(job["scale_factor"] * row[t] for row, job in zip(x, jobs))
        violation = max(violation, (used - workers[t]) / workers[t])
    everything = sum(workers)
    if policy.startswith("max_min"):
        return min(r * job["scale_factor"] / job["priority_weight"] /
                   sum(a * w / everything for a, w in zip(job["throughputs"], workers))
                   for r, job in zip(rate, jobs)), violation
    if policy.startswith("finish"):
        worst = 0
        for r, job in zip(rate, jobs):
            q = [w / m / job["scale_factor"] for w in workers]
            total = max(1.0, sum(q))
            alone = sum(a * b / total for a, b in zip(q, job["throughputs"]))
            left = job["num_steps_remaining"]
            worst = max(worst, (job["time_since_start"] + left / r) / (job["cumulative_isolated_time"] + left / alone))
        return worst, violation
    if policy == "min_total_duration_perf":
        return max(job["num_steps_remaining"] / r for r, job in zip(rate, jobs)), violation
    if policy == "max_sum_throughput_normalized_by_cost_perf":
        cost = instance["instance_cost_per_hour"]
        return sum(a * b / c for row, job in zip(x, jobs) for a, b, c in zip(row, job["throughputs"], cost)), violation
    if policy == "allox":
        return None, violation
    if policy == "proportional":
        violation = 0  # not an allocation
    return sum(rate), violation


def highs_seconds(policy, instance, answer):
    """Returns the time of HiGHS for the linear program, or None if there is none."""
    import numpy
    from highs_time import timed_highs
    from scipy.optimize import linprog
    from scipy.sparse import coo_matrix
    types, workers = instance["worker_types"], instance["num_workers"]
    jobs, n = instance["jobs"], len(instance["worker_types"])
    m = len(jobs)
    everything = sum(workers)
    rows, columns, values, right = [], [], [], []

    def add(row, entries, limit):
        for column, value in entries:
            rows.append(row), columns.append(column), values.append(value)
        right.append(limit)
    row = 0
    for i in range(m):
        add(row, [(i * n + t, 1.0) for t in range(n)], 1.0)
        row += 1
    for t in range(n):
        add(row, [(i * n + t, job["scale_factor"]) for i, job in enumerate(jobs)], workers[t])
        row += 1
    cost = numpy.zeros(m * n + 1)
    bounds = [(0, None)] * (m * n) + [(0, None)]
    if policy == "max_min_fairness_perf":
        cost[-1] = -1
        for i, job in enumerate(jobs):
            p = sum(a * w / everything for a, w in zip(job["throughputs"], workers))
            scale = job["scale_factor"] / job["priority_weight"] / p
            add(row, [(i * n + t, -scale * job["throughputs"][t]) for t in range(n)] + [(m * n, 1.0)], 0.0)
            row += 1
    elif policy == "min_total_duration_perf":
        for i, job in enumerate(jobs):  # in seconds on each type: y = T x, the last unknown is T
            add(row, [(i * n + t, -job["throughputs"][t]) for t in range(n)], -job["num_steps_remaining"])
            row += 1
        for k in range(len(rows)):
            pass
        cost[-1] = 1
        right[:m + n] = [0.0] * (m + n)
        for i in range(m):
            rows.append(i), columns.append(m * n), values.append(-1.0)
        for t in range(n):
            rows.append(m + t), columns.append(m * n), values.append(-float(workers[t]))
    elif policy in ("max_sum_throughput_perf", "max_sum_throughput_normalized_by_cost_perf"):
        price = instance["instance_cost_per_hour"] if "cost" in policy else [1] * n
        for i, job in enumerate(jobs):
            for t in range(n):
                cost[i * n + t] = -job["throughputs"][t] / price[t]
    else:
        return None
    matrix = coo_matrix((values, (rows, columns)), shape=(row, m * n + 1)).tocsc()
    with timed_highs() as seconds:
        for _ in range(3):
            found = linprog(cost, A_ub=matrix, b_ub=right, bounds=bounds, method="highs")
    value = found.fun if policy == "min_total_duration_perf" else -found.fun
    if abs(value / answer["objective"] - 1) > 1e-6:
        sys.exit("HiGHS finds %.10g for %s, goodput %.10g" % (value, policy, answer["objective"]))
    return min(seconds)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program")
    parser.add_argument("data")
    parser.add_argument("--repeat", type=int, default=5, help="calls of which the least time counts")
    parser.add_argument("--highs", action="store_true", help="time HiGHS as well")
    given = parser.parse_args()
    ratios, worst_error, worst_violation, failed = {}, 0, 0, False
    print("%-44s %-9s %14s %9s %9s %9s %9s" % ("policy", "instance", "objective", "rel. diff", "violated", "ms", "HiGHS/ours"))
    for path in sorted(glob.glob(os.path.join(given.data, "reference", "*", "*.json"))):
        policy = os.path.basename(os.path.dirname(path))
        reference = json.load(open(path))
        instance = json.load(open(os.path.join(given.data, "instances", reference["instance"] + ".json")))
        line = json.dumps(question(instance, reference, POLICIES[policy]))
        done = subprocess.run([given.program, "share"], input=(line + "\n") * given.repeat, capture_output=True, text=True)
        answers = [json.loads(answer) for answer in done.stdout.splitlines()]
        if "error" in answers[0]:
            print("%-44s %-9s %s" % (policy, reference["instance"], answers[0]["error"]))
            failed = True
            continue
        answer = answers[0]
        milliseconds = min(a["milliseconds"] for a in answers)
        value, violation = recomputed(policy, instance, answer["shares"])
        value = answer["objective"] if value is None else value
        error = abs(value / reference["objective"] - 1)
        if "level_per_job" in reference:
            error = max([error] + [abs(a / b - 1) for a, b in zip(answer["levels"], reference["level_per_job"])])
        seconds = highs_seconds(policy, instance, answer) if given.highs else None
        if seconds is not None:
            ratios.setdefault(policy, []).append((len(instance["jobs"]), 1e3 * seconds / milliseconds))
        worst_error, worst_violation = max(worst_error, error), max(worst_violation, violation)
        print("%-44s %-9s %14.9g %9.1e %9.1e %9.3f %9s" % (
            policy, reference["instance"], value, error, violation, milliseconds,
            "%.0f" % (1e3 * seconds / milliseconds) if seconds is not None else ""))
    print("worst relative difference %.1e, worst violation %.1e" % (worst_error, worst_violation))
    for policy, of in sorted(ratios.items()):
        large = [r for jobs, r in of if jobs >= 100]
        if large:
            print("%s: HiGHS takes %.0f times as long, 100 to 1,000 jobs, geometric mean" % (
                policy, math.exp(sum(map(math.log, large)) / len(large))))
    sys.exit(1 if failed or worst_error > 1e-6 or worst_violation > 1e-9 else 0)


if __name__ == "__main__":
    main()
