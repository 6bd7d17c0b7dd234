"""Plans of a scheduling round: who gets how many GPUs of which type, on which nodes, with which batch."""

from __future__ import annotations

import contextlib
import ctypes
import dataclasses
import math
import threading
import warnings
from typing import Any, Mapping, Optional, cast

from .documents import Advice, Batch, Checkpoint, Gradient, Host, Job, Measured, Node, Offer, Plan, Round, Team
from .interface import Handle, TooSmall, about, array_of, encoded, library, make, text

STATUS = ("optimal", "feasible", "infeasible", "unknown")
# Fields of `goodput plan` that decide whether a job may run, and that this package cannot pass on.
REFUSED = ("deadline_s", "deadline", "promise", "from_s", "until_s", "shares_with", "with")
STARTS = ("waits", "start", "stays", "move", "restart", "stops")


def plan(round: Any, policy: str = "goodput", *, strict: bool = False, **settings: Any) -> Plan:
    """The plan of a single round, by a scheduler that has seen no other: see Scheduler."""
    return Scheduler(policy, **settings).plan(round, strict=strict)


class Scheduler:
    """Plans round after round, and remembers what jobs have measured and how much they needed, as a running
    `goodput plan --explain --advise` does: same answers, to the last bit. Deadlines and jobs that share GPUs are refused.

    policy        "goodput" or "sia"
    options       numbers of the policy that are not its defaults, by the names that --policy-option has
    gap           proven when bound - objective <= gap |bound|; 0: 1e-4
    deadline_ms   milliseconds for the allotment of a round; 0: none

    Different schedulers may be used by different threads at the same time; one that several threads call serves one after
    the other. Python's other threads run during a call.
    """

    def __init__(self, policy: str = "goodput", *, options: Optional[Mapping[str, float]] = None, gap: float = 0,
                 deadline_ms: float = 0, most_states: int = 0, memory_states: int = 0) -> None:
        self._c, self._types, self._lock = library(), cast("list[str]", []), threading.Lock()
        policies = {"sia": self._c.GOODPUT_POLICY_SIA, "goodput": self._c.GOODPUT_POLICY_GOODPUT}
        if policy not in policies:
            raise ValueError(f"there is no policy '{policy}'; known are {', '.join(policies)}")
        given = [make(self._c.goodput_policy_option, name=encoded(name), value=value)
                 for name, value in (options or {}).items()]
        settings = make(self._c.goodput_scheduler_settings, policy=policies[policy], gap=gap, deadline_ms=deadline_ms,
                        most_states=most_states, memory_states=memory_states)
        give(settings, "option", array_of(self._c.goodput_policy_option, given))
        self._handle = Handle("scheduler")
        self._handle.configure(settings)

    def plan(self, round: Any, *, strict: bool = False) -> Plan:
        """The plan of a round: the dictionary that a line of `goodput plan` is (documents.Round), or a dataclass with the
        same fields; a field that is None counts as left out.

        A job or a node that makes no sense is set aside and named under "warnings"; unknown fields are named by Python's
        warnings, but deadlines and jobs that share GPUs, which this package does not have, are refused (ValueError). With strict all of these refuse the round, as missing fields and fields of a wrong kind always do
        (ValueError). A round that is refused is forgotten as if it had not been sent.
        """
        document = plain(round)
        with self._lock:
            types = list(self._types)
            answer = make(self._c.goodput_plan)
            reader = _Reader(self._c, types, strict)
            made = reader.read(document)
            with contextlib.suppress(TooSmall):  # the answer counts what it would write
                self._handle.plan(made, answer)
            self._make_room(answer)
            self._handle.last_plan(answer)
            self._types = types
            plan = self._answer(document, types, answer)
            if "offers" in document:
                plan["advice"] = self._advise(reader.offers, document)
            return plan

    def _advise(self, offers: Any, document: Round) -> Advice:
        c = self._c
        question = make(c.goodput_rent_question, hour_worth=document.get("hour_worth", 0))
        give(question, "offer", offers)
        said = (c.goodput_offer_advice * len(offers))()
        advice = make(c.goodput_rent_advice, advice=said, advice_capacity=len(said),
                      advice_size=ctypes.sizeof(c.goodput_offer_advice))
        self._handle.advise(question, advice)
        return {"offers": [{"name": offers[i].name.decode(), "nodes": of.nodes, "gpus_wanted": of.gpus_wanted,
                            "gpu_worth_h": of.gpu_worth_h, "why": self._explain(c.GOODPUT_ABOUT_OFFER, i)}
                           for i, of in enumerate(said)], "price_h": advice.price_h}

    def _make_room(self, answer: Any) -> None:
        for name, struct in (("decision", "decision"), ("share", "share"), ("price", "pool_price"), ("limit", "limit_use")):
            kind, capacity = getattr(self._c, "goodput_" + struct), getattr(answer, name + "_count")
            setattr(answer, name, (kind * capacity)())
            setattr(answer, name + "_capacity", capacity)
            setattr(answer, name + "_size", ctypes.sizeof(kind))

    def _explain(self, subject: int, index: int) -> str:
        return text(self._handle.explain, subject, index)

    def _answer(self, document: Round, types: "list[str]", answer: Any) -> Plan:
        c, entries, prices = self._c, [], cast("dict[str, float]", {})
        for j, job in enumerate(document["jobs"]):
            decision = answer.decision[j]
            shares = answer.share[decision.first_share:decision.first_share + decision.share_count]
            entry: "dict[str, Any]" = {"name": job["name"], "starts": STARTS[decision.action]}
            if shares:
                entry["gpu_type"] = types[decision.gpu_type]
            entry["nodes"] = [[document["nodes"][share.node]["name"], share.gpus] for share in shares]
            if shares:
                entry.update(local_batch=decision.local_batch, accumulation=decision.accumulation, goodput=decision.goodput,
                             knowledge=("measured", "projected", "unknown")[decision.knowledge])
                if decision.checkpoint_s > 0:
                    entry.update(availability=decision.availability, checkpoint=self._explain(c.GOODPUT_ABOUT_CHECKPOINT, j))
                    if math.isfinite(decision.checkpoint_s):
                        entry["checkpoint_s"] = decision.checkpoint_s
                for host in ("cores_per_gpu", "memory_gib_per_gpu"):
                    if getattr(decision, host) > 0:
                        entry[host] = getattr(decision, host)
            else:
                entry["outcome"] = "impossible" if decision.outcome == c.GOODPUT_IMPOSSIBLE else "waits"
            entry["why"] = self._explain(c.GOODPUT_ABOUT_JOB, j)
            entries.append(entry)
        for pool in answer.price[:answer.price_count]:
            name = types[pool.gpu_type]
            prices[name] = max(prices.get(name, 0.0), pool.price)
        made = {"plan": entries, "objective": answer.objective, "bound": answer.bound, "status": STATUS[answer.proof],
                "prices": prices}
        if answer.limit_count:
            made["limits"] = [
                {"name": self._explain(c.GOODPUT_ABOUT_LIMIT_NAME, i),
                 "unit": self._explain(c.GOODPUT_ABOUT_LIMIT_UNIT, i), "capacity": limit.capacity, "used": limit.used,
                 "price": limit.price, "why": self._explain(c.GOODPUT_ABOUT_LIMIT, i)}
                for i, limit in enumerate(answer.limit[:answer.limit_count])]
        for field, count, subject in (("conflicts", answer.conflict_count, c.GOODPUT_ABOUT_CONFLICT),
                                      ("faults", answer.fault_count, c.GOODPUT_ABOUT_FAULT),
                                      ("warnings", answer.warning_count, c.GOODPUT_ABOUT_WARNING)):
            if count:
                made[field] = [self._explain(subject, i) for i in range(count)]
        return cast(Plan, made)


