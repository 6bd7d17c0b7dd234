"""Gangs: pods that only work together, such as the workers of one training.

Pods with the same group of a scheduler (Kueue, KAI, Volcano, coscheduling, Kubernetes' own) form a gang. So do those
of one JobSet, Kubeflow job, Ray cluster, Job, or other owner that is no service. Each pod of a Deployment, a
StatefulSet or a ReplicaSet, and each pod without an owner, is its own gang. DaemonSets belong to their nodes.
"""

from __future__ import annotations

from dataclasses import dataclass, field as attribute, replace
from typing import Any, Dict, List, Optional, Tuple

from .hardware import Accelerators
from .objects import Notes, entries, field, mapping, seconds, text, whole
from .pods import Owner, Pod, owners_of, template_pod

_SERVICES = ("ReplicaSet", "StatefulSet", "ReplicationController", "Deployment", "Node", "CronJob", "Rollout")
_GROUP_LABELS = ("kueue.x-k8s.io/pod-group-name", "scheduling.x-k8s.io/pod-group", "pod-group.scheduling.sigs.k8s.io")
_GROUP_ANNOTATIONS = ("scheduling.k8s.io/group-name", "scheduling.volcano.sh/group-name", "pod-group-name")
_OWNER_LABELS = (("jobset.sigs.k8s.io/jobset-name", "jobset"), ("training.kubeflow.org/job-name", "trainingjob"),
                 ("ray.io/cluster", "raycluster"))
_WORKER_SET = "leaderworkerset.sigs.k8s.io/name"
_WORKER_GROUP = "leaderworkerset.sigs.k8s.io/group-index"
_REPLICA_SPECS = "ReplicaSpecs"
_INDEX = "batch.kubernetes.io/job-completion-index"


@dataclass
class Gang:
    name: str  # namespace/kind/name
    running: List[Pod] = attribute(default_factory=list)  # on a node, or assigned to one
    waiting: List[Pod] = attribute(default_factory=list)
    not_created: int = 0  # how many of the waiting ones do not exist yet
    suspended: bool = False
    loose: bool = False  # pods of a Job without indices, which may be workers of a queue

    @property
    def pods(self) -> List[Pod]:
        return self.running + self.waiting


class Owners:
    """The listed objects that own pods: Jobs, and objects with replica specs."""

    def __init__(self) -> None:
        self._found: Dict[Tuple[str, str, str], Any] = {}

    def add(self, value: Any) -> None:
        self._found[_key(value)] = value

    def top(self, namespace: str, owner: Owner) -> Owner:
        """Returns the owner's owner, and so on, as long as it is listed and makes a gang."""
        for _ in range(8):
            above = owners_of(self._found.get((namespace, owner.kind, owner.name)))
            if not above or above[0].kind in _SERVICES:
                break
            owner = above[0]
        return owner

    def with_templates(self) -> List[Any]:
        return [value for (_, kind, _), value in self._found.items() if kind == "Job" or _replicas(value)]


def has_templates(value: Any) -> bool:
    """Whether an object says which pods it will make."""
    return text(value, "kind") == "Job" or bool(_replicas(value))


def gangs_of(pods: List[Pod], owners: Owners, accelerators: Accelerators, notes: Notes) -> List[Gang]:
    """Returns the gangs that have or want accelerators, by name."""
    gangs: Dict[str, Gang] = {}
    owned: Dict[Tuple[str, str, str], List[Pod]] = {}
    for pod in pods:
        gang = gangs.setdefault(_gang_name(pod, owners), Gang(""))
        (gang.running if pod.node else gang.waiting).append(pod)
        for owner in pod.owners:
            owned.setdefault((pod.namespace, owner.kind, owner.name), []).append(pod)
    for value in owners.with_templates():
        _add_not_created(value, gangs, owned, owners, accelerators, notes)
    for name, gang in gangs.items():
        gang.name = name
        gang.loose = "/job/" in name and not any(_INDEX in pod.annotations or _INDEX in pod.labels for pod in gang.pods)
    return [gangs[name] for name in sorted(gangs) if any(pod.gpus for pod in gangs[name].pods)]


