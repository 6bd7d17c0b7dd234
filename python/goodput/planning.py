"""Plans of a scheduling round: the GPUs, nodes and batch of every job."""

from __future__ import annotations

from typing import Any, Mapping, Optional, cast

from .documents import Plan
from .lines import Lines


def plan(round: Any, policy: str = "goodput", **options: Any) -> Plan:
    """Returns the plan of a single round, from a new Scheduler without a memory."""
    return Scheduler(policy, **options).plan(round)


class Scheduler:
    """Plans round after round, and remembers what jobs have measured, how much work they needed and what they were promised.
    Its answers equal those of a running `goodput plan`, to the last bit.

    policy     one of the program's policies; "goodput" unless you say otherwise (the program's own default is "sia")
    options    settings of the policy, by the names of --policy-option
    explain    every job of a plan has "why": the reason for its decision, and what would change it
    advise     plans have "advice": which of the round's "offers" of nodes are worth their price
    strict     unknown fields and GPU types, and invalid jobs or nodes, raise a ValueError; otherwise they are among the plan's
               warnings
    memory     path of a file that keeps what is remembered about jobs
    proof      path of a file for the certificate of the plan's bound

    Several threads may share one scheduler, which serves one after the other. Python's other threads run during a call.
    """

    def __init__(self, policy: str = "goodput", *, options: Optional[Mapping[str, Any]] = None, explain: bool = True,
                 advise: bool = True, strict: bool = False, memory: Optional[str] = None, proof: Optional[str] = None) -> None:
        self._lines = Lines(command="plan", policy=policy, policy_options=dict(options or {}), explain=explain,
                            advise=advise, strict=strict, memory=memory, proof=proof)

    def plan(self, round: Any) -> Plan:
        """Returns the plan of the next round: documents.Round in, documents.Plan out. An invalid round raises a ValueError
        with subject, field and value, and leaves the scheduler unchanged."""
        return cast(Plan, self._lines.answer(round))
