#!/usr/bin/env python3
"""Plans rounds through the C interface: what `goodput plan --explain --advise` answers, without a program.

    python3 plan.py LIBRARY HEADER [sia | goodput] < rounds       one JSON document a line, as docs/program.md describes

It answers who gets what, with objective, bound, status, prices, limits, warnings, and what is worth renting.
"""

import ctypes
import json
import math
import os
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import goodput_c  # noqa: E402


class Scheduler:
    """A scheduler with its memory of earlier rounds."""

    def __init__(self, c, policy):
        self.c, self.types = c, []
        self.scheduler = goodput_c.Handle(c, "scheduler")
        self.scheduler.configure(goodput_c.sized(c.goodput_scheduler_settings, policy=policy))

    # [plan]
    def plan(self, document):
        """The plan of a round, as `goodput plan` writes it."""
        c, nodes, jobs = self.c, document["nodes"], document["jobs"]
        types = list(self.types)
        arrays = {name: goodput_c.array(kind, elements) for name, (kind, elements) in self.read(document, types).items()}
        round_ = goodput_c.sized(c.goodput_round, time_s=document["time_s"], gpu_type_count=len(types),
                                 gpu_type=(ctypes.c_char_p * len(types))(*(name.encode() for name in types)))
        for name, elements in arrays.items():
            setattr(round_, name, elements)
            setattr(round_, name + "_count", len(elements))
            setattr(round_, name + "_size", ctypes.sizeof(elements._type_))
        round_.deadline_ms = document.get("deadline_ms") or 0
        round_.flags = c.GOODPUT_ROUND_SETS_ASIDE
        for flag, field in ((c.GOODPUT_ROUND_HAS_BUDGET, "budget_h"), (c.GOODPUT_ROUND_HAS_SPOT_GPUS, "spot_gpus")):
            if document.get(field) is not None:
                setattr(round_, field, document[field])
                round_.flags |= flag
        names = [name.encode() for name in document.get("cancelled") or ()]
        round_.cancelled, round_.cancelled_count = (ctypes.c_char_p * len(names))(*names), len(names)

        plan = goodput_c.sized(c.goodput_plan)
        room = {"decision": len(jobs), "share": sum(node["gpus"] for node in nodes), "price": len(nodes), "limit": 1024}
        for name, capacity in room.items():
            kind = getattr(c, {"decision": "goodput_decision", "share": "goodput_share",
                               "price": "goodput_pool_price", "limit": "goodput_limit_use"}[name])
            setattr(plan, name, (kind * capacity)())
            setattr(plan, name + "_capacity", capacity)
            setattr(plan, name + "_size", ctypes.sizeof(kind))
        self.scheduler.plan(round_, plan)
        self.types = types
        answer = self.answer(document, types, plan)
        if document.get("offers") is not None:
            answer["advice"] = self.advise(document, types)
        return answer
    # [/plan]

    def advise(self, document, types):
        """Which of the document's offers are worth their price."""
        c, offers = self.c, []
        for offer in document["offers"]:
            flags = c.GOODPUT_OFFER_SPOT if offer.get("spot") else 0
            flags |= c.GOODPUT_OFFER_HAS_START if offer.get("start_s") is not None else 0
            offers.append(c.goodput_offer(
                name=offer["name"].encode(), gpu_type=types.index(offer["gpu_type"]), gpus=offer["gpus"], most=offer["most"],
                price_h=offer["price_h"], start_s=offer.get("start_s") or 0,
                interruptions_h=offer.get("interruptions_h", 0), flags=flags))
        question = goodput_c.sized(c.goodput_rent_question, offer=goodput_c.array(c.goodput_offer, offers),
                                   offer_count=len(offers), offer_size=ctypes.sizeof(c.goodput_offer),
                                   hour_worth=document.get("hour_worth") or 0)
        advice = goodput_c.sized(c.goodput_rent_advice, advice=(c.goodput_offer_advice * len(offers))(),
                                 advice_capacity=len(offers), advice_size=ctypes.sizeof(c.goodput_offer_advice))
        self.scheduler.advise(question, advice)
        return {"offers": [{"name": offer["name"], "nodes": said.nodes, "gpus_wanted": said.gpus_wanted,
                            "gpu_worth_h": said.gpu_worth_h, "why": self.explain(c.GOODPUT_ABOUT_OFFER, i)}
                           for i, (offer, said) in enumerate(zip(document["offers"], advice.advice[:len(offers)]))],
                "price_h": advice.price_h}

    def explain(self, about, index):
        """A sentence about the last plan."""
        return goodput_c.text(self.scheduler.explain, about, index)

    def read(self, document, types):
        """The arrays of a goodput_round, as {field: (struct, elements)}; adds new names to `types`."""
        c = self.c

        def type_of(name):
            if name not in types:
                types.append(name)
            return types.index(name)

        nodes, teams, quotas = [], [], []
        for node in document["nodes"]:
            flags = (c.GOODPUT_NODE_DRAINED if node.get("drained") else 0) | (c.GOODPUT_NODE_SPOT if node.get("spot") else 0)
            nodes.append(c.goodput_node(
                name=node["name"].encode(), gpu_type=type_of(node["gpu_type"]), gpus=node["gpus"], flags=flags,
                cores=node.get("cores", 0), memory_gib=node.get("memory_gib", 0), price_h=node.get("price_h", 0),
                interruptions_h=node.get("interruptions_h", 0), zone=node.get("zone", "").encode(),
                rack=node.get("rack", "").encode()))
        for offer in document.get("offers") or ():
            type_of(offer["gpu_type"])
        given_of_team = {"gpus": c.GOODPUT_TEAM_HAS_GPUS, "budget_h": c.GOODPUT_TEAM_HAS_BUDGET,
                         "spot_gpus": c.GOODPUT_TEAM_HAS_SPOT_GPUS}
        for name, team in (document.get("teams") or {}).items():
            given = {field: flag for field, flag in given_of_team.items() if team.get(field) is not None}
            for gpu_type, gpus in (team.get("gpus_by_type") or {}).items():
                quotas.append(c.goodput_team_quota(team=len(teams), gpu_type=type_of(gpu_type), gpus=gpus))
            teams.append(c.goodput_team(name=name.encode(), weight=team.get("weight", 0), flags=sum(given.values()),
                                        **{field: team[field] for field in given}))

        index_of = {node["name"]: index for index, node in enumerate(document["nodes"])}
        jobs, limits, held, samples, speeds, ways = [], [], [], [], [], []
        for j, job in enumerate(document["jobs"]):
            batch, flags, more, of_type = job["batch"], 0, {}, {}
            for name, (least, most) in batch["local"].items():
                of_type.setdefault(type_of(name), {}).update(min_local_batch=least, max_local_batch=most)
            for name, rate in (batch.get("rate") or {}).items():
                of_type.setdefault(type_of(name), {})["rate"] = rate
            for name, gpus in (job.get("gpus_per_replica") or {}).items():
                of_type.setdefault(type_of(name), {})["gpus_per_replica"] = gpus
            if isinstance(job.get("max_nodes"), dict):
                for name, most in job["max_nodes"].items():
                    of_type.setdefault(type_of(name), {})["max_nodes"] = most
            limits.append((of_type, job.get("max_nodes")))
            for field, flag in (("remaining_examples", c.GOODPUT_JOB_HAS_REMAINING),
                                ("done_examples", c.GOODPUT_JOB_HAS_DONE), ("checkpoint_s", c.GOODPUT_JOB_HAS_CHECKPOINT)):
                if job.get(field) is not None:
                    more[field], flags = job[field], flags | flag
            if job.get("gradient"):
                more.update(gradient_sqr=job["gradient"]["sqr"], gradient_var=job["gradient"]["var"])
                flags |= c.GOODPUT_JOB_HAS_GRADIENT
            if job.get("host"):
                flags |= c.GOODPUT_JOB_HAS_HOST
                for what, flag in (("cores_per_gpu", c.GOODPUT_JOB_COUNTS_CORES),
                                   ("memory_gib_per_gpu", c.GOODPUT_JOB_COUNTS_MEMORY)):
                    if job["host"].get(what) is not None:
                        more["least_" + what], more["most_" + what] = job["host"][what]
                        flags |= flag
                speeds += [c.goodput_host_speed(j, *point) for point in job["host"].get("speed") or ()]
            for field, unless, flag in (("preemptible", True, c.GOODPUT_JOB_NOT_PREEMPTIBLE),
                                        ("spot_allowed", True, c.GOODPUT_JOB_NOT_ON_SPOT),
                                        ("restarting", False, c.GOODPUT_JOB_RESTARTING),
                                        ("single_gpu_accumulates", False, c.GOODPUT_JOB_SINGLE_GPU_ACCUMULATES)):
                flags |= flag if job.get(field, unless) != unless else 0
            for field in ("kind", "team", "within"):
                if job.get(field):
                    more[field] = job[field].encode()
            adapt = {"batch": c.GOODPUT_ADAPT_BATCH, "gpus": c.GOODPUT_ADAPT_GPUS, "none": c.GOODPUT_ADAPT_NONE}
            jobs.append(c.goodput_job(
                name=job["name"].encode(), submitted_s=job["submitted_s"], restarts=job.get("restarts", 0),
                restart_cost_s=job.get("restart_cost_s", 0), attained_gpu_s=job.get("attained_gpu_s", 0),
                min_gpus=job["gpus"][0], max_gpus=job["gpus"][1], adapt=adapt[job.get("adapt", "batch")],
                initial_batch=batch["initial"], max_batch=batch.get("max", 0), target_batch=batch.get("target", 0),
                weight=job.get("weight", 0), wanted_batch=batch.get("wanted") or 0, flags=flags, **more))
            ways += [self.checkpoint(j, way) for way in job.get("checkpoints") or ()]
            samples += [self.sample(j, type_of(sample["gpu_type"]), sample) for sample in job.get("samples") or ()]
            shares = (job.get("placement") or {}).get("nodes", [])
            if all(name in index_of for name, _ in shares):  # a job that has lost a node holds nothing
                held += [c.goodput_share(job=j, node=index_of[name], gpus=gpus) for name, gpus in shares]
        by_type = [c.goodput_type_limits(**({"max_nodes": most} if isinstance(most, int) else {}), **of_type.get(t, {}))
                   for of_type, most in limits for t in range(len(types))]
        return {"node": (c.goodput_node, nodes), "team": (c.goodput_team, teams),
                "team_quota": (c.goodput_team_quota, quotas), "job": (c.goodput_job, jobs),
                "limits": (c.goodput_type_limits, by_type), "held": (c.goodput_share, held),
                "sample": (c.goodput_sample, samples), "host_speed": (c.goodput_host_speed, speeds),
                "checkpoint": (c.goodput_checkpoint, ways)}

    def checkpoint(self, job, way):
        """A way in which a job can save its state."""
        c, fields, flags = self.c, dict(way, job=job, name=way["name"].encode()), 0
        for field, flag in (("restore_s", c.GOODPUT_CHECKPOINT_HAS_RESTORE), ("kept", c.GOODPUT_CHECKPOINT_HAS_KEPT)):
            flags |= flag if field in way else 0
        if not fields.pop("saves", True):
            flags |= c.GOODPUT_CHECKPOINT_SAVES_NOTHING
        return c.goodput_checkpoint(flags=flags, **fields)

    def sample(self, job, gpu_type, sample):
        """A measurement of a job."""
        c, fields, flags = self.c, dict(sample, job=job, gpu_type=gpu_type), 0
        if "iteration_s" in fields:
            fields["step_s"], flags = fields.pop("iteration_s"), c.GOODPUT_SAMPLE_WHOLE_ITERATION
        for field, flag in (("cores_per_gpu", c.GOODPUT_SAMPLE_COUNTS_CORES),
                            ("memory_gib_per_gpu", c.GOODPUT_SAMPLE_COUNTS_MEMORY)):
            flags |= flag if field in fields else 0
        fields.setdefault("sync_s", -1)
        return c.goodput_sample(flags=flags, **fields)

    def answer(self, document, types, plan):
        """What `goodput plan` writes of a plan."""
        c, entries, prices = self.c, [], {}
        for j, job in enumerate(document["jobs"]):
            decision = plan.decision[j]
            entry = {"name": job["name"]}
            shares = plan.share[decision.first_share:decision.first_share + decision.share_count]
            if shares:
                entry["gpu_type"] = types[decision.gpu_type]
            entry["nodes"] = [[document["nodes"][share.node]["name"], share.gpus] for share in shares]
            if shares:
                entry.update(local_batch=decision.local_batch, accumulation=decision.accumulation,
                             goodput=decision.goodput,
                             knowledge=("measured", "projected", "unknown")[decision.knowledge])
                if decision.checkpoint_s > 0:
                    entry.update(availability=decision.availability,
                                 checkpoint=self.explain(c.GOODPUT_ABOUT_CHECKPOINT, j))
                    if math.isfinite(decision.checkpoint_s):
                        entry.update(checkpoint_s=decision.checkpoint_s)
            else:
                entry["outcome"] = "impossible" if decision.outcome == c.GOODPUT_IMPOSSIBLE else "waits"
            entry["why"] = self.explain(c.GOODPUT_ABOUT_JOB, j)
            entry["action"] = ("wait", "start", "stay", "move", "restart", "stop")[decision.action]
            entries.append(entry)
        for pool in plan.price[:plan.price_count]:
            name = types[pool.gpu_type]
            prices[name] = max(prices.get(name, 0.0), pool.price)
        answer = {"plan": entries, "objective": plan.objective, "bound": plan.bound,
                  "status": ("optimal", "feasible", "infeasible", "unknown")[plan.proof], "prices": prices}
        if plan.limit_count:
            answer["limits"] = [
                {"name": self.explain(c.GOODPUT_ABOUT_LIMIT_NAME, i), "capacity": limit.capacity, "used": limit.used,
                 "price": limit.price, "unit": self.explain(c.GOODPUT_ABOUT_LIMIT_UNIT, i),
                 "why": self.explain(c.GOODPUT_ABOUT_LIMIT, i)}
                for i, limit in enumerate(plan.limit[:plan.limit_count])]
        if plan.warning_count:
            answer["warnings"] = [self.explain(c.GOODPUT_ABOUT_WARNING, i) for i in range(plan.warning_count)]
        return answer


def main():
    library, header, *policy = sys.argv[1:]
    c = goodput_c.load(library, header)
    policies = {"sia": c.GOODPUT_POLICY_SIA, "goodput": c.GOODPUT_POLICY_GOODPUT}
    scheduler = Scheduler(c, policies[policy[0] if policy else "goodput"])
    for line in sys.stdin:
        try:
            print(json.dumps(scheduler.plan(json.loads(line))), flush=True)
        except ValueError as refusal:
            print(json.dumps({"error": str(refusal)}), flush=True)


if __name__ == "__main__":
    main()
