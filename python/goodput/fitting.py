"""Fits that predict how long a step takes on another shape, GPU type or batch."""

from __future__ import annotations

from typing import Any, Optional, Sequence, cast

from .documents import Gradient, Measured, Prediction, Question
from .lines import Lines


class Fit:
    """The models of one job on all GPU types, fitted together to its measurements, as `goodput fit` makes them.

    rmsle    by GPU type with measurements: root mean square of ln(modelled step / measured step)
    models   by GPU type with measurements: the parameters

    Questions may also name GPU types that were not measured. Their models are estimated from the others.
    """

    def __init__(self, samples: Sequence[Measured]) -> None:
        self._lines, self._samples = Lines(command="fit"), list(samples)
        answer = self._lines.answer({"samples": self._samples})
        self.rmsle: "dict[str, float]" = answer["rmsle"]
        self.models: "dict[str, Any]" = answer["models"]

    def predict(self, questions: Sequence[Question], *, initial_batch: Optional[int] = None,
                gradient: Optional[Gradient] = None) -> "list[Prediction]":
        """Answers each question. With the initial batch, answers also have efficiency and goodput. Without the gradient's
        statistics, an example is worth the same at any batch."""
        answer = self._lines.answer({"samples": self._samples, "predict": questions, "initial_batch": initial_batch,
                                     "gradient": gradient})
        return cast("list[Prediction]", answer["predictions"])


def share(problem: Any) -> "dict[str, Any]":
    """Returns the fraction of time that each job should have on each GPU type, as `goodput share` answers a line."""
    return Lines(command="share").answer(problem)
