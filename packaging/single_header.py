#!/usr/bin/env python3
"""Joins a header and all of ours that it includes to one file, for Compiler Explorer and for trying things out.

usage: single_header.py [--header goodput/allot/allot.hpp ...] [--output build/goodput_allot.hpp]

The default is the allotment solver with its explanations, which needs nothing but the standard library. What others
include of Eigen, Ceres and Boost, the one file includes as well. Comments stay, so it documents itself.
"""
import argparse
import os
import re

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
INCLUDE = os.path.join(ROOT, "include")
DEFAULT = ("goodput/version.hpp", "goodput/allot/allot.hpp", "goodput/allot/explain.hpp", "goodput/allot/conflict.hpp",
           "goodput/hadar/posted_prices.hpp")
LIBRARIES = ("Eigen/", "boost/", "ceres/")


def read(header):
    """A header's text without its include guard."""
    with open(os.path.join(INCLUDE, header), encoding="utf-8") as source:
        lines = source.read().rstrip().split("\n")
    if not (lines[0].startswith("#ifndef ") and lines[1].startswith("#define ") and lines[-1].startswith("#endif")):
        raise SystemExit(f"{header}: no include guard around all of it")
    return lines[2:-1]


def join(header, done, outside, body):
    """Appends a header to body: after those that it includes at its head, before those that it includes at its end."""
    if header in done:
        return
    done.add(header)
    mine = []

    def append():
        text = re.sub(r"\n{3,}", "\n\n", "\n".join(mine)).strip("\n")
        if text:
            body.append(f"// ==== {header}\n\n{text}\n")
        mine.clear()

    for line in read(header):
        ours = re.match(r'#include "(goodput/[^"]+)"', line)
        theirs = re.match(r"#include <([^>]+)>", line)
        if ours:
            if any(said and not said.startswith("//") for said in mine):
                append()
            join(ours[1], done, outside, body)
        elif theirs:
            if not re.fullmatch("[a-z_]+", theirs[1]) and not theirs[1].startswith(LIBRARIES):
                raise SystemExit(f"{header} needs <{theirs[1]}>, which is in no library of goodput")
            outside.add(theirs[1])
        else:
            mine.append(line)
    append()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--header", action="append", help="may be repeated")
    parser.add_argument("--output", default=os.path.join(ROOT, "build", "goodput_allot.hpp"))
    arguments = parser.parse_args()
    done, outside, body = set(), set(), []
    for header in arguments.header or DEFAULT:
        join(header, done, outside, body)
    guard = re.sub(r"\W", "_", os.path.basename(arguments.output)).upper()
    with open(os.path.join(ROOT, "LICENSE"), encoding="utf-8") as licence:
        terms = "".join(f"// {line}".rstrip() + "\n" for line in licence.read().rstrip().split("\n"))
    os.makedirs(os.path.dirname(os.path.abspath(arguments.output)), exist_ok=True)
    with open(arguments.output, "w", encoding="utf-8") as out:
        out.write(f"#ifndef {guard}\n#define {guard}\n\n"
                  f"// goodput in one file: made by packaging/single_header.py, not to be edited.\n//\n{terms}\n")
        out.write("".join(f"#include <{name}>\n" for name in sorted(outside)) + "\n")
        out.write("\n".join(body) + f"\n#endif  // {guard}\n")
    print(f"{len(done)} headers: {arguments.output}")


if __name__ == "__main__":
    main()
