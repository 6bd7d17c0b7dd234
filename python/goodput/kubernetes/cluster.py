"""Reads the API's objects into nodes, pods and gangs, and computes what is left of every node."""

from __future__ import annotations

from dataclasses import dataclass, field as attribute
from typing import Dict, List, Optional, Set, Tuple

from .gangs import Gang, Owners, gangs_of, has_templates
from .hardware import Accelerators, is_part, product_of
from .nodes import Node, node_of
from .objects import Notes, documents, name_of, text, whole
from .pods import Pod, pod_of

# Kinds that are known but not needed here. Other kinds are counted in a note.
_QUIET = ("Job", "PriorityClass", "WorkloadPriorityClass")


@dataclass
class Place:
    """The GPUs of one resource on one node. A node with several resources is several places, which share its cores and
    its memory in proportion to their GPUs."""

    name: str
    node: Node
    resource: str
    product: str
    gpus: int  # without those that DaemonSets hold
    closed: str
    held: int = 0
    cores: Optional[float] = None  # without those of pods that belong to no job of the plan
    memory_gib: Optional[float] = None

    @property
    def free(self) -> int:
        return max(self.gpus - self.held, 0)


@dataclass
class Cluster:
    places: List[Place] = attribute(default_factory=list)
    pods: List[Pod] = attribute(default_factory=list)  # pods that are not finished
    gangs: List[Gang] = attribute(default_factory=list)
    latest_s: float = 0.0  # latest time that the API server wrote; at most now
    by_key: Dict[Tuple[str, str], Place] = attribute(default_factory=dict)  # by node and resource

    def at(self, pod: Pod, resource: str) -> Optional[Place]:
        return self.by_key.get((pod.node, resource))


def read(written: str, accelerators: Accelerators, rack_label: str, notes: Notes) -> Cluster:
    """Returns the cluster that the input describes. Invalid objects are left out with a note."""
    cluster, owners, nodes, classes = Cluster(), Owners(), [], {}
    unknown: Dict[str, int] = {}
    seen: Set[Tuple[str, str, str]] = set()
    listed: Set[str] = set()
    for index, value in enumerate(documents(written)):
        subject = name_of(value, index)
        if not isinstance(value, dict):
            notes.add(f"object {index + 1}", "it is no object: it is left out")
            continue
        kind, name = text(value, "kind"), text(value, "metadata", "name")
        if kind in ("Node", "Pod") + _QUIET or has_templates(value):
            if not name:
                notes.add(subject, "metadata.name is missing: it is left out")
                continue
            key = (kind, text(value, "metadata", "namespace"), name)
            if key in seen:
                notes.add(subject, "it is listed twice: the first one counts")
                continue
            seen.add(key)
        if kind == "Node":
            listed.add(name)
            node = node_of(value, accelerators, rack_label, notes, subject)
            if node:
                nodes.append(node)
        elif kind == "Pod":
            pod = pod_of(value, accelerators, notes, subject)
            if pod:
                cluster.pods.append(pod)
        elif kind in ("PriorityClass", "WorkloadPriorityClass"):
            classes[name] = whole(value, "value") or 0
        elif has_templates(value):
            owners.add(value)
        else:
            unknown[kind or "no kind"] = unknown.get(kind or "no kind", 0) + 1
    namespaces = {pod.namespace for pod in cluster.pods}
    if nodes and len(namespaces) == 1:
        notes.add("input", f"all pods are of namespace '{min(namespaces)}': what pods of others hold looks free, "
                           "unless kubectl had --all-namespaces")
    for kind, number in sorted(unknown.items()):
        notes.add("input", f"{number} {'object' if number == 1 else 'objects'} of {kind}: not read")
    cluster.gangs = gangs_of(cluster.pods, owners, accelerators, notes)
    for pod in cluster.pods + [pod for gang in cluster.gangs for pod in gang.waiting]:
        if pod.priority is None:
            pod.priority = classes.get(pod.priority_class or pod.labels.get("kueue.x-k8s.io/priority-class", ""), 0)
        cluster.latest_s = max(cluster.latest_s, pod.created_s or 0, pod.started_s or 0)
    _fill(cluster, nodes, listed, notes)
    return cluster


def _fill(cluster: Cluster, nodes: List[Node], listed: Set[str], notes: Notes) -> None:
    """Makes places of nodes, and records what pods hold of them."""
    by_node: Dict[str, List[Place]] = {}
    for node in nodes:
        resources = sorted(node.devices, key=lambda resource: (is_part(resource), resource))
        for resource in resources:
            name = node.name if resource == resources[0] else f"{node.name}/{resource.rpartition('/')[2]}"
            place = Place(name, node, resource, product_of(resource, node.labels), node.devices[resource], node.closed)
            by_node.setdefault(node.name, []).append(place)
            cluster.places.append(place)
            cluster.by_key[node.name, resource] = place
    for pod in cluster.pods:
        if not pod.node:
            continue
        if pod.node not in listed:
            if pod.gpus:
                notes.add(pod.subject, f"runs on node '{pod.node}', which is not listed: it is left out")
            continue
        for place in by_node.get(pod.node, []) if pod.wrong else []:
            place.closed = place.closed or f"it is not known what {pod.subject} takes of it"
        for resource, number in pod.devices.items():
            there = cluster.at(pod, resource)
            if there is None:
                notes.add(pod.subject, f"holds {resource} of node '{pod.node}', which has none: it is left out")
            elif _belongs_to_node(pod):
                there.gpus -= min(number, there.gpus)
            else:
                there.held += number
    for place in cluster.places:
        if place.held > place.gpus:
            place.closed = place.closed or f"pods hold {place.held} of its {place.gpus} GPUs"
            place.gpus = place.held
    cluster.places = [place for place in cluster.places if place.gpus > 0]


def _belongs_to_node(pod: Pod) -> bool:
    return any(owner.kind == "DaemonSet" for owner in pod.owners)


def share_out_hosts(cluster: Cluster, declared: "Set[int]") -> None:
    """Sets the cores and the memory of each place: what its declared pods use, and a share of what all pods leave on
    the node. `declared` has the ids of pods whose jobs declare what they use."""
    used: Dict[str, List[float]] = {}
    taken: Dict[Tuple[str, str], List[float]] = {}
    for pod in cluster.pods:
        if not pod.node:
            continue
        _add(used.setdefault(pod.node, [0.0, 0.0]), pod)
        if id(pod) in declared:
            _add(taken.setdefault((pod.node, next(iter(pod.devices))), [0.0, 0.0]), pod)
    by_node: Dict[str, List[Place]] = {}
    for place in cluster.places:
        by_node.setdefault(place.node.name, []).append(place)
    for name, places in by_node.items():
        node, sums = places[0].node, used.get(name, [0.0, 0.0])
        free = [place.free for place in places]
        parts = free if sum(free) > 0 else [1] * len(places)
        for place, part in zip(places, parts):
            share, own = part / sum(parts), taken.get((name, place.resource), [0.0, 0.0])
            if node.cores is not None:
                place.cores = own[0] + share * max(node.cores - sums[0], 0.0)
            if node.memory_gib is not None:
                place.memory_gib = own[1] + share * max(node.memory_gib - sums[1], 0.0)


def _add(sums: List[float], pod: Pod) -> None:
    sums[0] += pod.cores
    sums[1] += pod.memory_gib
