"""The C interface with ctypes: structs, enum values and functions as the header goodput.h declares them.

The header is read when the library is first needed, so declarations exist only once. They are plain, one field per line.
The rest of the package builds on these functions:

    c = library()                                        # c.goodput_open, c.GOODPUT_OK, c.goodput_holding, ...
    holding = make(c.goodput_holding, gpus=8)            # a struct; fields that are not named are zero
    agent = Handle("agent")                              # agent.hold(holding) calls goodput_agent_hold
"""

from __future__ import annotations

import contextlib
import ctypes
import functools
import os
import re
import sys
import types
from typing import Any, Iterator, Sequence, cast

HERE = os.path.dirname(os.path.abspath(__file__))
NUMBERS = {"size_t": ctypes.c_size_t, "double": ctypes.c_double, "float": ctypes.c_float, "int32_t": ctypes.c_int32,
           "uint32_t": ctypes.c_uint32, "uint64_t": ctypes.c_uint64, "uint8_t": ctypes.c_uint8,
           "goodput_status": ctypes.c_int32}


class NotYet(RuntimeError):
    """There is no plan, fit or report yet."""


class TooSmall(RuntimeError):
    """An array for the answer is too small; the counts say what size is needed."""


def declarations(header: str) -> tuple[dict[str, Any], dict[str, int], dict[str, Any]]:
    """Returns what a header declares: structs {name: [(type, field)]}, values {name: number}, and functions
    {name: [result, ...]}."""
    with open(header, encoding="utf-8") as file:
        text = re.sub(r"//[^\n]*", "", file.read())
    structs = {}
    for name, body in re.findall(r"typedef struct (\w+) \{(.*?)\} \1;", text, re.S):
        structs[name] = [_split(field) for field in body.split(";") if field.strip()]
    values: dict[str, int] = {}
    for body in re.findall(r"enum \{(.*?)\};", text, re.S):
        values.update((name, int(number)) for name, number in re.findall(r"(\w+)\s*=\s*(\d+)", body))
    values.update((name, int(number)) for name, number in re.findall(r"#define (GOODPUT_\w+) (\d+)\n", text))
    functions = {}
    for result, name, arguments in re.findall(r"GOODPUT_API ([\w\s*]*?)(\w+)\(([^)]*)\);", text):
        parts = [] if arguments.strip() == "void" else [_split(part) for part in arguments.split(",")]
        functions[name] = [" ".join(result.split())] + [kind for kind, _ in parts]
    return structs, values, functions


def structs_of(declared: dict[str, Any]) -> dict[str, Any]:
    """Returns the structs of declarations() as ctypes classes."""
    known: dict[str, Any] = {}
    for name, fields in declared.items():
        known[name] = type(name, (ctypes.Structure,),
                           {"_fields_": [(field, _type(kind, known)) for kind, field in fields]})
    return known


def _first(candidates: Sequence[str]) -> str | None:
    return next((path for path in candidates if os.path.exists(path)), None)


def header_path() -> str:
    """Returns the path of goodput.h: next to this file in an installed package, otherwise in the repository."""
    repository = os.path.join(HERE, "..", "..", "compiled", "c", "include", "goodput", "goodput.h")
    found = _first([os.path.join(HERE, "goodput.h"), repository])
    if not found:
        raise ImportError(f"goodput: there is no goodput.h in {HERE}: the package is not whole, install it again")
    return found


def library_path(abi: int) -> str:
    """Returns the path of the shared library: GOODPUT_LIBRARY of the environment, next to this file (as in a wheel), in the
    folder into which `cmake --install` put it, or wherever the system finds it."""
    name = {"darwin": f"libgoodput_c.{abi}.dylib", "win32": "goodput_c.dll"}.get(sys.platform, f"libgoodput_c.so.{abi}")
    beside = [os.path.join(HERE, name), os.path.join(HERE, "..", "..", "..", name)]
    return os.environ.get("GOODPUT_LIBRARY") or _first(beside) or name


@functools.lru_cache(maxsize=None)
def library() -> Any:
    """Returns the library, with the header's structs, values and functions as attributes. Raises an ImportError that says
    where it searched, or that library and header do not fit each other."""
    structs, values, functions = declarations(header_path())
    path = library_path(values["GOODPUT_ABI"])
    try:
        shared = ctypes.CDLL(path)
    except OSError as error:
        raise ImportError(f"goodput: {error}. Build goodput::c, and set GOODPUT_LIBRARY to the path of its shared "
                          "library, or install both with cmake --install") from None
    known = structs_of(structs)
    c = types.SimpleNamespace(**values, **known)
    for name, (result, *arguments) in functions.items():
        if not hasattr(shared, name):
            raise ImportError(f"goodput: {path} has no {name}: it is older than {header_path()}")
        function = getattr(shared, name)
        function.restype = _type(result, known)
        function.argtypes = [_type(kind, known) for kind in arguments]
        setattr(c, name, function)
    if c.goodput_abi() != c.GOODPUT_ABI:
        raise ImportError(f"goodput: {path} has the interface {c.goodput_abi()}, {header_path()} describes {c.GOODPUT_ABI}")
    return c


