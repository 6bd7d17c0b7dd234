#!/usr/bin/env python3
"""Measures what it costs to include goodput: seconds to compile each public header alone, and whole programs that use
it.

    benchmarks/speed/compile_time.py [--compiler g++] [--runs 3] [--only REGEX]

Prints by folder for every header of include/goodput (without detail/), for consumers, and for the third-party headers
that the library avoids: processor seconds (user and system, of all the compiler's processes, without ccache) as the
median and the least of the runs, and the lines left after preprocessing. The runs alternate over all files, so that a
busy minute affects all of them. Other work on the machine can only add to processor time, so targets are compared
with the least. Exits with status 1 if one is missed.
"""

import argparse
import os
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
FOLDERS = ["core", "model", "fit", "allot", "place", "policy", "schedule", "moves", "policies", "hadar", "memory", "statistics",
           "availability", "hosts", "share", "pairs", "deadlines", "tasks", "parallel", "agent", "sim", "proving"]
LIGHT = {"core", "model", "allot", "policy", "policies"}
LIGHT_SECONDS, CORE_CONSUMER_SECONDS = 0.6, 1.5
TARGETS = {"goodput/goodput.hpp": 5.0, "goodput/schedule/scheduler.hpp": 2.5, "examples/quickstart.cpp": 6.0,
           "examples/quickstart.cpp with goodput::compiled": 1.5}
THIRD_PARTY = {
    "an empty file": [],
    "<vector> <string> <algorithm>": ["vector", "string", "algorithm"],
    "Eigen and TinySolver": ["Eigen/Core", "Eigen/Cholesky", "ceres/tiny_solver.h"],
    "Boost.Graph": ["boost/graph/adjacency_list.hpp",
                                        "boost/graph/successive_shortest_path_nonnegative_weights.hpp"],
}


def cpu_seconds(command):
    """Returns user and system time of a command and of all processes that it started."""
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    complaints = process.stderr.read()
    _, status, usage = os.wait4(process.pid, 0)
    if status:
        sys.exit(f"{' '.join(command)} failed:\n{complaints}")
    return usage.ru_utime + usage.ru_stime


def subjects(scratch):
    """Yields (group, name, source, target in seconds or None) of everything that is compiled."""

    def source_with(name, includes):
        path = scratch / (re.sub(r"\W", "_", name) + ".cpp")
        path.write_text("".join(f"#include <{header}>\n" for header in includes))
        return path

    include = ROOT / "include"
    for header in sorted(include.glob("goodput/*.hpp")):
        name = header.relative_to(include).as_posix()
        yield "", name, source_with(name, [name]), TARGETS.get(name)
    for folder in FOLDERS:
        for header in sorted((include / "goodput" / folder).glob("*.hpp")):
            name = header.relative_to(include).as_posix()
            yield folder, name, source_with(name, [name]), LIGHT_SECONDS if folder in LIGHT else TARGETS.get(name)
    yield "programs", "tests/consume/uses_core.cpp", ROOT / "tests/consume/uses_core.cpp", CORE_CONSUMER_SECONDS
    for example in sorted((ROOT / "examples").glob("*.cpp")) + sorted((ROOT / "docs/snippets").glob("*.cpp")):
        name = example.relative_to(ROOT).as_posix()
        yield "programs", name, example, TARGETS.get(name)
    name = "examples/quickstart.cpp with goodput::compiled"
    path = scratch / "quickstart_compiled.cpp"
    path.write_text("#define GOODPUT_COMPILED\n" + (ROOT / "examples/quickstart.cpp").read_text())
    yield "programs", name, path, TARGETS[name]
    yield "programs", "compiled/toolkit.cpp", ROOT / "compiled/toolkit.cpp", None
    for name, headers in THIRD_PARTY.items():
        yield "beneath", name, source_with(name, headers), None


def third_party_folders():
    if not shutil.which("pkg-config"):
        return []
    answer = subprocess.run(["pkg-config", "--cflags-only-I", "eigen3"], stdout=subprocess.PIPE, text=True)
    return [flag[2:] for flag in answer.stdout.split()]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--compiler", default="g++")
    parser.add_argument("--runs", type=int, default=3, help="compilations of each file (3)")
    parser.add_argument("--only", default="", metavar="REGEX", help="only files whose names contain a match")
    arguments = parser.parse_args()

    # The consumer of the core compares with the version that its build states.
    flags = ["-std=c++20", "-O2", f"-I{ROOT / 'include'}", "-DCONSUMER_VERSION=goodput::version"]
    for folder in third_party_folders():
        flags += ["-isystem", folder]
    with tempfile.TemporaryDirectory() as folder:
        scratch = Path(folder)
        rows = [row for row in subjects(scratch) if re.search(arguments.only, row[1])]
        if not rows:
            sys.exit(f"nothing is called {arguments.only}")
        lines, seconds = [], [[] for _ in rows]
        for _, _, source, _ in rows:
            text = subprocess.run([arguments.compiler, *flags, "-E", "-P", source], stdout=subprocess.PIPE, check=True)
            lines.append(text.stdout.count(b"\n"))
        for _ in range(arguments.runs):
            for (_, _, source, _), taken in zip(rows, seconds):
                command = [arguments.compiler, *flags, "-c", str(source), "-o", str(scratch / "object.o")]
                taken.append(cpu_seconds(command))

    print(f"{arguments.compiler} -std=c++20 -O2 -c, processor seconds of {arguments.runs} runs\n")
    print(f"{'median':>7} {'least':>7} {'lines':>8}  file")
    missed, group_before = 0, None
    for (group, name, _, target), taken, count in zip(rows, seconds, lines):
        if group != group_before:
            print()
        group_before = group
        verdict = ""
        if target is not None and min(taken) > target:
            missed += 1
            verdict = f"  MISSED: {target} s"
        print(f"{statistics.median(taken):7.2f} {min(taken):7.2f} {count:8,}  {name}{verdict}")
    print(f"\ntargets: {LIGHT_SECONDS} s for a header of {', '.join(sorted(LIGHT))}; {CORE_CONSUMER_SECONDS} s for a program on core "
          f"alone; " + "; ".join(f"{seconds} s for {name}" for name, seconds in TARGETS.items()) + f": {missed} missed")
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