def plain(value: Any) -> Any:
    """Dictionaries and lists of what may be dataclasses, without fields that are None."""
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        value = dataclasses.asdict(value)
    if isinstance(value, Mapping):
        return {name: plain(field) for name, field in value.items() if field is not None}
    return [plain(element) for element in value] if isinstance(value, (list, tuple)) else value


def sample_of(c: Any, sample: Any, gpu_type: int, job: int = 0) -> Any:
    """A measurement; one that does not say how long it synchronised does not know."""
    needed = {field: sample[field] for field in ("nodes", "gpus", "local_batch")}
    more = {field: sample[field] for field in ("accumulation", "cores_per_gpu", "memory_gib_per_gpu") if field in sample}
    whole = "iteration_s" in sample
    flags = ((c.GOODPUT_SAMPLE_WHOLE_ITERATION if whole else 0) |
             (c.GOODPUT_SAMPLE_COUNTS_CORES if "cores_per_gpu" in sample else 0) |
             (c.GOODPUT_SAMPLE_COUNTS_MEMORY if "memory_gib_per_gpu" in sample else 0))
    return make(c.goodput_sample, job=job, gpu_type=gpu_type, flags=flags, step_s=sample["iteration_s" if whole else "step_s"],
                sync_s=sample.get("sync_s", -1), **needed, **more)


