"""Explains a plan in words: which waiting gang could start where, and what stops the others; which GPUs stay free,
and why; what more GPUs would be worth. It changes nothing in the cluster."""

from __future__ import annotations

import copy
from typing import Any, Callable, Dict, Iterable, List, Optional, Tuple

from .cluster import Cluster, Place
from .needs import Room, fit
from .snapshot import Picture, Task, submitted

Planner = Callable[[Dict[str, Any]], Dict[str, Any]]
_MORE_NODES = "one more node"
_MOST_QUESTIONS = 8  # GPU types for which the planner is asked once more


def advice(cluster: Cluster, picture: Picture, plan: Planner) -> List[str]:
    """Returns the lines of the advice. `plan` answers a snapshot. The function asks it once more for each GPU type
    that gangs wait for, up to eight of them."""
    return _Advice(cluster, picture, plan(picture.document)).lines(plan)


class _Advice:
    def __init__(self, cluster: Cluster, picture: Picture, answer: Dict[str, Any]) -> None:
        self._picture, self._answer = picture, answer
        self._given: Dict[str, Dict[str, Any]]
        self._places = {place.name: place for place in cluster.places}
        self._given = {task.name: {"nodes": [], "starts": "waits"} for task in picture.tasks}
        self._given.update((entry["name"], entry) for entry in answer["plan"])
        self._waiting = [task for task in picture.tasks if not task.held]
        self._running = [task for task in picture.tasks if task.held]
        self._still = [task for task in self._waiting if not self._given[task.name]["nodes"]]
        self._rooms = self._rooms_after()
        self._holders = self._holders_by_type()
        self._changes = self._changes_of_running()

    def lines(self, plan: Planner) -> List[str]:
        return (self._speeds() + _section("Waiting gangs", self._gangs()) +
                _section("Running gangs that the plan would change", self._changes) +
                _section("GPUs that stay free", self._free()) +
                _section("Nodes that take nothing new", self._closed()) +
                _section("What more GPUs are worth", self._worth(plan)) +
                _section("The planner warns", [str(said) for said in self._answer.get("warnings", [])]))

    def _speeds(self) -> List[str]:
        known, number = self._picture.speeds_known, len(self._picture.tasks)
        if known == 0:
            return ["No speeds are known, so all GPU types count as equally fast. Pods can tell them in the "
                    "annotation goodput/speed.TYPE."]
        return [f"Speeds of {known} of {_number(number, 'gang')} are known by annotation; for the others all GPU "
                "types count as equally fast."]

    def _rooms_after(self) -> Dict[str, List[Room]]:
        """Returns what is free by GPU type once the plan is carried out, where new pods may go."""
        rooms = {place.name: Room(place, place.gpus, place.cores, place.memory_gib)
                 for place in self._places.values()}
        for entry in self._answer["plan"]:
            for index, (name, gpus) in enumerate(entry["nodes"]):
                rooms[name].give_back(-gpus, *(-amount for amount in _host(entry, index)))
        by_type: Dict[str, List[Room]] = {}
        for room in rooms.values():
            if room.gpus > 0 and not room.place.closed:
                by_type.setdefault(self._picture.type_of[room.place.name], []).append(room)
        return by_type

    def _holders_by_type(self) -> Dict[str, List[Tuple[int, Task]]]:
        """Returns the tasks that have GPUs of a type under the plan, and how many."""
        by_type: Dict[str, List[Tuple[int, Task]]] = {}
        for task in self._picture.tasks:
            sums: Dict[str, int] = {}
            for name, gpus in self._given[task.name]["nodes"]:
                gpu_type = self._picture.type_of[name]
                sums[gpu_type] = sums.get(gpu_type, 0) + gpus
            for gpu_type, gpus in sums.items():
                by_type.setdefault(gpu_type, []).append((gpus, task))
        return by_type

    # -------------------------------------------------------------------------------------- waiting gangs

    def _gangs(self) -> List[str]:
        lines: List[str] = []
        then = ", once the changes below are made" if self._changes else ""
        starting = [task for task in self._waiting if self._given[task.name]["nodes"]]
        for task in sorted(starting, key=_first_priority):
            lines.append(f"{self._described(task)} could start on {_nodes(self._given[task.name]['nodes'])}{then}.")
        for task in sorted(self._still, key=_first_priority):
            lines += [f"{self._described(task)} waits.", *("  " + reason for reason in self._obstacles(task))]
        for task, why in self._picture.left_out:
            lines += [f"{self._described(task)} waits.", f"  {why[:1].upper()}{why[1:]}."]
        return lines

    def _described(self, task: Task) -> str:
        gang, now_s = task.gang, self._picture.document["time_s"]
        facts = [f"{_number(task.gpus, 'GPU')} in {_number(len(task.pods), 'pod')}"]
        if task.priority:
            facts.append(f"priority {task.priority}")
        facts.append(f"{_duration(now_s - submitted(gang.pods, now_s))} old")
        if gang.suspended:
            facts.append("suspended")
        elif any(pod.gated for pod in task.pods):
            facts.append("held back by a scheduling gate")
        if gang.running:
            held = sum(pod.gpus for pod in gang.running)
            runs = "runs" if len(gang.running) == 1 else "run"
            facts.append(f"part of a gang: {_number(len(gang.running), 'pod')} with {_number(held, 'GPU')} {runs} "
                         "already")
        return f"{task.name} ({', '.join(facts)})"

    def _obstacles(self, task: Task) -> List[str]:
        rooms = [room for gpu_type in task.types for room in self._rooms.get(gpu_type, [])]
        if task.within:
            return [f"All its pods have to be in one {task.within}: {self._why(task)}.", *self._in_the_way(task)]
        found = fit(task.pods, rooms)
        if found is not None:
            return [f"Its pods have room if they may lie scattered: on {_nodes(sorted(found.items()))}. The plan "
                    "gives a gang as few nodes as can hold it, of one GPU type."]
        lines: List[str] = []
        earlier, found = self._before_lower(task, rooms)
        if found is not None:
            lines.append(f"Its pods have room if they may lie scattered: on {_nodes(sorted(found.items()))}, unless "
                         f"these of lower priority start first: {_listed(earlier)}.")
        lines += self._what_is_free(task, rooms) + self._in_the_way(task)
        closed = [place.name for place in self._places.values()
                  if place.closed and self._picture.type_of[place.name] in task.types]
        if closed:
            lines.append(f"It could use these nodes if they took new pods: {_listed(closed)}.")
        if self._given[task.name].get("outcome") == "impossible":
            lines.append(f"It can never start here: {self._why(task)}.")
        return lines

    def _why(self, task: Task) -> str:
        """Returns the planner's reason, without the outcome before it."""
        why = str(self._given[task.name].get("why", "")) or "the plan has no room for it"
        outcome, colon, reason = why.partition(": ")
        return reason if colon and outcome in ("waits", "impossible") else why

    def _before_lower(self, task: Task, rooms: List[Room]) -> "Tuple[List[str], Optional[Dict[str, int]]]":
        """Returns where its pods have room if waiting gangs of lower priority do not start, and the names of these
        gangs."""
        names: List[str] = []
        back: Dict[str, Room] = {}
        for other in self._waiting:
            nodes = [name for name, _ in self._given[other.name]["nodes"]
                     if self._picture.type_of[name] in task.types]
            if other.priority >= task.priority or not nodes:
                continue
            names.append(other.name)
            for index, (name, gpus) in enumerate(self._given[other.name]["nodes"]):
                if name in nodes:
                    if name not in back:
                        there = [room for room in rooms if room.place.name == name]
                        back[name] = there[0].copied() if there else Room(self._places[name], 0, 0.0, 0.0)
                    back[name].give_back(gpus, *_host(self._given[other.name], index))
        if not names:
            return [], None
        return names, fit(task.pods, [back.pop(room.place.name, room) for room in rooms] + list(back.values()))

    def _what_is_free(self, task: Task, rooms: List[Room]) -> List[str]:
        free = sum(room.gpus for room in rooms)
        if free < task.gpus:
            return [f"{free} of the {task.gpus} GPUs that it wants stay free on nodes that it may use."]
        wide = [room for room in rooms if room.gpus >= min(pod.gpus for pod in task.pods)]
        tight = [room for room in wide if not any(room.holds(pod) for pod in task.pods)]
        lines: List[str] = []
        if len(tight) < len(wide) or not wide:
            pieces = _nodes((room.place.name, room.gpus) for room in rooms)
            lines.append(f"Enough GPUs stay free, but in pieces: {pieces}; {_what_pods_need(task)}.")
        if tight:
            names = _listed(room.place.name for room in tight)
            lines.append(f"Enough GPUs, but too few cores or too little memory for one of its pods: {names}.")
        return lines

    def _in_the_way(self, task: Task) -> List[str]:
        sums: Dict[str, Tuple[int, Task]] = {}
        for gpu_type in task.types:
            for gpus, other in self._holders.get(gpu_type, []):
                sums[other.name] = (sums.get(other.name, (0, other))[0] + gpus, other)
        holders = sorted(sums.values(), key=lambda each: (-each[0], each[1].name))
        lower = [each for each in holders if each[1].priority < task.priority and each[1].held]
        if not all(pod.may_preempt for pod in task.pods):
            lower = []
        names = {other.name for _, other in lower}
        others = [each for each in holders if each[1].name not in names]
        lines: List[str] = []
        if lower:
            lines.append("Kubernetes may preempt these of lower priority for it: "
                         f"{_listed(_holding(each) for each in lower)}.")
        if others:
            lines.append(f"In its way: {_listed(_holding(each) for each in others)}.")
        return lines

    # -------------------------------------------------------------------- running gangs, free GPUs, nodes

    def _changes_of_running(self) -> List[str]:
        lines: List[str] = []
        for task in self._running:
            given, old = self._given[task.name], _nodes(sorted(task.held.items()))
            if given["starts"] == "stops":
                lines.append(f"{task.name} stops, and gives back {old}.")
            elif given["starts"] in ("move", "restart"):
                lines.append(f"{task.name} moves from {old} to {_nodes(given['nodes'])}.")
        return lines

    def _free(self) -> List[str]:
        by_reason: Dict[str, List[str]] = {}
        total = sum(place.gpus for place in self._places.values())
        free = 0
        for gpu_type, rooms in self._rooms.items():
            wanting = [task for task in self._still if gpu_type in task.types]
            for room in rooms:
                free += room.gpus
                reason = self._why_free(room, wanting) if wanting else self._why_unwanted(rooms[0].place)
                by_reason.setdefault(reason, []).append(f"{room.place.name} ({room.gpus} of {room.place.gpus})")
        lines = [f"  {_listed(names)}: {reason}." for reason, names in sorted(by_reason.items())]
        return [f"{free} of {_number(total, 'GPU')}:"] + lines if lines else []

    def _why_unwanted(self, place: Place) -> str:
        others = self._still + [task for task, _ in self._picture.left_out]
        if not others:
            return "no further gang waits"
        refusals = {task.need.refusal(place) for task in others if task.need} - {""}
        return "no waiting gang may use it" + (f" ({min(refusals)})" if len(refusals) == 1 else "")

    @staticmethod
    def _why_free(room: Room, wanting: List[Task]) -> str:
        smallest = min(pod.gpus for task in wanting for pod in task.pods)
        if smallest > room.gpus:
            return f"fragmented: the smallest waiting pod that may use it needs {smallest}"
        if not any(room.holds(pod) for task in wanting for pod in task.pods):
            return "too few cores or too little memory is left for a waiting pod"
        least = _number(min(task.gpus for task in wanting), "GPU")
        return f"a pod would fit, but no whole gang: the smallest that may use it wants {least}"

    def _closed(self) -> List[str]:
        return [f"{place.name} ({place.held} of {_number(place.gpus, 'GPU')} in use): {place.closed}."
                for place in self._places.values() if place.closed]

    # ---------------------------------------------------------------------------------------------- worth

    def _worth(self, plan: Planner) -> List[str]:
        objective = float(self._answer.get("objective") or 0)
        wanted = {gpu_type: sum(1 for task in self._still if gpu_type in task.types)
                  for gpu_type in set(self._picture.type_of.values())}
        asked = sorted((gpu_type for gpu_type in wanted if wanted[gpu_type]), key=lambda each: (-wanted[each], each))
        lines: List[str] = []
        for gpu_type in sorted(wanted, key=lambda each: (-wanted[each], each)):
            price = float((self._answer.get("prices") or {}).get(gpu_type) or 0)
            if not price and not wanted[gpu_type]:
                continue
            line = f"{gpu_type}: one more GPU is worth {_part(price, objective)}"
            if gpu_type in asked[:_MOST_QUESTIONS]:
                gpus, gain, started = self._with_one_more_node(gpu_type, objective, plan)
                line += f"; one more node of {gpus}: {_part(gain, objective)}"
                line += f", it would start {_listed(started)}" if started else ""
            lines.append(line + ".")
        idle = sorted(gpu_type for gpu_type in wanted if not wanted[gpu_type]
                      and not (self._answer.get("prices") or {}).get(gpu_type))
        if idle:
            lines.append(f"{_listed(idle)}: nothing, no gang waits for more.")
        return ["In the values of the policy, and in per cent of all that runs:"] + lines if lines else []

    def _with_one_more_node(self, gpu_type: str, objective: float, plan: Planner) -> "Tuple[int, float, List[str]]":
        """Returns the size of the largest node of a type, what one more adds to the plan, and the gangs that it
        starts."""
        place = max((place for name, place in self._places.items() if self._picture.type_of[name] == gpu_type),
                    key=lambda each: each.gpus)
        document = copy.copy(self._picture.document)
        node: Dict[str, Any] = next(dict(node) for node in document["nodes"] if node["name"] == place.name)
        node.pop("drained", None)
        node["name"] = _MORE_NODES
        for name, whole in (("cores", place.node.cores), ("memory_gib", place.node.memory_gib)):
            if whole is not None:
                node[name] = whole
        document["nodes"] = document["nodes"] + [node]
        answer = plan(document)
        runs = {entry["name"] for entry in answer["plan"] if entry["nodes"]}
        gain = max(float(answer.get("objective") or 0) - objective, 0.0)
        return place.gpus, gain, sorted(task.name for task in self._still if task.name in runs)


