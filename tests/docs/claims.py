#!/usr/bin/env python3
"""Checks that what the pages say about the program's fields is true: features called missing have no field, the
fields of promised features are known, and program.md names every field that the program reads.

usage: claims.py ROOT PROGRAM     PROGRAM: the program goodput. Prints a line for each fault; the exit status is 1 then
       claims.py ROOT PROGRAM --planted       false claims have to be found
"""
import json
import os
import re
import subprocess
import sys

LINE = {"time_s": 60, "nodes": [{"name": "node", "gpu_type": "A100", "gpus": 8}], "teams": {"team": {"gpus": 8}},
        "jobs": [{"name": name, "submitted_s": 0, "gpus": [1, 8], "team": "team",
                  "batch": {"initial": 128, "max": 1024, "local": {"A100": [16, 128]}, "rate": {"A100": 420}}}
                 for name in ("one", "two")]}
PLACES = {"line": lambda line: line, "node": lambda line: line["nodes"][0], "job": lambda line: line["jobs"][0],
          "team": lambda line: line["teams"]["team"], "batch": lambda line: line["jobs"][0]["batch"],
          "pair": lambda line: line["jobs"][0]["shares_with"][0]}

# Features that a page calls missing: the page, its words, the place where a field would be, and possible names.
MISSING = (
    ("README.md", "There are no parts of a GPU", "job", ("gpu_fraction", "gpus_fraction", "mig_slices", "gpu_memory_gib")),
    ("README.md", "only [pairs](docs/pairs.md) that you name", "line", ("pairs", "shared_gpus")),
    ("docs/comparison.md", "three jobs on one GPU", "pair", ("jobs", "and", "third")),
    ("docs/comparison.md", "borrowing between quotas", "team", ("borrow", "lend")),
    ("docs/core.md", "No parts of a GPU, no MIG slices", "node", ("mig", "mig_profiles", "gpu_memory_gib")),
    ("docs/core.md", "No topology within a node", "node", ("nvlink", "islands", "numa")),
    ("docs/core.md", "No disks, networks, other devices", "node", ("disk_gib", "network_gbps", "devices")),
    ("docs/core.md", "No queues, users, accounts", "job", ("queue", "user", "account")),
    ("docs/schedule.md", "no borrowing between teams", "team", ("borrow", "lend", "parent")),
    ("docs/schedule.md", "no quota on past use", "team", ("gpu_hours", "gpu_hours_month", "decay")),
    ("docs/schedule.md", "no GPUs kept free for jobs to come", "line", ("reserve", "reserved_gpus", "make_room_for")),
    ("docs/policy.md", "no strict priorities", "job", ("priority", "priority_class")),
    ("docs/program.md", "cannot give limits of the batch by shape", "batch", ("by_shape", "shapes")),
    ("docs/host.md", "Which cores, sockets and memory banks", "node", ("sockets", "numa_nodes")),
    ("docs/availability.md", "Nodes are lost independently", "node", ("fails_with", "power_domain")),
    ("docs/design.md", "room made for one job by priority", "line", ("make_room_for", "room_for")),
)

# Features that a page promises: the page, its words, the place, and fields with values.
THERE = (
    ("README.md", "At most two jobs share a GPU", "job", {"shares_with": [{"job": "two", "part": {"A100": [0.7, 0.6]}}]}),
    ("docs/pairs.md", "estimates speeds from the `gpu_utilisation`", "job",
     {"gpu_utilisation": 0.4, "shares_with": [{"job": "two"}]}),
    ("README.md", "A promised [deadline](docs/deadlines.md)", "job", {"deadline_s": 9000, "remaining_examples": 1e5}),
    ("README.md", "cores and memory are rows of the same problem", "node", {"cores": 64, "memory_gib": 512}),
    ("docs/embed.md", "a job must not be stopped", "job", {"preemptible": False}),
    ("docs/recipes.md", '"within": "rack"', "job", {"within": "rack"}),
    ("docs/recipes.md", "`spot` marks nodes", "node", {"spot": True, "interruptions_h": 0.1}),
)


