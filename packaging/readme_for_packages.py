#!/usr/bin/env python3
"""Prints README.md with absolute links, for pages of package registries, which show it away from its repository.

usage: readme_for_packages.py ADDRESS [--tag v0.1.0]

ADDRESS is that of the repository, such as https://code.example.org/team/goodput; pages are linked at ADDRESS/blob/TAG,
pictures at ADDRESS/raw/TAG. The tag is v and the version of include/goodput/version.hpp where left out.
"""
import argparse
import os
import re
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
LINK = re.compile(r"(!?)(\[[^]]*\])\(([^)\s]+)\)")


def absolute(readme, address, tag):
    """The same text; a relative link to a file that is not there ends the program."""
    def replace(match):
        picture, label, target = match.groups()
        if "://" in target or target.startswith(("#", "mailto:")):
            return match[0]
        if not os.path.exists(os.path.join(ROOT, target.split("#")[0])):
            sys.exit(f"README.md links to {target}, which is not there")
        return f"{picture}{label}({address}/{'raw' if picture else 'blob'}/{tag}/{target})"
    parts = re.split(r"(^```.*?^```$)", readme, flags=re.M | re.S)  # code stays as it is
    return "".join(part if part.startswith("```") else LINK.sub(replace, part) for part in parts)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("address")
    parser.add_argument("--tag")
    arguments = parser.parse_args()
    with open(os.path.join(ROOT, "include", "goodput", "version.hpp"), encoding="utf-8") as header:
        version = re.search(r'string_view version = "([^"]+)"', header.read())[1]
    with open(os.path.join(ROOT, "README.md"), encoding="utf-8") as readme:
        print(absolute(readme.read(), arguments.address.rstrip("/"), arguments.tag or f"v{version}"), end="")


if __name__ == "__main__":
    main()
