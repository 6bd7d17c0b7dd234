#!/usr/bin/env python3
"""Has the code grown that a stranger's first program compiles?

    quickstart_size.py OBJECT RECORD [--write]

OBJECT is examples/quickstart.cpp compiled; RECORD says how many functions and variables a compiler made of templates
and inline functions in it, and how many bytes of code. Both depend on the compiler and its options alone, so the test
is there for those of RECORD only. More than 3 % above is refused: make it smaller, or say in the change why not and
write the record anew.
"""
import json
import pathlib
import subprocess
import sys

MOST = 1.03


def measure(path):
    symbols = subprocess.run(["nm", path], capture_output=True, text=True, check=True).stdout.splitlines()
    kinds = [line.split()[-2] for line in symbols]
    sections = subprocess.run(["size", path], capture_output=True, text=True, check=True).stdout.splitlines()
    return {"instantiations": sum(kind in "WVu" for kind in kinds), "bytes": int(sections[1].split()[0])}


def main():
    record = json.loads(pathlib.Path(sys.argv[2]).read_text())
    found = measure(sys.argv[1])
    if "--write" in sys.argv:
        pathlib.Path(sys.argv[2]).write_text(json.dumps(record | found, indent=2) + "\n")
    grown = [name for name in found if found[name] > MOST * record[name]]
    for name in found:
        print(f"{name}: {found[name]}, recorded {record[name]}{' (too many)' if name in grown else ''}")
    sys.exit(1 if grown and "--write" not in sys.argv else 0)


main()
