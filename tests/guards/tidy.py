#!/usr/bin/env python3
"""clang-tidy (the repository's .clang-tidy) over include/, examples/ and docs/snippets/.

Checks a source that includes every header, and the sources of the other two folders, which instantiate its templates.
--quick checks only the first and one of the others. Prints findings, and the seconds per source. Exits with status 1
if there is a finding.

    tidy.py [--quick] [--only WORD] [--jobs N] [--scratch FOLDER] [--clang-tidy PROGRAM]
"""
import argparse
import concurrent.futures
import pathlib
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
QUICK = ("all_headers.cpp", "doc_allot.cpp")


def arguments():
    parser = argparse.ArgumentParser(description="clang-tidy over include/, examples/ and docs/snippets/")
    parser.add_argument("--quick", action="store_true", help="check only two sources")
    parser.add_argument("--only", default="", help="check only sources whose path contains this")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--scratch", type=pathlib.Path, default=ROOT / "build" / "tidy")
    parser.add_argument("--clang-tidy", default="clang-tidy")
    return parser.parse_args()


def all_headers(scratch):
    """Writes a source that includes every header."""
    scratch.mkdir(parents=True, exist_ok=True)
    source = scratch / "all_headers.cpp"
    headers = sorted(path.relative_to(ROOT / "include").as_posix() for path in (ROOT / "include").rglob("*.hpp"))
    source.write_text("".join(f'#include "{header}"\n' for header in headers))
    return source


def flags():
    packages = subprocess.run(["pkg-config", "--cflags-only-I", "eigen3"], capture_output=True, text=True)
    system = [flag[2:] for flag in packages.stdout.split()] or ["/usr/include/eigen3"]
    folders = [ROOT / "include", ROOT / "program", ROOT / "examples" / "slurm"]
    return ["-std=c++20", *(f"-I{folder}" for folder in folders), *(f"-isystem{folder}" for folder in system)]


def check(options, source):
    began = time.monotonic()
    done = subprocess.run([options.clang_tidy, "-quiet", f"--config-file={ROOT / '.clang-tidy'}", source, "--", *flags()],
                          capture_output=True, text=True)
    noise = ("warnings generated", "warning generated", "warnings treated as errors", "warning treated as error")
    found = done.stdout + "".join(line + "\n" for line in done.stderr.splitlines()
                                  if not any(line.rstrip(".").endswith(words) for words in noise))
    return source, done.returncode, found, time.monotonic() - began


def main():
    options = arguments()
    sources = [all_headers(options.scratch), *sorted((ROOT / "examples").rglob("*.cpp")),
               *sorted((ROOT / "docs" / "snippets").glob("*.cpp"))]
    sources = [s for s in sources if options.only in str(s) and (s.name in QUICK or not options.quick)]
    if not sources:
        sys.exit("no such source")
    bad = 0
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        for source, status, found, seconds in pool.map(lambda s: check(options, s), sources):
            print(f"{source.name}: {'clean' if status == 0 else 'FOUND'} ({seconds:.0f} s)", flush=True)
            if status != 0:
                bad += 1
                print(found, flush=True)
    print(f"{len(sources) - bad} of {len(sources)} sources clean")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
