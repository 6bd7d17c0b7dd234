"""Plans of a scheduling round: who gets how many GPUs of which type, on which nodes, with which batch."""

from __future__ import annotations

from typing import Any, Mapping, Optional, cast

from .documents import Plan
from .lines import Lines


def plan(round: Any, policy: str = "goodput", **options: Any) -> Plan:
    """The plan of a single round, by a scheduler that has seen no other: see Scheduler."""
    return Scheduler(policy, **options).plan(round)


class Scheduler:
    """Plans round after round, and remembers what jobs have measured, how much work they needed and what they were promised,
    as a running `goodput plan` does: the same answers, to the last bit.

    policy     one of the program's policies; "goodput" unless you say otherwise (the program's own default is "sia")
    options    settings of the policy that are not its defaults, by the names that --policy-option has
    explain    every job of a plan has "why": why it has what it has, and what would change that
    advise     plans have "advice": which of the round's "offers" of nodes are worth their price
    strict     unknown fields and GPU types, and jobs or nodes whose numbers make no sense, refuse the round (ValueError);
               otherwise they are among the plan's warnings
    memory     path of a file that keeps what is remembered of jobs
    proof      path of a file for the certificate of the plan's bound

    Several threads may share one scheduler, which serves one after the other. Python's other threads run during a call.
    """

    def __init__(self, policy: str = "goodput", *, options: Optional[Mapping[str, Any]] = None, explain: bool = True,
                 advise: bool = True, strict: bool = False, memory: Optional[str] = None, proof: Optional[str] = None) -> None:
        self._lines = Lines(command="plan", policy=policy, policy_options=dict(options or {}), explain=explain,
                            advise=advise, strict=strict, memory=memory, proof=proof)

    def plan(self, round: Any) -> Plan:
        """The plan of the next round: documents.Round in, documents.Plan out. A round that makes no sense is a ValueError
        with subject, field and value; the scheduler is then as it was before."""
        return cast(Plan, self._lines.answer(round))
