"""Amounts as Kubernetes writes them: 2, "500m", "1.5", "2Gi", "1e3"."""

from __future__ import annotations

import math
import re
from typing import Any

_SUFFIXES = {"n": 1e-9, "u": 1e-6, "m": 1e-3, "": 1.0, "k": 1e3, "M": 1e6, "G": 1e9, "T": 1e12, "P": 1e15,
             "E": 1e18, "Ki": 2.0**10, "Mi": 2.0**20, "Gi": 2.0**30, "Ti": 2.0**40, "Pi": 2.0**50, "Ei": 2.0**60}
_FORM = re.compile(r"([+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+))(?:([eE][+-]?[0-9]+)|([A-Za-z]*))")


def amount(value: Any) -> float:
    """Returns the number in a quantity. Raises ValueError with the quantity if it is malformed, negative or
    infinite."""
    if isinstance(value, bool) or not isinstance(value, (int, float, str)):
        raise ValueError(f"{_shown(value)} is not a quantity")
    match = _FORM.fullmatch(value.strip() if isinstance(value, str) else repr(value))
    if not match or (match[3] or "") not in _SUFFIXES:
        raise ValueError(f"{_shown(value)} is not a quantity")
    number = float(match[1] + (match[2] or "")) * _SUFFIXES[match[3] or ""]
    if number < 0:
        raise ValueError(f"{_shown(value)} is negative")
    if not math.isfinite(number):
        raise ValueError(f"{_shown(value)} is too large")
    return number


def count(value: Any) -> int:
    """The same for devices, which are whole numbers."""
    number = amount(value)
    if number != int(number) or number > 1e6:
        raise ValueError(f"{_shown(value)} is not a number of devices")
    return int(number)


def _shown(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 60 else text[:57] + "..."
