"""The commands of the program goodput within this process: a line of JSON in, a line of JSON out."""

from __future__ import annotations

import dataclasses
import json
import sys
import threading
import warnings
from typing import Any

from .interface import library


class Lines:
    """Answers the lines of one command, and remembers what a running program remembers of earlier lines.

        lines = Lines(command="plan", policy="goodput", explain=True)
        answer = lines.answer({"time_s": 0, "nodes": [], "jobs": []})

    The options are those of the program's command line. A document may be a dictionary, a dataclass, or anything that json
    can write, and may contain numpy numbers. Input that the library refuses raises a ValueError with subject, field and
    value. Each of the answer's "warnings" is also a Python warning.
    """

    def __init__(self, **options: Any) -> None:
        self._c, self._lock, self._handle = library(), threading.Lock(), None
        given = {name: value for name, value in options.items() if value is not None and value is not False}
        self._handle = self._c.goodput_open(_text(given))
        error = self._c.goodput_open_error(self._handle).decode()
        if error:
            raise ValueError(error)

    def __del__(self) -> None:
        if getattr(self, "_handle", None):
            self._c.goodput_close(self._handle)

    def answer(self, document: Any) -> "dict[str, Any]":
        """Returns the answer to a document."""
        line = _text(document)
        with self._lock:  # the text lives until the handle's next call
            text = self._c.goodput_answer(self._handle, line)
        answer: "dict[str, Any]" = json.loads(text)
        if "error" in answer:
            raise ValueError(answer["error"])
        for sentence in answer.get("warnings", ()):
            warnings.warn(sentence, stacklevel=_caller())
        return answer


def _caller() -> int:
    """Returns the stack level of the caller of this package, as seen from answer()."""
    level, frame = 2, sys._getframe(2)
    while frame.f_back and frame.f_globals.get("__package__") == __package__:
        level, frame = level + 1, frame.f_back
    return level


def _text(document: Any) -> bytes:
    return json.dumps(document, default=_plain).encode()


def _plain(value: Any) -> Any:
    """Converts what json cannot write: dataclasses, numpy numbers and arrays, sets, and other sequences."""
    if dataclasses.is_dataclass(value):
        return {field.name: getattr(value, field.name) for field in dataclasses.fields(value)}
    if hasattr(value, "tolist"):
        return value.tolist()
    if hasattr(value, "items"):
        return dict(value.items())
    return list(value)
