"""Fits: how long would a step take on another shape, GPU type or batch?"""

from __future__ import annotations

import ctypes
from typing import Any, Optional, Sequence, cast

from .documents import Gradient, Measured, Prediction, Question
from .interface import Handle, about, array_of, library, make
from .planning import give, sample_of


class Fit:
    """The models of one job on all GPU types, fitted together to its measurements, as `goodput fit` makes them.

    rmsle   by GPU type with measurements: root mean square of ln(modelled / measured step)

    Types that were not measured and are to be asked about are named by `gpu_types`: they are guessed from the others.
    """

    def __init__(self, samples: Sequence[Measured], gpu_types: Sequence[str] = ()) -> None:
        c = self._c = library()
        with about("fit"):
            self._types = list(dict.fromkeys([*(sample["gpu_type"] for sample in samples), *gpu_types]))
            given = [sample_of(c, sample, self._types.index(sample["gpu_type"])) for sample in samples]
        what = make(c.goodput_fit_input, gpu_type_count=len(self._types))
        give(what, "sample", array_of(c.goodput_sample, given))
        what.sample_size = ctypes.sizeof(c.goodput_sample)
        errors = (ctypes.c_double * len(self._types))()
        self._handle = Handle("fitter")
        self._handle.fit(what, errors, len(errors))
        measured = {sample["gpu_type"] for sample in samples}
        self.rmsle = {name: error for name, error in zip(self._types, errors) if name in measured}

    def predict(self, questions: Sequence[Question], *, initial_batch: int = 0,
                gradient: Optional[Gradient] = None) -> "list[Prediction]":
        """An answer for each question. With the initial batch and the gradient's statistics there also efficiency and
        goodput are told; without, an example is worth the same at any batch."""
        c, asked = self._c, []
        for index, question in enumerate(questions):
            with about(f"question {index}"):
                if question["gpu_type"] not in self._types:
                    raise ValueError(f"gpu_type is '{question['gpu_type']}', but must be one of {', '.join(self._types)}")
                needed: "dict[str, Any]" = {field: cast(Any, question)[field] for field in ("nodes", "gpus", "local_batch")}
                asked.append(make(c.goodput_question, gpu_type=self._types.index(question["gpu_type"]), **needed,
                                  accumulation=question.get("accumulation", 0), initial_batch=initial_batch,
                                  gradient_sqr=gradient["sqr"] if gradient else 0,
                                  gradient_var=gradient["var"] if gradient else 0))
        answers = (c.goodput_prediction * len(asked))()
        self._handle.predict(array_of(c.goodput_question, asked), len(asked), ctypes.sizeof(c.goodput_question), answers,
                             ctypes.sizeof(c.goodput_prediction))
        return [cast(Prediction, {field: getattr(answer, field) for field, _ in c.goodput_prediction._fields_})
                for answer in answers]