def give(struct: Any, name: str, elements: Any) -> None:
    """Gives a struct an array, with its number of elements and their size."""
    setattr(struct, name, elements)
    setattr(struct, name + "_count", len(elements))
    setattr(struct, name + "_size", ctypes.sizeof(elements._type_))


class _Reader:
    """From a dictionary to a goodput_round; adds names of GPU types that are new to `types`."""

    def __init__(self, c: Any, types: "list[str]", strict: bool) -> None:
        self.c, self.types, self.strict = c, types, strict

    def read(self, document: Any) -> Any:
        """A goodput_round; the array of what may be rented is `offers` then."""
        c = self.c
        with about("round"):
            self.knows(document, Round, "round")
            made = make(c.goodput_round, time_s=document["time_s"], deadline_ms=document.get("deadline_ms", 0),
                        flags=0 if self.strict else c.GOODPUT_ROUND_SETS_ASIDE)
            for flag, field in ((c.GOODPUT_ROUND_HAS_BUDGET, "budget_h"), (c.GOODPUT_ROUND_HAS_SPOT_GPUS, "spot_gpus")):
                if field in document:
                    setattr(made, field, document[field])
                    made.flags |= flag
            nodes, jobs = document["nodes"], document["jobs"]
        self.node_of: "dict[str, int]" = {}
        names: "dict[str, list[Any]]" = {"node": [self.named("node", self.node, node, index) for index, node in enumerate(nodes)],
                 "team": [], "team_quota": [], "sample": [], "host_speed": [], "held": [], "limits": [],
                 "checkpoint": [], "job": []}
        self.offers = array_of(c.goodput_offer, [self.named("offer", self.offer, offer, index)
                                                 for index, offer in enumerate(document.get("offers", ()))])
        for name, team in document.get("teams", {}).items():
            with about(f"team '{name}'"):
                self.team(name, team, names)
        by_type: "list[dict[int, Any]]" = []
        for index, job in enumerate(jobs):
            by_type.append({})
            names["job"].append(self.named("job", self.job, job, index, names, by_type[-1]))
        names["limits"] = [make(c.goodput_type_limits, **of.get(t, {})) for of in by_type for t in range(len(self.types))]
        structs = {"limits": "type_limits", "held": "share"}
        for name, elements in names.items():
            give(made, name, array_of(getattr(c, "goodput_" + structs.get(name, name)), elements))
        made.gpu_type, made.gpu_type_count = self.texts(self.types), len(self.types)
        cancelled = document.get("cancelled", ())
        made.cancelled, made.cancelled_count = self.texts(cancelled), len(cancelled)
        return made

    def offer(self, offer: Any, _index: int) -> Any:
        c = self.c
        self.knows(offer, Offer, f"offer '{offer['name']}'")
        flags = ((c.GOODPUT_OFFER_SPOT if offer.get("spot") else 0) | (c.GOODPUT_OFFER_HAS_START if "start_s" in offer else 0))
        numbers = {field: offer[field] for field in ("gpus", "most", "price_h")}
        return make(c.goodput_offer, name=encoded(offer["name"]), gpu_type=self.type_of(offer["gpu_type"]), flags=flags,
                    start_s=offer.get("start_s", 0), interruptions_h=offer.get("interruptions_h", 0), **numbers)

    @staticmethod
    def texts(names: Any) -> Any:
        return array_of(ctypes.c_char_p, [encoded(name) for name in names])

    def named(self, kind: str, read: Any, element: Any, index: int, *more: Any) -> Any:
        with about(f"{kind} {index}"):
            name = element["name"]
        with about(f"{kind} '{name}'"):
            return read(element, index, *more)

    def knows(self, document: Any, kind: Any, subject: str) -> None:
        """Names fields that there are not."""
        for field in document:
            if field not in kind.__annotations__:
                if field in REFUSED:
                    raise ValueError(f"{subject}: '{field}' works in `goodput plan` only, not in this package")
                sentence = f"{subject}: there is no field '{field}'"
                if self.strict:
                    raise ValueError(sentence)
                warnings.warn(sentence)

    def type_of(self, name: str) -> int:
        if name not in self.types:
            encoded(name)
            self.types.append(name)
        return self.types.index(name)

    def node(self, node: Any, index: int) -> Any:
        c = self.c
        self.knows(node, Node, f"node '{node['name']}'")
        self.node_of.setdefault(node["name"], index)
        flags = (c.GOODPUT_NODE_DRAINED if node.get("drained") else 0) | (c.GOODPUT_NODE_SPOT if node.get("spot") else 0)
        numbers = {field: node[field] for field in ("cores", "memory_gib", "price_h", "interruptions_h") if field in node}
        return make(c.goodput_node, name=encoded(node["name"]), gpu_type=self.type_of(node["gpu_type"]), gpus=node["gpus"],
                    flags=flags, zone=encoded(node.get("zone", "")), rack=encoded(node.get("rack", "")), **numbers)

    def team(self, name: str, team: Any, names: "dict[str, list[Any]]") -> None:
        c = self.c
        self.knows(team, Team, f"team '{name}'")
        flags = {"gpus": c.GOODPUT_TEAM_HAS_GPUS, "budget_h": c.GOODPUT_TEAM_HAS_BUDGET,
                 "spot_gpus": c.GOODPUT_TEAM_HAS_SPOT_GPUS}
        given = {field: team[field] for field in flags if field in team}
        for gpu_type, gpus in team.get("gpus_by_type", {}).items():
            names["team_quota"].append(make(c.goodput_team_quota, team=len(names["team"]),
                                            gpu_type=self.type_of(gpu_type), gpus=gpus))
        names["team"].append(make(c.goodput_team, name=encoded(name), weight=team.get("weight", 0),
                                  flags=sum(flags[field] for field in given), **given))

    def job(self, job: Any, j: int, names: "dict[str, list[Any]]", of_type: "dict[int, Any]") -> Any:
        """The job's struct; its samples, speeds and what it holds go to `names`, its limits to `of_type`."""
        c, batch, subject = self.c, job["batch"], f"job '{job['name']}'"
        for document, kind in ((job, Job), (batch, Batch), (job.get("host", {}), Host), (job.get("gradient", {}), Gradient)):
            self.knows(document, kind, subject)
        flags, more = 0, {}
        for name, (least, most) in batch["local"].items():
            of_type.setdefault(self.type_of(name), {}).update(min_local_batch=least, max_local_batch=most)
        for field, by_name in (("rate", batch.get("rate", {})), ("gpus_per_replica", job.get("gpus_per_replica", {})),
                               ("max_nodes", job.get("max_nodes", {}))):
            if not isinstance(by_name, Mapping):
                by_name = {name: by_name for name in batch["local"]}
            for name, number in by_name.items():
                of_type.setdefault(self.type_of(name), {})[field] = number
        for field, flag in (("remaining_examples", c.GOODPUT_JOB_HAS_REMAINING), ("done_examples", c.GOODPUT_JOB_HAS_DONE),
                            ("checkpoint_s", c.GOODPUT_JOB_HAS_CHECKPOINT)):
            if field in job:
                more[field], flags = job[field], flags | flag
        if "gradient" in job:
            more.update(gradient_sqr=job["gradient"]["sqr"], gradient_var=job["gradient"]["var"])
            flags |= c.GOODPUT_JOB_HAS_GRADIENT
        if "host" in job:
            flags |= c.GOODPUT_JOB_HAS_HOST
            for what, flag in (("cores_per_gpu", c.GOODPUT_JOB_COUNTS_CORES),
                               ("memory_gib_per_gpu", c.GOODPUT_JOB_COUNTS_MEMORY)):
                if what in job["host"]:
                    more["least_" + what], more["most_" + what] = job["host"][what]
                    flags |= flag
            names["host_speed"] += [make(c.goodput_host_speed, job=j, cores_per_gpu=cores, memory_gib_per_gpu=memory,
                                         factor=factor) for cores, memory, factor in job["host"].get("speed", ())]
        for field, usual, flag in (("preemptible", True, c.GOODPUT_JOB_NOT_PREEMPTIBLE),
                                   ("spot_allowed", True, c.GOODPUT_JOB_NOT_ON_SPOT),
                                   ("restarting", False, c.GOODPUT_JOB_RESTARTING),
                                   ("single_gpu_accumulates", False, c.GOODPUT_JOB_SINGLE_GPU_ACCUMULATES)):
            flags |= flag if bool(job.get(field, usual)) != usual else 0
        more.update((field, encoded(job[field])) for field in ("kind", "team", "within") if job.get(field))
        more.update((field, job[field]) for field in ("restarts", "restart_cost_s", "attained_gpu_s", "weight") if field in job)
        adapt = {"batch": c.GOODPUT_ADAPT_BATCH, "gpus": c.GOODPUT_ADAPT_GPUS, "none": c.GOODPUT_ADAPT_NONE}
        if job.get("adapt", "batch") not in adapt:
            raise ValueError(f"{subject}: adapt is '{job['adapt']}', but must be one of {', '.join(adapt)}")
        names["checkpoint"] += [self.checkpoint(way, j, subject) for way in job.get("checkpoints", ())]
        for sample in job.get("samples", ()):
            self.knows(sample, Measured, subject)
            names["sample"].append(sample_of(c, sample, self.type_of(sample["gpu_type"]), job=j))
        shares = job.get("placement", {}).get("nodes", ())
        if all(name in self.node_of for name, _ in shares):  # a job that has lost a node holds nothing
            names["held"] += [make(c.goodput_share, job=j, node=self.node_of[name], gpus=gpus) for name, gpus in shares]
        least, most = job["gpus"]
        return make(c.goodput_job, name=encoded(job["name"]), submitted_s=job["submitted_s"], min_gpus=least, max_gpus=most,
                    adapt=adapt[job.get("adapt", "batch")], initial_batch=batch["initial"], max_batch=batch.get("max", 0),
                    wanted_batch=batch.get("wanted", 0), target_batch=batch.get("target", 0), flags=flags, **more)

    def checkpoint(self, way: Any, job: int, subject: str) -> Any:
        c = self.c
        self.knows(way, Checkpoint, subject)
        flags = ((c.GOODPUT_CHECKPOINT_HAS_RESTORE if "restore_s" in way else 0) |
                 (c.GOODPUT_CHECKPOINT_HAS_KEPT if "kept" in way else 0) |
                 (0 if way.get("saves", True) else c.GOODPUT_CHECKPOINT_SAVES_NOTHING))
        numbers = {field: way[field] for field in Checkpoint.__annotations__ if field in way and field not in ("name", "saves")}
        return make(c.goodput_checkpoint, job=job, name=encoded(way["name"]), flags=flags, **numbers)
