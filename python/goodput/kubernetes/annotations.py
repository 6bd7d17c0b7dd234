"""Annotations of pods by which a user describes a gang. A key begins with goodput/:

goodput/speed.TYPE        examples per second of one GPU of the type, measured in this gang
goodput/restart-seconds   what a stop and a start cost
goodput/move              "true": the plan may move or stop the gang though it runs; "false": never
goodput/gang              "false": the pods of one owner are independent of one another
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Dict, Optional

from .objects import Notes
from .quantity import amount

PREFIX = "goodput/"
_SPEED = PREFIX + "speed."


@dataclass(frozen=True)
class Said:
    """The values of a pod's annotations."""

    speeds: Dict[str, float] = field(default_factory=dict)
    restart_s: Optional[float] = None
    move: Optional[bool] = None
    gang: bool = True


def said_of(annotations: Dict[str, str], notes: Notes, subject: str) -> Said:
    """Returns the annotations of a pod. Invalid ones are left out with a note."""
    speeds: Dict[str, float] = {}
    restart_s: Optional[float] = None
    flags: Dict[str, bool] = {}
    for key in sorted(annotations):
        if not key.startswith(PREFIX):
            continue
        value = annotations[key]
        if key.startswith(_SPEED) and len(key) > len(_SPEED):
            speed = _positive(value)
            if speed is None:
                notes.add(subject, f"{key} is {value!r}, but has to be examples per second, between 1e-6 and 1e9: "
                                   "left out")
            else:
                speeds[key[len(_SPEED):]] = speed
        elif key == PREFIX + "restart-seconds":
            try:
                restart_s = min(amount(value), 1e7)
            except ValueError as error:
                notes.add(subject, f"{key}: {error}: left out")
        elif key in (PREFIX + "move", PREFIX + "gang"):
            if value in ("true", "false"):
                flags[key[len(PREFIX):]] = value == "true"
            else:
                notes.add(subject, f"{key} is {value!r}, but has to be 'true' or 'false': left out")
        else:
            notes.add(subject, f"there is no annotation {key}: it is ignored")
    return Said(speeds, restart_s, flags.get("move"), flags.get("gang", True))


def _positive(value: str) -> Optional[float]:
    try:
        number = amount(value)
    except ValueError:
        return None
    return number if 1e-6 <= number <= 1e9 else None
