"""What a gang needs from nodes, and why a node cannot provide it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Dict, List, Optional, Tuple

from .cluster import Place
from .matching import Constraint
from .pods import Pod


@dataclass(frozen=True)
class Need:
    """The need of a gang. Gangs with equal needs can use the same nodes."""

    resource: str
    sizes: Tuple[int, ...]  # GPUs of each pod, largest first
    constraints: Tuple[Constraint, ...]

    def refusal(self, place: Place) -> str:
        """Returns why the gang could not use a place even if it were empty; empty if it could."""
        if place.resource != self.resource:
            return f"it wants {self.resource}"
        if self.sizes[0] > place.gpus:
            return f"its pods need {self.sizes[0]} GPUs on one node"
        for constraint in self.constraints:
            refused = constraint.refusal(place.node.name, place.node.labels, place.node.taints)
            if refused:
                return refused
        return ""

    def divides(self, gpus: int) -> bool:
        """Whether the gang's pods fill nodes of this size without gaps if one node is too small. A plan gives such a
        gang whole nodes, and the rest on one more node."""
        if sum(self.sizes) <= gpus:
            return True
        return all(larger % smaller == 0 for larger, smaller in zip((gpus,) + self.sizes, self.sizes))


def need_of(pods: List[Pod]) -> Optional[Need]:
    """Returns the need of pods with GPUs, or None if they want GPUs of several resources."""
    resources = sorted({resource for pod in pods for resource in pod.devices})
    if len(resources) != 1:
        return None
    return Need(resources[0], tuple(sorted((pod.gpus for pod in pods), reverse=True)),
                tuple(sorted({pod.constraint for pod in pods}, key=lambda constraint: constraint.written)))


@dataclass
class Room:
    """The free resources of a place."""

    place: Place
    gpus: int
    cores: Optional[float]
    memory_gib: Optional[float]

    def holds(self, pod: Pod) -> bool:
        slack = 1e-6
        return (pod.gpus <= self.gpus and (self.cores is None or pod.cores <= self.cores + slack) and
                (self.memory_gib is None or pod.memory_gib <= self.memory_gib + slack))

    def copied(self) -> "Room":
        return Room(self.place, self.gpus, self.cores, self.memory_gib)

    def give_back(self, gpus: int, cores: float, memory_gib: float) -> None:
        self.gpus += gpus
        self.cores = None if self.cores is None else self.cores + cores
        self.memory_gib = None if self.memory_gib is None else self.memory_gib + memory_gib


def fit(pods: List[Pod], rooms: List[Room]) -> Optional[Dict[str, int]]:
    """Finds free GPUs for all pods. Returns GPUs by place, or None if there is no room. The largest pods choose
    first, and take the fullest place with room for them."""
    if sum(pod.gpus for pod in pods) > sum(room.gpus for room in rooms):
        return None
    trial = [room.copied() for room in rooms]
    given: Dict[str, int] = {}
    for pod in sorted(pods, key=lambda pod: (-pod.gpus, -pod.cores, -pod.memory_gib)):
        fitting = [room for room in trial if room.holds(pod)]
        if not fitting:
            return None
        # Places that the gang already uses come first: fewer nodes are better connected.
        room = min(fitting, key=lambda room: (room.place.name not in given, room.gpus))
        room.give_back(-pod.gpus, -pod.cores, -pod.memory_gib)
        given[room.place.name] = given.get(room.place.name, 0) + pod.gpus
    return given
