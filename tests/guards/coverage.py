#!/usr/bin/env python3
"""Which lines of include/ do the library's tests run?

Builds the library's test programs (not those of the program goodput) with clang++'s source-based coverage in its own
build folder, and runs them, with published data if present. Prints for each header how many lines any of them ran. A
line of a template counts as run if any instantiation ran it. clang++ sees no lines in templates that nothing
instantiates; headers without a single line are named.

Fails (exit status 1) if less than --least percent of all lines are run, or if a line is not run and uncovered.txt
does not explain it. A line of that file has the form

    header | the line's text | why no test runs it

and explains all lines of that header with that text. Explained lines that are run after all are only named.

    coverage.py [--build FOLDER] [--least PERCENT] [--jobs N] [--data FOLDER] [--no-build] [--no-run]
"""
import argparse
import collections
import os
import pathlib
import re
import shutil
import subprocess
import sys
import time

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
INCLUDE = ROOT / "include" / "goodput"
OUTSIDE = ("program_test", "slurm_test", "docs_check_test")  # test program, example and documentation


def arguments():
    parser = argparse.ArgumentParser(description="Which lines of include/ do the library's tests run?")
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build" / "coverage")
    parser.add_argument("--least", type=float, default=95, help="percent of all lines that must be run")
    parser.add_argument("--jobs", type=int, default=1, help="jobs of the build; programs run one after the other")
    parser.add_argument("--data", type=pathlib.Path, default=ROOT / ".." / "shared" / "data")
    parser.add_argument("--no-build", action="store_true", help="use what is already built")
    parser.add_argument("--no-run", action="store_true", help="only report on the last run")
    return parser.parse_args()


def tool(name):
    """Returns a tool of clang++'s own version, since other versions cannot read its profiles."""
    version = subprocess.run(["clang++", "-dumpversion"], capture_output=True, text=True, check=True).stdout.split(".")[0]
    for candidate in (f"{name}-{version}", name):
        if shutil.which(candidate):
            return candidate
    sys.exit(f"{name}-{version} is not installed")


def build(options):
    # Counters are placed before optimisation: -O1 changes how long the programs run, not what they count.
    flags = "-O1 -fprofile-instr-generate -fcoverage-mapping"
    # A build type that CMake does not know adds nothing to the flags.
    subprocess.run(["cmake", "-S", ROOT, "-B", options.build, "-G", "Ninja", "-D", "CMAKE_CXX_COMPILER=clang++",
                    "-D", "CMAKE_BUILD_TYPE=Coverage", "-D", f"CMAKE_CXX_FLAGS={flags}",
                    "-D", f"GOODPUT_DATA_DIR={options.data}", "-D", "GOODPUT_BUILD_EXAMPLES=OFF",
                    "-D", "GOODPUT_BUILD_TESTS=ON", "-D", "GOODPUT_INSTALL=OFF"],
                   check=True, stdout=subprocess.DEVNULL)
    targets = programs_in(options)
    subprocess.run(["cmake", "--build", options.build, "-j", str(options.jobs), "--target", *targets],
                   check=True, stdout=subprocess.DEVNULL)


def programs_in(options):
    listed = subprocess.run(["cmake", "--build", options.build, "--target", "help"], capture_output=True, text=True,
                            check=True).stdout
    return sorted(name for name in set(re.findall(r"^(\w+_test): phony", listed, re.MULTILINE)) if name not in OUTSIDE)


def files_of(options, names):
    """Returns the paths of the programs with these names."""
    found = []
    for name in names:
        found += [path for path in options.build.rglob(name) if path.is_file() and os.access(path, os.X_OK)]
    return found


