#!/usr/bin/env python3
"""Tests whether the code has grown: the source that a reader reads, and the code that a compiler makes of it.

    quickstart_size.py BUILD                    compares with quickstart_size.json what BUILD has compiled anyway
    quickstart_size.py BUILD --compile          ... and units that it compiles for this alone, for some two minutes
    quickstart_size.py BUILD --compile --write  writes the record anew
    quickstart_size.py BUILD --planted          does it notice?

Counts lines of include/goodput by room, and public headers, which are those outside of detail/. For each unit it
counts the functions and variables that a compiler made of templates and inline functions, and the bytes of code. Both
depend only on the compiler and its options, not on the machine, and are compared if these match the record. More than
3 % above the record, in a unit or in the sum over rooms, is refused: make the code smaller, or explain in the change
why not and write the record anew.
"""
import argparse
import json
import pathlib
import re
import shlex
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
RECORD = pathlib.Path(__file__).with_suffix(".json")
MOST = 1.03
TOOLKIT = ("core", "model", "fit", "allot", "place", "policy", "schedule")

# Units that a build of the tests contains, by a pattern for their object's path.
BUILT = {"quickstart": r"/example_quickstart.dir/quickstart.cpp.o$", "program/plan/plan.cpp": r"/plan/plan.cpp.o$"}
# Units compiled here with the quickstart's command line: the source, and what is added to the line.
COMPILED = {
    "quickstart -O2": ("examples/quickstart.cpp", ["-O2"]),
    "a policy of one's own, with goodput::compiled": ("examples/custom_policy.cpp", ["-O2", "-DGOODPUT_COMPILED"]),
}


def read_headers():
    """Returns lines and public headers by room, and their sums: for the toolkit's rooms, and for all."""
    include = ROOT / "include" / "goodput"
    sizes = {"lines": {}, "public headers": {}}
    for path in sorted(include.rglob("*.hpp")):
        parts = path.relative_to(include).parts
        room = parts[0] if len(parts) > 1 else "."
        for name, more in ("lines", path.read_text().count("\n")), ("public headers", int("detail" not in parts)):
            sizes[name][room] = sizes[name].get(room, 0) + more
    for rooms in sizes.values():
        rooms["sum of the toolkit"], rooms["sum"] = sum(rooms[room] for room in TOOLKIT), sum(rooms.values())
    return sizes


def commands_in(build):
    """Returns the compiler's command line for each object, as words, without a launcher."""
    commands = {}
    for entry in json.loads((build / "compile_commands.json").read_text()):
        words = shlex.split(entry["command"])
        words = [word for word in words if not word.endswith("ccache")]
        commands[words[words.index("-o") + 1]] = (entry["directory"], words)
    return commands


def compiler_of(words):
    """Returns the compiler's kind, version and machine, whatever its path."""
    said, machine = (subprocess.run([words[0], option], capture_output=True, text=True, check=True).stdout.strip()
                     for option in ("--version", "-dumpmachine"))
    kind = "GNU" if "Free Software Foundation" in said else said.split()[0]
    version = re.search(r"\d+(\.\d+)+", said.splitlines()[0].split(")")[-1] or said)
    return f"{kind} {version[0] if version else '?'} {machine}"


def options_of(words):
    """Returns the options that affect the code, without folders."""
    return " ".join(word for word in words if word.startswith(("-O", "-f", "-m", "-std", "-g", "-DNDEBUG", "-DGOODPUT")))


def measure(path):
    symbols = subprocess.run(["nm", path], capture_output=True, text=True, check=True).stdout.splitlines()
    kinds = [line.split()[-2] for line in symbols]
    sections = subprocess.run(["size", path], capture_output=True, text=True, check=True).stdout.splitlines()
    return {"instantiations": sum(kind in "WVu" for kind in kinds), "bytes": int(sections[1].split()[0])}


def measure_units(build, compiling):
    commands = commands_in(build)
    units, lines = {}, {}
    for unit, pattern in BUILT.items():
        for output, (folder, words) in commands.items():
            path = pathlib.Path(folder, output)
            if re.search(pattern, output) and path.exists():
                lines[unit] = folder, words
                units[unit] = {"options": options_of(words)} | measure(path)
    if compiling:
        folder, words = lines["quickstart"]
        place = words.index("-o")
        for unit, (source, added) in COMPILED.items():
            target = build / "unit.o"
            line = words[:place] + added + ["-o", str(target), "-c", str(ROOT / source)]
            print("compiling:", shlex.join(line), flush=True)
            subprocess.run(line, cwd=folder, check=True)
            units[unit] = {"options": options_of(line)} | measure(target)
            target.unlink()
    return compiler_of(next(iter(lines.values()))[1]) if lines else "", units


def compare(record, found, planted=False):
    """Returns the names of what has grown."""
    grown = []

    def look(name, size, recorded, matters=True):
        too_much = matters and size > MOST * recorded
        if too_much:
            grown.append(name)
        if not planted and (matters or size != recorded):
            print(f"{name}: {size}, recorded {recorded}{' (too much)' if too_much else ''}")

    for what in "lines", "public headers":
        for room, size in found[what].items():
            look(f"{what}, {room}", size, record[what].get(room, 0), room.startswith("sum"))
    for unit, sizes in found["units"].items():
        recorded = record["units"].get(unit)
        if found["compiler"] != record["compiler"] or not recorded or recorded["options"] != sizes["options"]:
            print(f"{unit}: not compared, since the record is of another compiler, of other options or without it")
            continue
        for name in "instantiations", "bytes":
            look(f"{unit}, {name}", sizes[name], recorded[name])
    return grown


def planted_faults(found):
    """Whether growth over a record 4 % smaller goes partly unnoticed, or an equal record counts as growth."""
    def smaller(value):
        if isinstance(value, dict):
            return {key: smaller(part) for key, part in value.items()}
        return value / 1.04 if isinstance(value, int) else value

    expected = 4 + 2 * len(found["units"])
    return len(compare(smaller(found), found, planted=True)) != expected or compare(found, found, planted=True)


def main():
    parser = argparse.ArgumentParser(description="Has the code grown?")
    parser.add_argument("build", type=pathlib.Path)
    parser.add_argument("--compile", action="store_true")
    parser.add_argument("--write", action="store_true")
    parser.add_argument("--planted", action="store_true")
    options = parser.parse_args()

    compiler, units = measure_units(options.build.resolve(), options.compile)
    found = {"compiler": compiler} | read_headers() | {"units": units}
    if options.planted:
        sys.exit("a planted fault is not noticed" if planted_faults(found) else 0)
    if options.write:
        missing = (BUILT | COMPILED).keys() - units.keys()
        if missing:
            sys.exit(f"not written, since these are missing (--compile, a build of the tests): {', '.join(sorted(missing))}")
        RECORD.write_text(json.dumps(found, indent=2) + "\n")
        print(f"{RECORD.relative_to(ROOT)} is written anew")
        return
    record = json.loads(RECORD.read_text())
    looked_for = BUILT | COMPILED if options.compile else BUILT
    lost = [unit for unit in record["units"] if unit in looked_for and unit not in units]
    if lost:
        sys.exit(f"not found in {options.build}: {', '.join(lost)}")
    grown = compare(record, found)
    if grown:
        sys.exit("more than 3 % above the record: " + "; ".join(grown) + ".\nMake it smaller, or say in the change why "
                 "not, and write the record anew: " + " ".join([sys.argv[0], sys.argv[1], "--compile", "--write"]))


main()
