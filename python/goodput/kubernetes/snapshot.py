"""Makes a line of `goodput plan` from a cluster.

A running gang is a job that keeps what it holds, unless it may be moved. The waiting pods of a gang are a job that
wants all their GPUs or none. Nodes of one product have one GPU type, unless some gangs may use only part of them.
Then each part is a type, NAME, NAME#2 and so on, because a plan gives a job any node of a type.
"""

from __future__ import annotations

from dataclasses import dataclass, field as attribute
from typing import Any, Dict, FrozenSet, List, Optional, Set, Tuple

from .cluster import Cluster, Place, share_out_hosts
from .gangs import Gang
from .needs import Need, need_of
from .nodes import RACKS, ZONES
from .objects import Notes
from .pods import Pod

# A node without free cores must state a positive number: 0 would mean that its cores are not counted.
_NOTHING = 0.001
_REQUIRED_TOPOLOGY = "kueue.x-k8s.io/podset-required-topology"
_TYPE_LENGTH = 63 - len("speed.")
_CLOCKS_DIFFER_S = 86400.0  # the clock here may be behind the API server's by less than this
_LARGEST_BATCH = 100000  # examples of one GPU


@dataclass
class Task:
    """A job of the plan, and the gang that it stands for."""

    name: str
    gang: Gang
    pods: List[Pod]  # pods with GPUs
    held: Dict[str, int]  # GPUs by place
    stays: bool  # the job keeps what it holds
    declares: bool  # the job declares its cores and its memory, so its nodes declare theirs, too
    need: Optional[Need] = None  # only for a task that the plan may place
    types: Dict[str, str] = attribute(default_factory=dict)  # product by GPU type that the task can use
    priority: int = 0
    within: str = ""  # "node", "rack" or "zone" that must contain all its pods

    @property
    def gpus(self) -> int:
        return sum(pod.gpus for pod in self.pods)


@dataclass
class Settings:
    now_s: float
    move: bool = False
    restart_s: float = 300.0
    rack_label: str = ""


@dataclass
class Picture:
    """A snapshot, and what it was made from."""

    document: Dict[str, Any]
    tasks: List[Task]
    left_out: List[Tuple[Task, str]]  # waiting gangs that no node can take, and why
    type_of: Dict[str, str]  # GPU type by place
    speeds_known: int  # tasks with a measured speed


def picture_of(cluster: Cluster, settings: Settings, notes: Notes) -> Picture:
    """Returns the snapshot of a cluster."""
    tasks, left_out = _tasks(cluster, settings, notes)
    share_out_hosts(cluster, {id(pod) for task in tasks if task.held and task.declares for pod in task.pods})
    type_of, accepting = _types(cluster.places, [task.need for task in tasks if task.need])
    products = {type_of[place.name]: place.product for place in cluster.places}
    open_tasks: List[Task] = []
    for task in tasks:
        if task.need is not None:
            task.types = {name: product for name, product in products.items() if task.need in accepting[name]}
        if not {type_of[name] for name in task.held} <= set(task.types):  # it runs where it could not start, and stays
            task.need, task.stays = None, True
            task.types = {type_of[name]: products[type_of[name]] for name in task.held}
        task.within = _within(task, settings.rack_label)
        if task.types:
            open_tasks.append(task)
        else:
            left_out.append((task, _why_nowhere(task.need, cluster.places) if task.need else "it holds nothing"))
    for task, why in left_out:
        notes.add(f"gang '{task.gang.name}'", f"is left out of the snapshot: {why.split(': ')[0]}")
    levels = sorted({task.priority for task in open_tasks if not task.stays})
    step = min(10.0, 1000.0 ** (1 / max(len(levels) - 1, 1)))
    weights = {level: step ** rank for rank, level in enumerate(levels)}
    counted = [name for name in ("cores", "memory_gib")
               if any(getattr(place, name) is not None for place in cluster.places)]
    now_s = settings.now_s
    if now_s < cluster.latest_s < now_s + _CLOCKS_DIFFER_S:
        now_s = cluster.latest_s
    jobs = [_job(task, weights.get(task.priority, 1.0), counted, now_s, settings, notes) for task in open_tasks]
    nodes = [_node(place, type_of[place.name]) for place in cluster.places]
    known = sum(1 for task in open_tasks if any(pod.said.speeds for pod in task.pods))
    return Picture({"time_s": round(now_s, 3), "nodes": nodes, "jobs": jobs}, open_tasks, left_out, type_of, known)


def annotation_type(product: str) -> str:
    """Returns a GPU type in the form that an annotation's key can contain."""
    return product.replace("/", "-")[:_TYPE_LENGTH].rstrip("-_.")


def priority_of(pods: List[Pod]) -> int:
    return max((pod.priority or 0 for pod in pods), default=0)


