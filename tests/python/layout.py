#!/usr/bin/env python3
"""The package parses goodput.h itself. This checks that it agrees with a C compiler on every size, place and number,
and that the library has the functions.

    GOODPUT_LIBRARY=... PYTHONPATH=python layout.py COMPILER SCRATCH
"""

import ctypes
import os
import subprocess
import sys

from goodput.interface import declarations, header_path, library, structs_of

COMPILER, SCRATCH = sys.argv[1:]
declared, values, functions = declarations(header_path())
known = structs_of(declared)


def of_python():
    """Yields one fact per line, like the C program below."""
    for name, fields in declared.items():
        yield f"{name} {ctypes.sizeof(known[name])}"
        for _, field in fields:
            place = getattr(known[name], field)
            yield f"{name}.{field} {place.offset} {place.size}"
    yield from (f"{name} {number}" for name, number in values.items())


def program():
    yield "#include <stdio.h>\n#include <stddef.h>\n#include <goodput/goodput.h>\nint main(void) {"
    for name, fields in declared.items():
        yield f'printf("{name} %zu\\n", sizeof({name}));'
        for _, field in fields:
            yield f'printf("{name}.{field} %zu %zu\\n", offsetof({name}, {field}), sizeof((({name}*)0)->{field}));'
    yield from (f'printf("{name} %lld\\n", (long long){name});' for name in values)
    yield "return 0;}\n"


def main():
    assert len(declared) > 3 and len(values) > 15 and len(functions) > 20, "the header was not read"
    os.makedirs(SCRATCH, exist_ok=True)
    source = os.path.join(SCRATCH, "layout.c")
    with open(source, "w", encoding="utf-8") as file:
        file.write("\n".join(program()))
    include = os.path.dirname(os.path.dirname(header_path()))
    subprocess.run([COMPILER, "-std=c99", f"-I{include}", source, "-o", source[:-2]], check=True)
    of_c = subprocess.run([source[:-2]], capture_output=True, text=True, check=True).stdout.splitlines()
    wrong = [f"the compiler says {there}, Python {here}" for there, here in zip(of_c, of_python()) if there != here]
    assert not wrong and len(of_c) == len(list(of_python())), "\n".join(wrong)
    assert all(hasattr(library(), name) for name in functions)
    print(f"{len(of_c)} sizes, places and numbers, {len(functions)} functions")


if __name__ == "__main__":
    main()
