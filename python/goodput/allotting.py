"""Allotments: which option for which job, so that the sum of values is largest and no capacity is exceeded."""

from __future__ import annotations

import ctypes
from itertools import accumulate
from typing import Any, Optional, Sequence, cast

from .documents import Allotment, AllotJob
from .interface import Handle, about, array_of, library, make
from .planning import STATUS

STOPPED = ("proven", "deadline", "memory", "states")


def allot(capacity: Sequence[float], jobs: Sequence[AllotJob], *, gap: Optional[float] = None, deadline_ms: float = 0,
          most_states: int = 0, memory_states: int = 0) -> Allotment:
    """The best allotment, with its certificate, as `goodput allot` answers. capacity: units by resource; a job has
    options, each with a value and its use, pairs of resource and units, and "must" where one has to be chosen. gap: None
    is 1e-4. Bad numbers are a ValueError; a hard problem gets the best allotment that was found, with its bound."""
    c = library()
    with about("allotment"):
        options = [option for job in jobs for option in job["options"]]
        uses = [use for option in options for use in option["use"]]
        begins = {"option_begin": (len(job["options"]) for job in jobs), "use_begin": (len(option["use"]) for option in options)}
        arrays: "dict[str, tuple[Any, list[Any]]]" = {"capacity": (ctypes.c_double, list(capacity)),
                  "must": (ctypes.c_uint8, [bool(job.get("must")) for job in jobs]),
                  "value": (ctypes.c_double, [option["value"] for option in options]),
                  "use_resource": (ctypes.c_uint32, [_index(resource) for resource, _ in uses]),
                  "use_units": (ctypes.c_double, [units for _, units in uses]),
                  **{name: (ctypes.c_size_t, [0, *accumulate(counts)]) for name, counts in begins.items()}}
        problem = make(c.goodput_allot_problem, resource_count=len(capacity), job_count=len(jobs),
                       gap=0 if gap is None else gap or -1, deadline_ms=deadline_ms, most_states=most_states,
                       memory_states=memory_states, **{name: array_of(*given) for name, given in arrays.items()})
    choice, price = (ctypes.c_size_t * len(jobs))(), (ctypes.c_double * len(capacity))()
    answer = make(c.goodput_allot_answer, choice=choice, choice_capacity=len(jobs), price=price, price_capacity=len(capacity))
    allotter = Handle("allotter")
    allotter.call(c.goodput_allot, problem, answer)
    none = ctypes.c_size_t(-1).value
    return cast(Allotment, {
        "choice": [None if option == none else option for option in choice], "objective": answer.objective,
        "bound": answer.bound, "status": STATUS[answer.proof], "stopped": STOPPED[answer.stopped], "prices": list(price),
        "nodes": answer.states})


def _index(number: Any) -> int:
    if number != int(number) or not 0 <= number < 2**32:
        raise ValueError(f"a resource is {number}, but must be an index")
    return int(number)