def submitted(pods: List[Pod], otherwise: float) -> float:
    return min((pod.created_s for pod in pods if pod.created_s is not None), default=otherwise)


def _tasks(cluster: Cluster, settings: Settings, notes: Notes) -> Tuple[List[Task], List[Tuple[Task, str]]]:
    tasks: List[Task] = []
    left_out: List[Tuple[Task, str]] = []
    for gang in cluster.gangs:
        if any(owner.kind == "DaemonSet" for pod in gang.pods for owner in pod.owners):
            continue  # DaemonSets belong to their nodes, whose GPUs are reduced by theirs
        running, waiting = [pod for pod in gang.running if pod.gpus], [pod for pod in gang.waiting if pod.gpus]
        tasks += _running_tasks(cluster, gang, running, bool(waiting), settings)
        if not waiting:
            continue
        for name, pods in _waiting_parts(gang, waiting, bool(running)):
            task = Task(name, gang, pods, {}, False, True, need_of(pods), priority=priority_of(gang.pods))
            if any(pod.wrong for pod in gang.pods):
                left_out.append((task, "what one of its pods asks for makes no sense"))
            elif task.need is None:
                left_out.append((task, "its pods want GPUs of several resources, which a job of a plan cannot have"))
            else:
                tasks.append(task)
    return tasks, left_out


def _waiting_parts(gang: Gang, waiting: List[Pod], half: bool) -> List[Tuple[str, List[Pod]]]:
    """The waiting pods of a gang start together. If others of its pods already run, and the pods may be independent,
    each starts when it can."""
    if half and gang.loose:
        return [(f"{gang.name} ({pod.name})", [pod]) for pod in waiting]
    return [(f"{gang.name} (waiting pods)" if half else gang.name, waiting)]


def _running_tasks(cluster: Cluster, gang: Gang, pods: List[Pod], half: bool, settings: Settings) -> List[Task]:
    """Returns the running part of a gang: a job for each resource, with what it holds of listed nodes."""
    held: Dict[str, Dict[str, int]] = {}
    unlisted = False
    for pod in pods:
        for resource, number in pod.devices.items():
            place = cluster.at(pod, resource)
            if place is None or place.gpus == 0:
                unlisted = True
                continue
            of_resource = held.setdefault(resource, {})
            of_resource[place.name] = of_resource.get(place.name, 0) + number
    alike = _alike(pods) and not any(pod.wrong for pod in gang.pods)
    settled = not half and not unlisted and not any(pod.ending for pod in pods)
    need = need_of(pods) if alike and settled and _may_move(pods, settings) else None
    names = [gang.name] + [f"{gang.name} ({resource})" for resource in sorted(held)[1:]]
    tasks: List[Task] = []
    for name, resource in zip(names, sorted(held)):
        there = [pod for pod in pods if resource in pod.devices and cluster.at(pod, resource)]
        tasks.append(Task(name, gang, there, held[resource], need is None, alike and len(held) == 1, need,
                          priority=priority_of(gang.pods)))
    return tasks


def _may_move(pods: List[Pod], settings: Settings) -> bool:
    """Whether the user allows moving the pods. A pod without an owner is not recreated once it is stopped, so it
    needs its own permission."""
    said = [pod.said.move for pod in pods if pod.said.move is not None]
    return all(said) and (any(said) or (settings.move and all(pod.owners for pod in pods)))


def _alike(pods: List[Pod]) -> bool:
    """Whether all pods have the same cores and memory per GPU, which is all that a job can declare."""
    return len({(round(pod.cores / pod.gpus, 6), round(pod.memory_gib / pod.gpus, 6)) for pod in pods}) <= 1


def _unusable(need: Need, place: Place) -> str:
    refused = need.refusal(place)
    if not refused and not need.divides(place.gpus):
        refused = f"its pods of {need.sizes[0]} GPUs do not fill nodes of {place.gpus} without gaps"
    return refused


def _types(places: List[Place], needs: List[Need]) -> Tuple[Dict[str, str], Dict[str, Set[Need]]]:
    """Returns the GPU type of each place, and the needs that each type serves. Places of one product that serve the
    same needs have one type."""
    distinct = sorted(set(needs), key=repr)
    constraints = {constraint for need in distinct for constraint in need.constraints}
    looked_at = sorted({label for constraint in constraints for label in constraint.looks_at()})
    names: Dict[Tuple[str, FrozenSet[int]], str] = {}
    parts: Dict[str, int] = {}
    cache: Dict[Any, FrozenSet[int]] = {}
    type_of: Dict[str, str] = {}
    accepting: Dict[str, Set[Need]] = {}
    for place in places:
        node = place.node
        labels = tuple(node.name if label == "" else node.labels.get(label) for label in looked_at)
        alike = (place.resource, place.gpus, node.taints, labels)
        if alike not in cache:
            cache[alike] = frozenset(index for index, need in enumerate(distinct) if not _unusable(need, place))
        key = (place.product, cache[alike])
        if key not in names:
            parts[place.product] = parts.get(place.product, 0) + 1
            names[key] = place.product if parts[place.product] == 1 else f"{place.product}#{parts[place.product]}"
            accepting[names[key]] = {distinct[index] for index in key[1]}
        type_of[place.name] = names[key]
    return type_of, accepting


