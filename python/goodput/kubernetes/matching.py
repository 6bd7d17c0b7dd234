"""Decides whether a pod may run on a node, by taints and tolerations, node selectors and required node affinity, as
kube-scheduler does. Ignores affinity to other pods, spread over domains, volumes and ports.
"""

from __future__ import annotations

import functools
import json
from dataclasses import dataclass
from typing import Any, Dict, List, Optional, Sequence, Set, Tuple

from .objects import entries, field, mapping, text, texts

# Taints that repeat the node's own state, which is read directly.
_STATES = ("node.kubernetes.io/unschedulable", "node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable")


@dataclass(frozen=True)
class Taint:
    key: str
    value: str
    effect: str

    def __str__(self) -> str:
        return f"{self.key}={self.value}:{self.effect}" if self.value else f"{self.key}:{self.effect}"


@dataclass(frozen=True)
class Constraint:
    """Decides which nodes a pod accepts. Pods of one template have equal constraints."""

    written: str  # tolerations, node selector and required node affinity as JSON

    def refusal(self, name: str, labels: Dict[str, str], taints: Tuple[Taint, ...]) -> str:
        """Returns why a node is refused, as the end of a sentence; empty if it is accepted."""
        spec = _parsed(self.written)
        for taint in taints:
            if not any(_tolerates(toleration, taint) for toleration in spec["tolerations"]):
                return f"it does not tolerate the taint {taint}"
        for key, value in sorted(spec["selector"].items()):
            if labels.get(key) != value:
                return f"it wants nodes with the label {key}={value}"
        if spec["terms"] is not None and not any(_term_matches(term, name, labels) for term in spec["terms"]):
            return "its node affinity excludes the node"
        return ""

    def looks_at(self) -> Set[str]:
        """Returns the labels that the answer depends on; "" stands for the node's name."""
        spec = _parsed(self.written)
        terms = spec["terms"] or []
        labels = {text(each, "key") for term in terms for each in entries(term, "matchExpressions")}
        names = {""} if any(entries(term, "matchFields") for term in terms) else set()
        return labels | names | set(spec["selector"])


@functools.lru_cache(maxsize=4096)
def _parsed(written: str) -> Any:
    return json.loads(written)


def constraint_of(spec: Any, resources: Sequence[str] = ()) -> Constraint:
    """Returns the constraint of a pod's spec. A pod that does not exist yet will tolerate a taint with the name of
    one of its `resources`: where such taints are in use, the admission of pods adds the toleration."""
    tolerations = entries(spec, "tolerations")
    tolerations += [{"key": resource, "operator": "Exists", "effect": "NoSchedule"} for resource in resources]
    required = field(spec, "affinity", "nodeAffinity", "requiredDuringSchedulingIgnoredDuringExecution")
    terms: Optional[List[Any]] = entries(required, "nodeSelectorTerms") if isinstance(required, dict) else None
    return Constraint(json.dumps({"tolerations": tolerations, "selector": texts(spec, "nodeSelector"),
                                  "terms": terms}, sort_keys=True))


def taints_of(node: Any) -> Tuple[Taint, ...]:
    """Returns the taints of a node that keep pods away, without those that repeat its state."""
    taints = (Taint(text(taint, "key"), text(taint, "value"), text(taint, "effect"))
              for taint in entries(node, "spec", "taints"))
    return tuple(taint for taint in taints if taint.effect in ("NoSchedule", "NoExecute") and taint.key not in _STATES)


def _tolerates(toleration: Dict[str, Any], taint: Taint) -> bool:
    if text(toleration, "effect") not in ("", taint.effect):
        return False
    key, operator = text(toleration, "key"), text(toleration, "operator") or "Equal"
    if operator == "Exists":
        return key in ("", taint.key)
    return operator == "Equal" and key == taint.key and text(toleration, "value") == taint.value


def _term_matches(term: Dict[str, Any], name: str, labels: Dict[str, str]) -> bool:
    expressions, fields = entries(term, "matchExpressions"), entries(term, "matchFields")
    if not expressions and not fields:
        return False  # an empty term matches no node
    return (all(_expression_matches(each, labels) for each in expressions) and
            all(_expression_matches(each, {"metadata.name": name}) for each in fields))


def _expression_matches(expression: Dict[str, Any], labels: Dict[str, str]) -> bool:
    key, operator = text(expression, "key"), text(expression, "operator")
    listed = mapping(expression).get("values")
    values = listed if isinstance(listed, list) else []
    there = key in labels
    if operator == "In":
        return there and labels[key] in values
    if operator == "NotIn":
        return not there or labels[key] not in values
    if operator == "Exists":
        return there
    if operator == "DoesNotExist":
        return not there
    if operator in ("Gt", "Lt") and len(values) == 1:
        try:
            mine, other = int(labels.get(key, "")), int(values[0])
        except (TypeError, ValueError):
            return False
        return mine > other if operator == "Gt" else mine < other
    return False
