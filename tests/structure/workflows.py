#!/usr/bin/env python3
"""Checks what can be known of the workflows of .github/workflows, which cannot be run here: they are YAML, they run
the commands that a person runs, and what they name exists.

    workflows.py SOURCE [--planted]
"""

import os
import re
import shlex
import sys

import yaml

SOURCE = sys.argv[1]
FOLDER = os.path.join(SOURCE, ".github", "workflows")
RUNS = {"ci.yml": ".ci/run", "nightly.yml": ".ci/nightly", "release.yml": "packaging/release.sh"}  # the command that does the work
BESIDE = {"apt-get", "git"}  # commands that install what the work needs


def faults_of(name, text):
    try:
        (job,) = yaml.safe_load(text)["jobs"].values()
    except (yaml.YAMLError, KeyError, TypeError, ValueError) as error:
        return [f"{name}: no workflow of one job: {error}"]
    faults, commands = [], []
    if job.get("container") != "debian:12":
        faults.append(f"{name}: runs on {job.get('container')}, not on the Debian 12 that the README is for")
    for step in job["steps"]:
        if "uses" in step and not re.fullmatch(r"[\w-]+/[\w-]+@v\d+", step["uses"]):
            faults.append(f"{name}: {step['uses']} is not an action at a major version")
        for line in step.get("run", "").splitlines():
            for part in line.split("&&"):
                commands.append(shlex.split(part)[0])
    for command in set(commands) - BESIDE:
        if not os.access(os.path.join(SOURCE, command), os.X_OK):
            faults.append(f"{name}: there is no program {command}")
    if RUNS[name] not in commands:
        faults.append(f"{name}: does not run {RUNS[name]}")
    return faults


def main():
    texts = {}
    for name in RUNS:
        with open(os.path.join(FOLDER, name), encoding="utf-8") as file:
            texts[name] = file.read()
    faults = [fault for name, text in texts.items() for fault in faults_of(name, text)]
    faults += [f"{name}: not known to this test" for name in os.listdir(FOLDER) if name not in RUNS]
    if "--planted" in sys.argv:
        ci = texts["ci.yml"]
        for wrong in (ci.replace(".ci/run", ".ci/runs"), ci.replace("checkout@v4", "checkout@main"), ci + "\n\t- x",
                      ci.replace("debian:12", "ubuntu:24.04"), ci.replace("jobs:", "tasks:")):
            if wrong == ci or not faults_of("ci.yml", wrong):
                faults.append(f"a planted fault was not found in\n{wrong}")
    if faults:
        sys.exit("\n".join(faults))


if __name__ == "__main__":
    main()