def _why_nowhere(need: Need, places: List[Place]) -> str:
    reasons: Dict[str, int] = {}
    for place in places:
        refused = _unusable(need, place)
        reasons[refused] = reasons.get(refused, 0) + 1
    if not reasons:
        return "no node has GPUs"
    most = sorted(reasons.items(), key=lambda each: (-each[1], each[0]))
    said = [f"{reason} ({number} {'node' if number == 1 else 'nodes'})" for reason, number in most]
    return "no node can take it: " + "; ".join(said[:3] + (["and so on"] if len(said) > 3 else []))


def _node(place: Place, gpu_type: str) -> Dict[str, Any]:
    node: Dict[str, Any] = {"name": place.name, "gpu_type": gpu_type, "gpus": place.gpus}
    if place.closed:
        node["drained"] = True
    if place.node.spot:
        node["spot"] = True
    for name, domain in (("zone", place.node.zone), ("rack", place.node.rack)):
        if domain:
            node[name] = domain
    for name, left in (("cores", place.cores), ("memory_gib", place.memory_gib)):
        if left is not None:
            node[name] = max(round(left, 6), _NOTHING)
    return node


def _job(task: Task, weight: float, counted: List[str], now_s: float, settings: Settings,
         notes: Notes) -> Dict[str, Any]:
    since = min(submitted(task.gang.pods, now_s), now_s)
    gpus = sum(task.held.values()) if task.held else task.gpus
    job: Dict[str, Any] = {"name": task.name, "submitted_s": round(since, 3), "team": task.pods[0].namespace,
                           "gpus": [gpus, gpus], "adapt": "none", "batch": _batch(task, gpus, notes)}
    if weight != 1:
        job["weight"] = round(weight, 6)
    host: Dict[str, List[float]] = {}
    for name in counted:
        most = max(getattr(pod, name) / pod.gpus for pod in task.pods) if task.declares else 0.0
        host[f"{name}_per_gpu"] = [round(most, 6)] * 2
    if host:
        job["host"] = host
    if task.held:
        started = [pod.started_s for pod in task.pods if pod.started_s is not None]
        job["placement"] = {"nodes": [[name, number] for name, number in sorted(task.held.items())]}
        job["attained_gpu_s"] = round(max(now_s - min(started, default=now_s), 0) * gpus, 3)
        if task.stays:
            job["preemptible"] = False
        else:
            said = [pod.said.restart_s for pod in task.pods if pod.said.restart_s is not None]
            job["restart_cost_s"] = max(said, default=settings.restart_s)
    if task.within == "node":
        job["max_nodes"] = 1
    elif task.within:
        job["within"] = task.within
    return job


def _batch(task: Task, gpus: int, notes: Notes) -> Dict[str, Any]:
    """Returns speeds in the plan's form: one step takes about a second on the fastest type."""
    measured: Dict[str, float] = {}
    for pod in task.pods:
        measured.update(pod.said.speeds)
    known = {gpu_type: measured[annotation_type(product)] for gpu_type, product in task.types.items()
             if annotation_type(product) in measured}
    products = {annotation_type(product) for product in task.types.values()}
    for name in sorted(set(measured) - products):
        if not task.stays:
            notes.add(f"gang '{task.gang.name}'", f"has a speed on {name}, a GPU type that it cannot use here")
    slowest = min(known.values(), default=1.0)
    if known and len(known) < len(task.types):
        others = sorted(product for gpu_type, product in task.types.items() if gpu_type not in known)
        notes.add(f"gang '{task.gang.name}'",
                  f"has no speed on {', '.join(others)}: as fast as its slowest type is assumed")
    rates = {gpu_type: known.get(gpu_type, slowest) for gpu_type in sorted(task.types)}
    local = min(max(round(max(rates.values())), 1), _LARGEST_BATCH)
    return {"initial": gpus * local, "max": gpus * local, "target": gpus * local,
            "local": {gpu_type: [local, local] for gpu_type in rates}, "rate": rates}


def _within(task: Task, rack_label: str) -> str:
    """Returns the domain within which Kueue's annotation keeps all pods together."""
    keys = {pod.annotations.get(_REQUIRED_TOPOLOGY, "") for pod in task.pods} - {""}
    if task.stays or len(keys) != 1:
        return ""
    key = keys.pop()
    if key == "kubernetes.io/hostname":
        return "node"
    if key in ZONES:
        return "zone"
    return "rack" if key in ((rack_label,) if rack_label else RACKS) else ""
