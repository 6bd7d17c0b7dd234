"""Nodes: their resources and locations, and whether they take new pods."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Dict, Optional, Tuple

from .hardware import Accelerators
from .matching import Taint, taints_of
from .objects import Notes, entries, field, mapping, text, texts
from .quantity import amount, count

GIB = 2.0**30
ZONES = ("topology.kubernetes.io/zone", "failure-domain.beta.kubernetes.io/zone")
RACKS = ("topology.kubernetes.io/rack", "cloud.google.com/gce-topology-subblock",
         "cloud.google.com/gce-topology-block", "topology.k8s.aws/network-node-layer-3")
_SPOT = (("karpenter.sh/capacity-type", "spot"), ("eks.amazonaws.com/capacityType", "SPOT"),
         ("cloud.google.com/gke-spot", "true"), ("cloud.google.com/gke-preemptible", "true"),
         ("kubernetes.azure.com/scalesetpriority", "spot"), ("node.kubernetes.io/lifecycle", "spot"))


@dataclass
class Node:
    """A node with accelerators, of one kind or several."""

    name: str
    labels: Dict[str, str]
    taints: Tuple[Taint, ...]
    devices: Dict[str, int]  # by resource
    cores: Optional[float]  # None if the node does not state it
    memory_gib: Optional[float]
    zone: str
    rack: str
    spot: bool
    closed: str  # why the node takes no new pods; empty if it does


def node_of(value: Any, accelerators: Accelerators, rack_label: str, notes: Notes, subject: str) -> Optional[Node]:
    """Returns the node, or None if it has no accelerators."""
    labels = texts(value, "metadata", "labels")
    allocatable = field(value, "status", "allocatable")
    if not isinstance(allocatable, dict):
        notes.add(subject, "status.allocatable is missing: the node is left out")
        return None
    devices: Dict[str, int] = {}
    for resource in sorted(allocatable):
        if resource not in accelerators:
            continue
        try:
            number = count(allocatable[resource])
        except ValueError as error:
            notes.add(subject, f"status.allocatable[{resource!r}]: {error}: the resource is left out")
            continue
        if number > 0:
            devices[resource] = number
    lost = sorted(resource for resource, number in mapping(value, "status", "capacity").items()
                  if resource in accelerators and resource not in allocatable and _positive(number))
    if lost:
        notes.add(subject, f"has {', '.join(lost)}, but none that can be allocated: is its device plugin running?")
    if not devices:
        return None
    racks = (rack_label,) if rack_label else RACKS
    return Node(name=text(value, "metadata", "name"), labels=labels, taints=taints_of(value), devices=devices,
                cores=_amount(allocatable, "cpu", 1.0, notes, subject),
                memory_gib=_amount(allocatable, "memory", GIB, notes, subject),
                zone=_first(labels, ZONES), rack=_first(labels, racks),
                spot=any(labels.get(key) == said for key, said in _SPOT), closed=_closed(value))


def _closed(node: Any) -> str:
    if text(node, "metadata", "deletionTimestamp"):
        return "it is being deleted"
    if field(node, "spec", "unschedulable") is True:
        return "it is cordoned"
    for condition in entries(node, "status", "conditions"):
        if text(condition, "type") == "Ready" and text(condition, "status") != "True":
            reason = text(condition, "reason")
            return "it is not ready" + (f" ({reason})" if reason else "")
    return ""


def _positive(value: Any) -> bool:
    try:
        return amount(value) > 0
    except ValueError:
        return False


def _amount(allocatable: Dict[str, Any], name: str, unit: float, notes: Notes, subject: str) -> Optional[float]:
    if name not in allocatable:
        return None
    try:
        return amount(allocatable[name]) / unit
    except ValueError as error:
        notes.add(subject, f"status.allocatable[{name!r}]: {error}: it is not counted")
        return None


def _first(labels: Dict[str, str], keys: Tuple[str, ...]) -> str:
    return next((labels[key] for key in keys if labels.get(key)), "")
