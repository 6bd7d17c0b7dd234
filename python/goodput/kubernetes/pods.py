"""Pods, running or waiting, and pods that a template will create: what they request, and where they may run."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Dict, List, Optional, Tuple

from .annotations import Said, said_of
from .hardware import Accelerators
from .matching import Constraint, constraint_of
from .objects import Notes, entries, field, mapping, seconds, text, texts, whole
from .quantity import amount, count

GIB = 2.0**30


@dataclass
class Pod:
    namespace: str
    name: str
    node: str  # empty if the pod waits for one
    devices: Dict[str, int]  # accelerators by resource
    cores: float
    memory_gib: float
    constraint: Constraint
    priority: Optional[int]  # None if only the class is known
    priority_class: str
    may_preempt: bool
    created_s: Optional[float]
    started_s: Optional[float]
    labels: Dict[str, str]
    annotations: Dict[str, str]
    owners: Tuple["Owner", ...]
    group: str  # the group named by the pod's own spec
    said: Said
    gated: bool = False
    ending: bool = False  # its deletion has begun
    wrong: bool = False  # a request is invalid, so what the pod takes is unknown

    @property
    def subject(self) -> str:
        return f"pod '{self.namespace}/{self.name}'"

    @property
    def gpus(self) -> int:
        return sum(self.devices.values())


@dataclass(frozen=True)
class Owner:
    kind: str
    name: str


def pod_of(value: Any, accelerators: Accelerators, notes: Notes, subject: str) -> Optional[Pod]:
    """Returns the pod, or None if it is finished."""
    if text(value, "status", "phase") in ("Succeeded", "Failed"):
        return None
    namespace, name = text(value, "metadata", "namespace") or "default", text(value, "metadata", "name")
    return _made(value, namespace, name, accelerators, notes, subject)


def template_pod(template: Any, namespace: str, name: str, created_s: Optional[float], accelerators: Accelerators,
                 notes: Notes, subject: str) -> Pod:
    """Returns a pod that does not exist yet."""
    pod = _made(template, namespace, name, accelerators, notes, subject)
    pod.node, pod.created_s = "", created_s
    pod.constraint = constraint_of(field(template, "spec"), sorted(pod.devices))
    return pod


def _made(value: Any, namespace: str, name: str, accelerators: Accelerators, notes: Notes, subject: str) -> Pod:
    spec = field(value, "spec")
    labels, annotations = texts(value, "metadata", "labels"), texts(value, "metadata", "annotations")
    requests, wrong = _requests(spec, accelerators, notes, subject)
    if isinstance(field(spec, "resourceClaims"), list) and field(spec, "resourceClaims"):
        notes.add(subject, "asks for devices by resource claims, which are not read: they are not counted")
    if "gpu-fraction" in annotations or "gpu-memory" in annotations:
        notes.add(subject, "asks for a part of a GPU by an annotation, which is not read: it is not counted")
    devices = {resource: int(number) for resource, number in sorted(requests.items())
               if resource in accelerators and number > 0}
    return Pod(namespace=namespace, name=name, node=text(spec, "nodeName"), devices=devices,
               cores=requests.get("cpu", 0.0), memory_gib=requests.get("memory", 0.0) / GIB,
               constraint=constraint_of(spec), priority=whole(spec, "priority"),
               priority_class=text(spec, "priorityClassName"), may_preempt=text(spec, "preemptionPolicy") != "Never",
               created_s=seconds(value, "metadata", "creationTimestamp"),
               started_s=seconds(value, "status", "startTime"), labels=labels, annotations=annotations,
               owners=owners_of(value),
               group=text(spec, "schedulingGroup", "podGroupName") or text(spec, "workloadRef", "name"),
               said=said_of(annotations, notes, subject), gated=bool(entries(spec, "schedulingGates")),
               ending=bool(text(value, "metadata", "deletionTimestamp")), wrong=wrong)


def owners_of(value: Any) -> Tuple[Owner, ...]:
    """Returns the owners, the controller first."""
    references = sorted(entries(value, "metadata", "ownerReferences"),
                        key=lambda each: field(each, "controller") is not True)
    return tuple(Owner(text(each, "kind"), text(each, "name")) for each in references if text(each, "name"))


def _requests(spec: Any, accelerators: Accelerators, notes: Notes, subject: str) -> "Tuple[Dict[str, float], bool]":
    """Returns what the scheduler counts: containers and sidecars together, or a starting init container with the
    sidecars that started before it, whichever is more; plus the overhead. A pod's own requests override those of its
    containers. Also returns whether a request for accelerators is invalid."""
    wrong: List[str] = []

    def requests_of(holder: Any, place: str) -> Dict[str, float]:
        resources = mapping(holder, "resources")
        asked: Dict[str, float] = {}
        for resource, value in {**mapping(resources, "limits"), **mapping(resources, "requests")}.items():
            if resource not in ("cpu", "memory") and resource not in accelerators:
                continue
            try:
                asked[resource] = float(count(value)) if resource in accelerators else amount(value)
            except ValueError as error:
                wrong.append(resource)
                notes.add(subject, f"{place} asks for {resource}: {error}")
        return asked

    running: Dict[str, float] = {}
    for index, container in enumerate(entries(spec, "containers")):
        _add(running, requests_of(container, f"container '{text(container, 'name') or index}'"))
    sidecars: Dict[str, float] = {}
    starting: Dict[str, float] = {}
    for index, container in enumerate(entries(spec, "initContainers")):
        asked = requests_of(container, f"init container '{text(container, 'name') or index}'")
        if text(container, "restartPolicy") == "Always":
            _add(sidecars, asked)
            asked = {}
        _add(asked, sidecars)
        for resource, number in asked.items():
            starting[resource] = max(starting.get(resource, 0.0), number)
    _add(running, sidecars)
    for resource, number in starting.items():
        running[resource] = max(running.get(resource, 0.0), number)
    running.update(requests_of(spec, "the pod"))
    for resource, value in mapping(spec, "overhead").items():
        if resource in ("cpu", "memory"):
            try:
                _add(running, {resource: amount(value)})
            except ValueError as error:
                notes.add(subject, f"overhead of {resource}: {error}: left out")
    return running, any(resource in accelerators for resource in wrong)


def _add(total: Dict[str, float], more: Dict[str, float]) -> None:
    for resource, number in more.items():
        total[resource] = total.get(resource, 0.0) + number