def run(options, programs):
    profiles = options.build / "profiles"
    shutil.rmtree(profiles, ignore_errors=True)
    profiles.mkdir()
    data = options.data.is_dir()
    if not data:
        print(f"no data in {options.data}: tests without published measurements")
    for program in programs:
        began = time.monotonic()
        command = [program.resolve(), "--no-colors"] + ([] if data else ["--test-suite-exclude=data"])
        done = subprocess.run(command, capture_output=True, text=True, errors="replace", cwd=profiles,
                              env={**os.environ, "LLVM_PROFILE_FILE": str(profiles / f"{program.name}.profraw")})
        if done.returncode != 0:
            sys.exit(f"{done.stdout}{done.stderr}{program.name}: exit status {done.returncode}")
        print(f"{program.name}: {time.monotonic() - began:.0f} s", flush=True)
    subprocess.run([tool("llvm-profdata"), "merge", "-sparse", *sorted(profiles.glob("*.profraw")),
                    "-o", options.build / "merged.profdata"], check=True)


def counts_of(options, programs):
    """Returns how often each line was run, by header and line."""
    command = [tool("llvm-cov"), "export", "-format=lcov", "-instr-profile", options.build / "merged.profdata",
               programs[0]]
    for program in programs[1:]:
        command += ["-object", program]
    exported = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    counts = collections.defaultdict(dict)
    header = None
    for line in exported.splitlines():
        if line.startswith("SF:"):
            path = pathlib.Path(line[3:]).resolve()
            header = path.relative_to(INCLUDE).as_posix() if path.is_relative_to(INCLUDE) else None
        elif header and line.startswith("DA:"):
            number, count = line[3:].split(",")[:2]
            number = int(number)
            counts[header][number] = max(counts[header].get(number, 0), int(count))
    return counts


def explained():
    reasons = {}
    for number, line in enumerate((HERE / "uncovered.txt").read_text().splitlines(), 1):
        if not line.strip() or line.startswith("#"):
            continue
        parts = re.fullmatch(r"(\S+) \| (.*) \| (.+)", line)
        if not parts:
            sys.exit(f"uncovered.txt:{number}: not 'header | line | reason'")
        reasons[parts[1], parts[2].strip()] = parts[3]
    return reasons


def main():
    os.environ["GOODPUT_TEST_TRIALS"] = "1"  # all random cases of the tests' long loops
    options = arguments()
    options.build = options.build.resolve()
    if not (options.no_build or options.no_run):
        build(options)
    programs = files_of(options, programs_in(options))
    if not options.no_run:
        run(options, programs)
    counts = counts_of(options, programs)

    print(f"\n{'run':>5} {'lines':>6} {'%':>6}  header")
    all_lines = all_run = 0
    missing = []
    for header in sorted(counts):
        lines = counts[header]
        text = (INCLUDE / header).read_text().splitlines()
        was_run = sum(1 for count in lines.values() if count > 0)
        all_lines += len(lines)
        all_run += was_run
        print(f"{was_run:5} {len(lines):6} {100 * was_run / len(lines):6.1f}  {header}")
        missing += [(header, n, text[n - 1].strip()) for n, count in sorted(lines.items()) if count == 0]
    percent = 100 * all_run / all_lines
    print(f"{all_run:5} {all_lines:6} {percent:6.2f}  in all")
    silent = sorted(path.relative_to(INCLUDE).as_posix() for path in INCLUDE.rglob("*.hpp")
                    if path.relative_to(INCLUDE).as_posix() not in counts)
    print(f"without a line that could be run: {', '.join(silent)}")

    reasons = explained()
    unexplained = [m for m in missing if (m[0], m[2]) not in reasons]
    print(f"\n{len(missing)} lines not run, {len(missing) - len(unexplained)} of them explained in uncovered.txt")
    for header, number, text in missing:
        print(f"{header}:{number}: {text}\n    {reasons.get((header, text), 'NOT EXPLAINED')}")
    still = {(header, text) for header, _, text in missing}
    for header, text in reasons:
        if (header, text) not in still:
            print(f"explained, but run or gone: {header} | {text}")
    if percent < options.least:
        print(f"less than {options.least} % of the lines are run")
    return 1 if unexplained or percent < options.least else 0


if __name__ == "__main__":
    sys.exit(main())