def make(struct: Any, **fields: Any) -> Any:
    """Makes a struct: all zero except the given fields, and its own size if it begins with struct_size. Raises TypeError for
    unknown fields, and OverflowError for numbers that a field cannot hold, which ctypes would silently cut off."""
    made = struct()
    known = dict(struct._fields_)
    if "struct_size" in known:
        made.struct_size = ctypes.sizeof(struct)
    for field, value in fields.items():
        if field not in known:
            raise TypeError(f"{struct.__name__} has no field {field}")
        whole = known[field] not in (ctypes.c_double, ctypes.c_char_p)
        if whole and isinstance(value, float) and value.is_integer():
            value = int(value)
        setattr(made, field, value)
        if isinstance(value, int) and getattr(made, field) != value:
            raise OverflowError(f"{field} is {value}, which is out of its range")
    return made


def encoded(name: str) -> bytes:
    """Encodes a name for C."""
    if "\0" in name:
        raise ValueError(f"the name {name!r} has a zero in it")
    return name.encode()


def array_of(struct: Any, elements: Sequence[Any]) -> Any:
    """Makes an array of structs or numbers."""
    return (struct * len(elements))(*elements)


def numbers(values: Any) -> tuple[Any, int, Any]:
    """Returns a gradient or a tensor as (pointer, count, owner of the memory). Accepts a PyTorch tensor on any device, a numpy
    array or another object with a buffer, or a sequence of numbers. Copies nothing that lies in this process' memory in one
    piece, as float or double."""
    kind: Any
    if hasattr(values, "data_ptr"):
        values = values.detach().cpu()
        if str(values.dtype) not in ("torch.float32", "torch.float64"):
            values = values.float()
        values = values.contiguous()
        kind = ctypes.c_double if str(values.dtype) == "torch.float64" else ctypes.c_float
        return ctypes.cast(values.data_ptr(), ctypes.POINTER(kind)), values.numel(), values
    try:
        view = memoryview(values)
    except TypeError:
        return array_of(ctypes.c_double, list(values)), len(values), None
    kind = {"f": ctypes.c_float, "d": ctypes.c_double}.get(view.format)
    if kind is None or not view.c_contiguous:
        raise ValueError(f"a gradient has the format '{view.format}', but must be float or double, in one piece")
    count = view.nbytes // view.itemsize
    kept = (kind * count).from_buffer_copy(view) if view.readonly else (kind * count).from_buffer(view)
    return ctypes.cast(kept, ctypes.POINTER(kind)), count, kept


class Handle:
    """A handle of the library. Its functions are methods: agent.hold(holding) calls goodput_agent_hold(agent, holding).
    Input that the library refuses raises a ValueError with its message, and a question asked too early raises
    NotYet."""

    def __init__(self, kind: str) -> None:
        self._c, self._kind = library(), kind
        self._handle = getattr(self._c, f"goodput_{kind}_create")()
        if not self._handle:
            raise MemoryError(f"goodput: no memory for a {kind}")

    def __del__(self) -> None:
        if getattr(self, "_handle", None):
            getattr(self._c, f"goodput_{self._kind}_destroy")(self._handle)

    def call(self, function: Any, *arguments: Any) -> None:
        """Calls a function that takes this handle first."""
        status = function(self._handle, *arguments)
        if status == self._c.GOODPUT_OK:
            return
        sentence = getattr(self._c, f"goodput_{self._kind}_error")(self._handle).decode()
        kinds = {self._c.GOODPUT_BAD_INPUT: ValueError, self._c.GOODPUT_NOT_YET: NotYet,
                 self._c.GOODPUT_TOO_SMALL: TooSmall, self._c.GOODPUT_NO_MEMORY: MemoryError}
        raise kinds.get(status, RuntimeError)(sentence)

    def __getattr__(self, name: str) -> Any:
        return functools.partial(self.call, getattr(self._c, f"goodput_{self._kind}_{name}"))


def text(method: Any, *arguments: Any) -> str:
    """Returns the text that a method writes into its arguments (..., text, capacity, length)."""
    length = ctypes.c_size_t()
    method(*arguments, None, 0, length)
    written = ctypes.create_string_buffer(length.value + 1)
    method(*arguments, written, len(written), None)
    return written.value.decode()


@contextlib.contextmanager
def about(subject: str) -> Iterator[None]:
    """Turns errors about missing or wrong values in its block into a ValueError that names the subject."""
    try:
        yield
    except KeyError as missing:
        raise ValueError(f"{subject}: {missing.args[0]} is missing") from None
    except (TypeError, AttributeError, OverflowError, ValueError) as wrong:
        sentence = str(wrong)
        raise ValueError(sentence if sentence.startswith(subject) else f"{subject}: {sentence}") from None


def _split(declaration: str) -> tuple[str, str]:
    match = re.fullmatch(r"\s*(.*?)(\w+)\s*", declaration, re.S)
    assert match, declaration
    return " ".join(match[1].replace("*", " * ").split()), match[2]


def _type(kind: str, known: dict[str, Any]) -> Any:
    words = [word for word in kind.replace("*", " * ").split() if word != "const"]
    base, stars, made = words[0], len(words) - 1, cast(Any, None)
    if base == "void":
        return ctypes.c_void_p if stars else None
    if base == "char":
        made, stars = ctypes.c_char_p, stars - 1
    elif base in NUMBERS:
        made = NUMBERS[base]
    elif base in known:
        made = known[base]
    else:  # a handle
        return ctypes.c_void_p
    for _ in range(stars):
        made = ctypes.POINTER(made)
    return made