def _section(title: str, lines: List[str]) -> List[str]:
    return ["", title] + ["  " + line for line in lines] if lines else []


def _first_priority(task: Task) -> Tuple[int, str]:
    return (-task.priority, task.name)


def _host(entry: Dict[str, Any], index: int) -> Tuple[float, float]:
    """Returns the cores and the memory that a job has on one of its nodes."""
    cores, memory = (entry.get(name) or [] for name in ("cores", "memory_gib"))
    return (float(cores[index]) if index < len(cores) else 0.0, float(memory[index]) if index < len(memory) else 0.0)


def _what_pods_need(task: Task) -> str:
    sizes = sorted({pod.gpus for pod in task.pods})
    if len(task.pods) == 1:
        return f"its pod needs {sizes[0]} on one node"
    if len(sizes) == 1:
        return f"each of its {len(task.pods)} pods needs {sizes[0]} on one node"
    return f"its pods need {sizes[0]} to {sizes[-1]} on one node"


def _holding(holder: Tuple[int, Task]) -> str:
    return f"{holder[1].name} ({_number(holder[0], 'GPU')})"


def _nodes(nodes: "Iterable[Tuple[str, int]]") -> str:
    return _listed(f"{name} ({gpus})" for name, gpus in nodes)


def _part(value: float, whole: float) -> str:
    if value <= 1e-9 * max(whole, 1.0):
        return "nothing"
    percent = 100 * value / whole if whole > 0 else 0.0
    return f"{value:.3g}" + (f" ({percent:.0f} %)" if percent >= 1 else f" ({percent:.1g} %)" if percent > 0 else "")


def _number(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def _listed(names: Iterable[str], most: int = 6) -> str:
    every = list(names)
    shown = ", ".join(every[:most])
    return shown if len(every) <= most else f"{shown} and {len(every) - most} more"


def _duration(seconds: float) -> str:
    for unit, length in (("d", 86400), ("h", 3600), ("min", 60)):
        if seconds >= 2 * length or (unit == "min" and seconds >= 60):
            return f"{seconds / length:.0f} {unit}"
    return f"{max(seconds, 0):.0f} s"