def warnings_of(program, line):
    """Returns the unknown fields of which the program warns, or None if it answers with an error."""
    done = subprocess.run([program, "plan", "--policy", "goodput"], input=json.dumps(line) + "\n", text=True,
                          capture_output=True, check=False)
    answer = json.loads(done.stdout)
    if "error" in answer:
        return None
    return set(re.findall(r'there is no field "([^"]+)"', " ".join(answer.get("warnings", []))))


def page_says(root, page, words):
    with open(os.path.join(root, page), encoding="utf-8") as text:
        return words in " ".join(text.read().split())


def line_with(where, fields):
    line = json.loads(json.dumps(LINE))
    if where == "pair":
        line["jobs"][0]["shares_with"] = [{"job": "two", "part": {"A100": [0.7, 0.6]}}]
    PLACES[where](line).update(fields)
    return line


def check_claims(root, program, missing, there):
    faults = []
    for page, words, where, names in missing:
        if not page_says(root, page, words):
            faults.append(f"{page}: it no longer says '{words}': drop the claim, or mend its words, in tests/docs/claims.py")
        unknown = warnings_of(program, line_with(where, {name: 1 for name in names}))
        for name in names:
            if unknown is None or name not in unknown:
                faults.append(f"{page}: it says '{words}', but `goodput plan` knows the field '{name}' of a {where}")
    for page, words, where, fields in there:
        if not page_says(root, page, words):
            faults.append(f"{page}: it no longer says '{words}': drop the claim, or mend its words, in tests/docs/claims.py")
        unknown = warnings_of(program, line_with(where, fields))
        if unknown is None or unknown:
            faults.append(f"{page}: it says '{words}', but `goodput plan` does not take {json.dumps(fields)} of a {where}")
    return faults


def fields_read(source):
    """Returns the field names in the lists of knows({...}) of a source."""
    return {name for names in re.findall(r"\bknows\(\{(.*?)\}\)", source, flags=re.S)
            for name in re.findall(r'"([a-z_]+)"', names)}


def check_fields(page, sources):
    """Returns a fault for each field that sources read but the page lacks in back quotes, alone or after a dot."""
    named = set(re.findall(r"[a-z_]+", " ".join(re.findall(r"`([^`\n]+)`", page))))
    return [f"docs/program.md: it does not name the field '{name}' of program/plan/{file}"
            for file, source in sources for name in sorted(fields_read(source) - named)]


def main():
    root, program = sys.argv[1:3]
    with open(os.path.join(root, "docs", "program.md"), encoding="utf-8") as text:
        page = text.read()
    folder = os.path.join(root, "program", "plan")
    sources = []
    for file in sorted(os.listdir(folder)):
        with open(os.path.join(folder, file), encoding="utf-8") as text:
            sources.append((file, text.read()))
    if sum(len(fields_read(source)) for _, source in sources) < 80:
        sys.exit("claims.py no longer finds the fields that program/plan reads")
    if sys.argv[3:] == ["--planted"]:
        planted = (check_claims(root, program, [("README.md", "# goodput", "job", ("weight",))], ()),
                   check_claims(root, program, (), [("README.md", "# goodput", "job", {"no_such_field": 1})]),
                   check_claims(root, program, [("README.md", "words that no page has", "job", ("no_such_field",))], ()),
                   check_fields(page.replace("`preemptible`", "preemptible"), sources))
        for faults in planted:
            if len(faults) != 1:
                sys.exit(f"planted: expected one fault, found {faults}")
        print(f"{len(planted)} planted claims judged as they should be")
        return
    faults = check_claims(root, program, MISSING, THERE) + check_fields(page, sources)
    print("\n".join(faults + [f"{len(MISSING) + len(THERE)} claims and {len(sources)} sources checked"]))
    sys.exit(1 if faults else 0)


main()
