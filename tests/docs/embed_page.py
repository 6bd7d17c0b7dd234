#!/usr/bin/env python3
"""Follows docs/embed.md as a new user does: copies the program to an empty folder and compiles it by the page's lines.

usage: embed_page.py ROOT BUILD

The lines call ROOT `goodput`, and BUILD, which has goodput::compiled, `goodput/build/libraries`. The line for headers
alone is only checked for syntax, because BUILD has compiled the same code, examples/embed.cpp. The program of the
other line must print what the page shows, except for numbers: docs.console compares these.
"""
import os
import re
import subprocess
import sys
import tempfile


def blocks(page, language):
    return [block.rstrip("\n") for block in re.findall(rf"^```{language}\n(.*?)^```$", page, flags=re.M | re.S)]


def main():
    root, build = sys.argv[1:]
    with open(os.path.join(root, "docs", "embed.md"), encoding="utf-8") as text:
        page = text.read()
    shell = [line for block in blocks(page, "sh") for line in block.split("\n")]
    copies = [line for line in shell if line.startswith("cp ")]
    lines = [line for line in shell if line.startswith("g++ ")]
    if len(lines) != 2 or "-DGOODPUT_COMPILED" not in lines[1]:
        sys.exit("docs/embed.md should have two lines that compile it, the second with goodput::compiled")
    if len(copies) != 1:
        sys.exit("docs/embed.md should have one line that copies the program")
    with tempfile.TemporaryDirectory() as folder:
        os.symlink(root, os.path.join(folder, "goodput"))
        for line in copies[0], lines[0] + " -fsyntax-only", lines[1].replace("goodput/build/libraries", build):
            print(line, flush=True)
            subprocess.run(line, shell=True, check=True, cwd=folder)
        printed = subprocess.run("./embed", capture_output=True, text=True, check=True, cwd=folder).stdout.rstrip("\n")
    shown = blocks(page, "console")[0].split("\n", 1)[1]
    without_numbers = [re.sub(r"\d+(\.\d+)?", "#", text) for text in (printed, shown)]
    if without_numbers[0] != without_numbers[1]:
        sys.exit(f"it printed\n{printed}\nand the page shows\n{shown}")


main()
