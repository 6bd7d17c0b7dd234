"""Allotments: one option per job, so that the sum of values is largest and no capacity is exceeded."""

from __future__ import annotations

from typing import Any, Sequence, cast

from .documents import Allotment, AllotJob
from .lines import Lines


def allot(capacity: Sequence[float], jobs: Sequence[AllotJob], *, relax: bool = False, explain: bool = False,
          **limits: Any) -> Allotment:
    """Returns the best allotment, with its certificate, as `goodput allot` does. `capacity` has the units of each resource. A
    job has options, each with a value and its use (pairs of resource and units), and "must" if one has to be chosen.
    `limits` are gap, deadline_ms, most_states and memory_states of the line. `relax` asks for the linear relaxation, in which
    jobs may be split. Bad numbers raise a ValueError. A hard problem gets the best allotment found, with its bound."""
    lines = Lines(command="allot", relax=relax, explain=explain)
    given = {name: value for name, value in limits.items() if value is not None}
    return cast(Allotment, lines.answer({"capacity": capacity, "jobs": jobs, **given}))
