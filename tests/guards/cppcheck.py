#!/usr/bin/env python3
"""Runs cppcheck over include/, examples/, docs/snippets/ and program/: warnings, performance, portability. cppcheck.txt
lists its false findings.

    cppcheck.py [--jobs N] [--cppcheck PROGRAM]
"""
import argparse
import pathlib
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]


def main():
    parser = argparse.ArgumentParser(description="cppcheck over include/, examples/, docs/snippets/ and program/")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--cppcheck", default="cppcheck")
    options = parser.parse_args()
    # Headers are listed because cppcheck only looks for sources; those of examples are included by theirs.
    files = sorted((ROOT / "include").rglob("*.hpp"))
    for folder in ("examples", "docs/snippets", "program"):
        files += sorted((ROOT / folder).rglob("*.cpp"))
    folders = [ROOT / "include", ROOT / "program", ROOT / "examples" / "slurm"]
    done = subprocess.run([options.cppcheck, "--enable=warning,performance,portability", "--inline-suppr",
                           "--error-exitcode=1", "--std=c++20", "--language=c++", "--quiet", f"-j{options.jobs}",
                           f"--suppressions-list={HERE / 'cppcheck.txt'}",
                           "--template={file}:{line}: {severity}: {message} [{id}]",
                           *(f"-I{folder}" for folder in folders), *files])
    return done.returncode


if __name__ == "__main__":
    sys.exit(main())
