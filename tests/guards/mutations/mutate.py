#!/usr/bin/env python3
"""Do the tests notice deliberate errors?

For each record of mutations.toml: copies include/ to a scratch folder, makes the one replacement there, compiles the
test sources of the record's folder against it, one after the other, and runs them until one fails. `likely` names the
source to begin with. Prints for each record whether it was caught, and by which test case. Exits with 1 if a mutation
survives all sources of its folder, if its text does not occur exactly once in its file (white space aside), or if the
result does not compile. A source that fails without any mutation stops everything.

    mutate.py [--only EXPRESSION] [--scratch FOLDER] [--compiler C++] [--timeout SECONDS] [--list]

Tests on published data are left out: errors must be caught without them. With ccache, a second run costs little more
than the tests' own time.
"""
import argparse
import os
import pathlib
import re
import shutil
import subprocess
import sys
import time
import tomllib

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[2]
TESTS = ROOT / "tests"


def arguments():
    parser = argparse.ArgumentParser(description="Do the tests notice deliberate errors?")
    parser.add_argument("--only", default="", help="only records whose file and name match this regular expression")
    parser.add_argument("--scratch", type=pathlib.Path, default=ROOT / "build" / "mutations")
    parser.add_argument("--compiler", default="g++")
    parser.add_argument("--timeout", type=int, default=300, help="time limit of a test program in seconds")
    parser.add_argument("--list", action="store_true", help="only check that every record still applies")
    return parser.parse_args()


def applied(text, record):
    """Returns the text with the record's replacement, or None if the text to replace does not occur exactly once."""
    pattern = r"\s+".join(re.escape(word) for word in record["find"].split())
    matches = list(re.finditer(pattern, text))
    if len(matches) != 1:
        return None
    return text[: matches[0].start()] + record["replace"] + text[matches[0].end():]


def sources_of(folder):
    """Returns the sources of the test program FOLDER_test as FOLDER/topic_test, without suffix."""
    return [f"{folder}/{source.stem}" for source in sorted((TESTS / folder).glob("*_test.cpp"))]


class Bench:
    """Compiles and runs test sources against the headers in scratch/include."""

    def __init__(self, options):
        self.options = options
        self.scratch = options.scratch.resolve()
        self.include = self.scratch / "include"
        self.sound = {}
        packages = subprocess.run(["pkg-config", "--cflags-only-I", "eigen3"], capture_output=True, text=True)
        system = [flag[2:] for flag in packages.stdout.split()] or ["/usr/include/eigen3"]
        compiler = [options.compiler] if not shutil.which("ccache") else ["ccache", options.compiler]
        self.compile = [*compiler, "-std=c++20", "-O1", "-DNDEBUG", "-w", f"-I{self.include}", f"-I{TESTS}",
                        f"-I{ROOT / 'program'}",
                        '-DGOODPUT_DATA_DIR="none"']
        for folder in system:
            self.compile += ["-isystem", folder]
        self.scratch.mkdir(parents=True, exist_ok=True)
        self.restore()
        self.main = self.object_of("main")
        if self.main is None:
            sys.exit("tests/main.cpp does not compile")

    def restore(self):
        if self.include.exists():
            shutil.rmtree(self.include)
        shutil.copytree(ROOT / "include", self.include)

    def object_of(self, stem):
        result = self.scratch / f"{pathlib.Path(stem).name}.o"
        done = subprocess.run([*self.compile, "-c", TESTS / f"{stem}.cpp", "-o", result], capture_output=True, text=True)
        self.message = done.stderr
        return result if done.returncode == 0 else None

    def failure_of(self, stem):
        """Returns the first failing test case of a source; "" if all pass, None if it does not compile."""
        compiled = self.object_of(stem)
        if compiled is None:
            return None
        program = self.scratch / "program"
        subprocess.run([self.options.compiler, compiled, self.main, "-o", program], check=True)
        command = [program, "--test-suite-exclude=data", "--abort-after=1", "--no-colors"]
        try:
            done = subprocess.run(command, capture_output=True, text=True, timeout=self.options.timeout, errors="replace")
        except subprocess.TimeoutExpired:
            return f"(no end within {self.options.timeout} s)"
        if done.returncode == 0:
            return ""
        named = re.search(r"^TEST CASE:\s*(.*(?:\n  \S.*)*)", done.stdout, re.MULTILINE)
        return " ".join(named.group(1).split()) if named else f"(exit status {done.returncode})"

    def require_sound(self, stem):
        """Stops everything if the source fails without a mutation."""
        if stem in self.sound:
            return
        self.restore()
        failure = self.failure_of(stem)
        if failure != "":
            sys.exit(f"{stem} fails without any mutation: {failure if failure else self.message}")
        self.sound[stem] = True


def main():
    os.environ["GOODPUT_TEST_TRIALS"] = "1"  # all random cases of the tests' long loops
    options = arguments()
    with open(HERE / "mutations.toml", "rb") as table:
        records = tomllib.load(table)["mutation"]
    records = [r for r in records if re.search(options.only, f"{r['file']}: {r['name']}")]
    if not records:
        sys.exit("no such record")
    bad = []
    texts = {}
    for record in records:
        path = ROOT / "include" / "goodput" / record["file"]
        texts[record["name"]] = applied(path.read_text(), record) if path.exists() else None
        if texts[record["name"]] is None:
            bad.append(record["name"])
            print(f"does not apply  {record['file']}: {record['name']}")
    if options.list:
        print(f"{len(records) - len(bad)} of {len(records)} records apply")
        return 1 if bad else 0

    bench = Bench(options)
    caught = 0
    for record in records:
        if texts[record["name"]] is None:
            continue
        began = time.monotonic()
        folder = record["file"].split("/")[0]
        sources = sources_of(folder)
        if "likely" in record:  # this may be a test of another folder
            sources = [record["likely"], *(stem for stem in sources if stem != record["likely"])]
        verdict = "SURVIVED"
        for stem in sources:
            bench.restore()
            (bench.include / "goodput" / record["file"]).write_text(texts[record["name"]])
            failure = bench.failure_of(stem)
            if failure is None:
                verdict = "DOES NOT COMPILE"
                print("\n".join(line for line in bench.message.splitlines() if " error: " in line)[:1000])
                break
            if failure:
                bench.require_sound(stem)
                verdict = f"caught by {stem}: {failure}"
                caught += 1
                break
        else:
            bad.append(record["name"])
        if verdict == "DOES NOT COMPILE":
            bad.append(record["name"])
        print(f"{record['file']}: {record['name']}\n    {verdict} ({time.monotonic() - began:.0f} s)", flush=True)
    print(f"{caught} of {len(records)} caught" + "".join(f"\nnot caught: {name}" for name in bad))
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
