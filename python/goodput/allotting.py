"""Allotments: which option for which job, so that the sum of values is largest and no capacity is exceeded."""

from __future__ import annotations

from typing import Any, Sequence, cast

from .documents import Allotment, AllotJob
from .lines import Lines


def allot(capacity: Sequence[float], jobs: Sequence[AllotJob], *, relax: bool = False, explain: bool = False,
          **limits: Any) -> Allotment:
    """The best allotment, with its certificate, as `goodput allot` answers. capacity: units by resource. A job has options,
    each with a value and its use, pairs of resource and units, and "must" where one has to be chosen. limits: gap,
    deadline_ms, most_states and memory_states of the line. relax: the linear relaxation, where jobs may be split. Bad numbers
    are a ValueError; a hard problem gets the best allotment that was found, with its bound."""
    lines = Lines(command="allot", relax=relax, explain=explain)
    given = {name: value for name, value in limits.items() if value is not None}
    return cast(Allotment, lines.answer({"capacity": capacity, "jobs": jobs, **given}))
