"""The C interface of goodput in Python, by ctypes: structs, enum values and functions as goodput.h declares them.

    c = goodput_c.load("libgoodput_c.so.1", "goodput.h")
    round = c.goodput_round(struct_size=..., ...)      # or goodput_c.sized(c.goodput_round, time_s=0)

The header is read, so that nothing has to be said twice. Its declarations are plain: one field a line.
"""

import ctypes
import re
import types

NUMBERS = {"size_t": ctypes.c_size_t, "double": ctypes.c_double, "float": ctypes.c_float, "int32_t": ctypes.c_int32,
           "uint32_t": ctypes.c_uint32, "uint64_t": ctypes.c_uint64, "uint8_t": ctypes.c_uint8, "goodput_status": ctypes.c_int32}


def declarations(header):
    """What a header declares: structs {name: [(type, field)]}, values {name: number}, functions {name: [result, ...]}."""
    with open(header, encoding="utf-8") as file:
        text = re.sub(r"//[^\n]*", "", file.read())
    structs = {}
    for name, body in re.findall(r"typedef struct (\w+) \{(.*?)\} \1;", text, re.S):
        structs[name] = [_split(field) for field in body.split(";") if field.strip()]
    values = {}
    for body in re.findall(r"enum \{(.*?)\};", text, re.S):
        values.update((name, int(number)) for name, number in re.findall(r"(\w+)\s*=\s*(\d+)", body))
    values.update((name, int(number)) for name, number in re.findall(r"#define (GOODPUT_\w+) (\d+)\n", text))
    functions = {}
    for result, name, arguments in re.findall(r"GOODPUT_API ([\w\s*]*?)(\w+)\(([^)]*)\);", text):
        parts = [] if arguments.strip() == "void" else [_split(part) for part in arguments.split(",")]
        functions[name] = [" ".join(result.split())] + [kind for kind, _ in parts]
    return structs, values, functions


def load(library, header):
    """The library as an object with the header's structs, values and functions as attributes."""
    structs, values, functions = declarations(header)
    shared = ctypes.CDLL(library)
    c = types.SimpleNamespace(**values)
    known = {}
    for name, fields in structs.items():
        known[name] = type(name, (ctypes.Structure,),
                           {"_fields_": [(field, _type(kind, known)) for kind, field in fields]})
        setattr(c, name, known[name])
    for name, (result, *arguments) in functions.items():
        function = getattr(shared, name)
        function.restype = _type(result, known)
        function.argtypes = [_type(kind, known) for kind in arguments]
        setattr(c, name, function)
    if c.goodput_abi() != c.GOODPUT_ABI:
        raise RuntimeError(f"{library} has the interface {c.goodput_abi()}, {header} describes {c.GOODPUT_ABI}")
    return c


def sized(struct, **fields):
    """A struct that starts with its size, all else zero but for the fields given."""
    return struct(struct_size=ctypes.sizeof(struct), **fields)


class Handle:
    """A handle of the library whose functions are methods: agent.hold(holding) calls goodput_agent_hold(agent, holding).
    What the library refuses is a ValueError with its sentence."""

    def __init__(self, c, kind):
        self._c, self._kind = c, kind
        self._handle = getattr(c, f"goodput_{kind}_create")()

    def __del__(self):
        getattr(self._c, f"goodput_{self._kind}_destroy")(self._handle)

    def __getattr__(self, name):
        function = getattr(self._c, f"goodput_{self._kind}_{name}")

        def method(*arguments):
            if function(self._handle, *arguments) != self._c.GOODPUT_OK:
                raise ValueError(getattr(self._c, f"goodput_{self._kind}_error")(self._handle).decode())

        return method


def text(method, *arguments):
    """What a method writes into (..., text, capacity, length)."""
    length = ctypes.c_size_t()
    method(*arguments, None, 0, length)
    written = ctypes.create_string_buffer(length.value + 1)
    method(*arguments, written, len(written), None)
    return written.value.decode()


def array(struct, elements):
    """An array of structs."""
    return (struct * len(elements))(*elements)


def _split(declaration):
    kind, name = re.fullmatch(r"\s*(.*?)(\w+)\s*", declaration, re.S).groups()
    return " ".join(kind.replace("*", " * ").split()), name


def _type(kind, known):
    words = [word for word in kind.replace("*", " * ").split() if word != "const"]
    base, stars = words[0], len(words) - 1
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
