"""Reads objects of the Kubernetes API from JSON text, and reads their fields safely.

Every field may be missing, or have another type than the API states. The functions here never raise because of that:
they return an empty value for a missing field. A caller that needs a field writes a note, which names the object.
"""

from __future__ import annotations

import datetime
import json
from typing import Any, Dict, Iterator, List, Optional


class Unreadable(Exception):
    """The input is not JSON, or not an object of the API."""


class Notes:
    """Sentences about objects. A sentence about several objects names the first and counts the others."""

    def __init__(self) -> None:
        self._subjects: Dict[str, List[str]] = {}

    def add(self, subject: str, sentence: str) -> None:
        subjects = self._subjects.setdefault(sentence, [])
        if subject not in subjects[:1] + subjects[-1:]:
            subjects.append(subject)

    def lines(self) -> List[str]:
        return [f"{subjects[0]}{_others(len(subjects) - 1)}: {sentence}"
                for sentence, subjects in self._subjects.items()]


def _others(number: int) -> str:
    return f" and {number} {'other' if number == 1 else 'others'}" if number else ""


def documents(text: str) -> List[Any]:
    """Returns the objects of a List, of successive JSON documents, or of both."""
    decoder = json.JSONDecoder(parse_constant=_refuse_constant)
    found: List[Any] = []
    at, end = 0, len(text)
    while True:
        while at < end and text[at] in " \t\r\n\ufeff\0":
            at += 1
        if at == end:
            return found
        try:
            document, at = decoder.raw_decode(text, at)
        except json.JSONDecodeError as error:
            raise Unreadable(f"line {error.lineno}, column {error.colno}: this is no JSON: {error.msg} "
                             "(kubectl prints it with -o json)") from None
        except (ValueError, RecursionError) as error:
            line = text.count("\n", 0, at) + 1
            raise Unreadable(f"the document that begins in line {line}: {_reason(error)}") from None
        found += _flattened(document, len(found))


def _refuse_constant(name: str) -> Any:
    raise ValueError(f"{name} is no JSON")


def _reason(error: Exception) -> str:
    return "it is nested too deeply" if isinstance(error, RecursionError) else str(error)


def _flattened(document: Any, before: int) -> Iterator[Any]:
    if not isinstance(document, dict):
        raise Unreadable(f"document {before + 1} is {_kind_of(document)}, but an object of the API was expected")
    items = document.get("items")
    listed = text(document, "kind").endswith("List") or "kind" not in document  # written by hand, it may have no kind
    if listed and isinstance(items, list):
        kind = text(document, "kind")[:-4]  # a NodeList may leave out the kind of its items
        for item in items:
            yield {"kind": kind, **item} if kind and isinstance(item, dict) else item
    elif text(document, "kind") == "List" or ("kind" not in document and "items" in document):
        raise Unreadable(f"document {before + 1}: 'items' is {_kind_of(items)}, but has to be a list")
    else:
        yield document


def _kind_of(value: Any) -> str:
    names = {dict: "an object", list: "a list", str: "a text", bool: "a truth value", type(None): "null"}
    return names.get(type(value), "a number")


def field(value: Any, *path: str) -> Any:
    """Returns the field at a path, or None."""
    for name in path:
        value = value.get(name) if isinstance(value, dict) else None
    return value


def text(value: Any, *path: str) -> str:
    """Returns a field that is a text, or an empty text."""
    found = field(value, *path)
    return _printable(found) if isinstance(found, str) else ""


def _printable(written: str) -> str:
    """Escapes names that are not plain ASCII, as all names of the API are, so that they cannot break a message."""
    return written if written.isascii() and written.isprintable() else ascii(written)[1:-1]


def mapping(value: Any, *path: str) -> Dict[str, Any]:
    """Returns a field that is an object, or an empty one."""
    found = field(value, *path)
    return found if isinstance(found, dict) else {}


def texts(value: Any, *path: str) -> Dict[str, str]:
    """Returns the entries of an object that are texts, such as labels."""
    return {_printable(key): _printable(entry)
            for key, entry in mapping(value, *path).items() if isinstance(entry, str)}


def entries(value: Any, *path: str) -> List[Dict[str, Any]]:
    """Returns the objects in a list."""
    found = field(value, *path)
    return [entry for entry in found if isinstance(entry, dict)] if isinstance(found, list) else []


def whole(value: Any, *path: str) -> Optional[int]:
    """Returns a field that is an integer, or None."""
    found = field(value, *path)
    return found if isinstance(found, int) and not isinstance(found, bool) else None


def seconds(value: Any, *path: str) -> Optional[float]:
    """Returns a point in time (RFC 3339) as seconds since 1970, or None."""
    return parsed_time(text(value, *path))


def parsed_time(written: str) -> Optional[float]:
    """The same for a text such as 2026-11-28T13:30:00Z."""
    head, dot, rest = written.strip().upper().replace("Z", "+00:00").partition(".")
    if dot:  # Python 3.8 accepts only three or six digits
        digits = len(rest) - len(rest.lstrip("0123456789"))
        head += "." + (rest[:digits] + "000000")[:6] + rest[digits:]
    try:
        time = datetime.datetime.fromisoformat(head)
    except ValueError:
        return None
    if time.tzinfo is None:
        return None
    return time.timestamp()


def name_of(value: Any, index: int = -1) -> str:
    """Returns how messages call an object: pod 'research/train-0'."""
    kind, name = text(value, "kind"), text(value, "metadata", "name")
    namespace = text(value, "metadata", "namespace")
    kind = (kind[:1].lower() + kind[1:]) or "object"
    if not name:
        return f"object {index + 1} ({kind} without a name)"
    return f"{kind} '{namespace}/{name}'" if namespace else f"{kind} '{name}'"
