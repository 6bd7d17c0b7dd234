#!/usr/bin/env python3
"""What compiled programs rely on must stay: functions with their arguments, enum values, structs with the places of their
fields. Compares goodput.h with what was recorded (abi.txt), which may only grow.

    abi.py HEADER RECORD PYTHON                  fails with a line for everything that is gone, moved or changed
    abi.py HEADER RECORD PYTHON --add            adds what is new to the record
    abi.py HEADER RECORD PYTHON --planted        fails unless planted breaks are found

Within one GOODPUT_ABI a struct may get new fields at its end. Who breaks something on purpose raises GOODPUT_ABI and
begins a new record. Places are those of a machine with pointers of eight bytes.
"""

import ctypes
import os
import sys
import tempfile

HEADER, RECORD, PYTHON, *MODE = sys.argv[1:]  # PYTHON: the folder of the package goodput
sys.path.insert(0, PYTHON)
from goodput.interface import declarations, structs_of  # noqa: E402


def described(header):
    """Returns what a header declares, one fact per line."""
    structs, values, functions = declarations(header)
    lines, known = [], structs_of(structs)
    for name, fields in structs.items():
        lines += [f"field {name}.{field} at {getattr(known[name], field).offset}: {kind}" for kind, field in fields]
    lines += [f"value {name} = {number}" for name, number in values.items()]
    lines += [f"function {result} {name}({', '.join(arguments)})" for name, (result, *arguments) in functions.items()]
    assert structs and values and functions
    return lines


def breaks(record, now):
    """Returns what the record has but the header lacks, and new fields that are not at their struct's end."""
    faults = [f"gone or changed: {line}" for line in record if line not in now]
    for line in now:
        if line in record or not line.startswith("field "):
            continue
        struct, at = line.split()[1].split(".")[0], int(line.split(" at ")[1].split(":")[0])
        ends = [int(old.split(" at ")[1].split(":")[0]) for old in record if old.startswith(f"field {struct}.")]
        if ends and at <= max(ends):
            faults.append(f"not at the end of its struct: {line}")
    return faults


def planted(record):
    """Headers with one break each. All must be found."""
    with open(HEADER, encoding="utf-8") as file:
        text = file.read()
    changes = {"a field goes": ("    double adam_epsilon;", ""),
               "a field moves": ("    double smoothing;", "    double first;\n    double smoothing;"),
               "a field's type changes": ("    double retune_gain;", "    int32_t retune_gain;"),
               "a value changes": ("GOODPUT_NO_MEMORY = 5", "GOODPUT_NO_MEMORY = 9"),
               "a function goes": ("GOODPUT_API uint32_t goodput_abi(void);", ""),
               "an argument comes": ("goodput_answer(goodput_lines* lines,", "goodput_answer(goodput_lines* lines, int32_t more,")}
    for name, (before, after) in changes.items():
        assert before in text, f"{name}: the header has no '{before}'"
        with tempfile.NamedTemporaryFile("w", suffix=".h", encoding="utf-8") as file:
            file.write(text.replace(before, after, 1))
            file.flush()
            if not breaks(record, described(file.name)):
                sys.exit(f"not found: {name}")
    grown = text.replace("    double useful_examples;", "    double useful_examples;\n    double watts;", 1)
    with tempfile.NamedTemporaryFile("w", suffix=".h", encoding="utf-8") as file:
        file.write(grown)
        file.flush()
        if grown == text or breaks(record, described(file.name)):
            sys.exit("a new field at the end of a struct is taken for a break")


def main():
    if ctypes.sizeof(ctypes.c_void_p) != 8:
        return
    now = described(HEADER)
    record = []
    if os.path.exists(RECORD):
        with open(RECORD, encoding="utf-8") as file:
            record = file.read().splitlines()
    if "--planted" in MODE:
        planted(record)
        return
    faults = breaks(record, now)
    if "--add" in MODE and not faults:
        with open(RECORD, "w", encoding="utf-8") as file:
            file.write("\n".join(now) + "\n")
        return
    faults += [f"new, and not recorded (abi.py ... --add): {line}" for line in now if line not in record]
    if faults:
        sys.exit("\n".join(faults))


if __name__ == "__main__":
    main()