def _gang_name(pod: Pod, owners: Owners) -> str:
    if not pod.said.gang:
        return f"{pod.namespace}/pod/{pod.name}"
    group = (pod.group or next((pod.labels[label] for label in _GROUP_LABELS if pod.labels.get(label)), "") or
             next((pod.annotations[key] for key in _GROUP_ANNOTATIONS if pod.annotations.get(key)), ""))
    if group:
        return f"{pod.namespace}/group/{group}"
    for label, kind in _OWNER_LABELS:
        if pod.labels.get(label):
            return f"{pod.namespace}/{kind}/{pod.labels[label]}"
    if pod.labels.get(_WORKER_SET):
        return f"{pod.namespace}/leaderworkerset/{pod.labels[_WORKER_SET]}-{pod.labels.get(_WORKER_GROUP, '0')}"
    if pod.owners:
        owner = owners.top(pod.namespace, pod.owners[0])
        if owner.kind not in _SERVICES:
            return f"{pod.namespace}/{owner.kind.lower()}/{owner.name}"
    return f"{pod.namespace}/pod/{pod.name}"


def _replicas(value: Any) -> List[Tuple[str, Any]]:
    """Returns the roles of a Kubeflow job: those of spec.pytorchReplicaSpecs and the like."""
    specs = [mapping(value, "spec", key) for key in mapping(value, "spec") if key.endswith(_REPLICA_SPECS)]
    return [(role.lower(), spec) for each in specs for role, spec in sorted(each.items()) if isinstance(spec, dict)]


def _key(value: Any) -> Tuple[str, str, str]:
    """Returns namespace, kind and name."""
    return text(value, "metadata", "namespace") or "default", text(value, "kind"), text(value, "metadata", "name")


def _finished(value: Any) -> bool:
    return any(text(condition, "type") in ("Complete", "Failed", "Succeeded") and text(condition, "status") == "True"
               for condition in entries(value, "status", "conditions"))


def _add_not_created(value: Any, gangs: Dict[str, Gang], owned: Dict[Tuple[str, str, str], List[Pod]], owners: Owners,
                     accelerators: Accelerators, notes: Notes) -> None:
    """Adds pods that do not exist yet. A suspended Job has no pods, and a new one may lack some: its template
    describes them."""
    if _finished(value) or text(value, "metadata", "deletionTimestamp"):
        return
    namespace, kind, name = _key(value)
    suspended = field(value, "spec", "suspend") is True or field(value, "spec", "runPolicy", "suspend") is True
    roles: List[Tuple[str, Any, int, int]] = []  # name, template, pods wanted, pods that exist
    there = owned.get((namespace, kind, name), [])
    if kind == "Job":
        done = whole(value, "status", "succeeded") or 0
        wanted = _number(value, "parallelism")
        if field(value, "spec", "completions") is not None:
            wanted = min(wanted, max(_number(value, "completions") - done, 0))
        elif done > 0:
            wanted = 0  # once a worker has succeeded, a Job without a number of completions makes no new pods
        roles.append(("", field(value, "spec", "template"), wanted, len(there)))
    else:
        for role, spec in _replicas(value):
            of_role = [pod for pod in there if pod.labels.get("training.kubeflow.org/replica-type", "").lower() == role]
            replicas = whole(spec, "replicas")
            roles.append((role, field(spec, "template"), 1 if replicas is None else replicas, len(of_role)))
    subject = f"{kind[:1].lower() + kind[1:]} '{namespace}/{name}'"
    for role, template, wanted, number in roles:
        missing = min(wanted - number, 10000)
        if missing <= 0:
            continue
        created_s = seconds(value, "metadata", "creationTimestamp")
        first = template_pod(template, namespace, name, created_s, accelerators, notes, subject)
        for index in range(missing):
            pod_name = "-".join(part for part in (name, role, str(number + index)) if part)
            pod = replace(first, name=pod_name, owners=(Owner(kind, name),))
            gang = gangs.setdefault(_gang_name(pod, owners), Gang(""))
            gang.waiting.append(pod)
            gang.not_created += 1
            gang.suspended = gang.suspended or suspended


def _number(value: Any, name: str) -> int:
    number: Optional[int] = whole(value, "spec", name)
    return 1 if number is None else max(number, 0)
