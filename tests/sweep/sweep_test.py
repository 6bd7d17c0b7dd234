#!/usr/bin/env python3
"""What examples/sweep/sweep.py promises, on one machine.

    sweep_test.py SWEEP PROGRAM SCRATCH

A sweep that is killed goes on where it was and ends with the same table as one that is not; what is done is never run
again; a replay that fails is named and tried again; mistakes in the file get one line.
"""
import csv
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

SWEEP, PROGRAM, SCRATCH = sys.argv[1], sys.argv[2], Path(sys.argv[3])
SPEC = {"policies": ["goodput", "las"], "loads": [1, 2], "seeds": [1, 2], "clusters": {"small": "aws:4x4,rtx:3x8"}}


def sweep(*arguments, program=PROGRAM):
    if arguments[0] != "merge":
        arguments += ("--program", program)
    return subprocess.run([sys.executable, SWEEP, *map(str, arguments)], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          text=True)


def spec_file(name, spec):
    file = SCRATCH / name
    file.write_text(json.dumps(spec))
    return file


def timeless(file):
    """The table without what depends on the machine's speed."""
    with open(file, newline="") as lines:
        return [{name: value for name, value in row.items() if "_ms" not in name and name != "policy_s"}
                for row in csv.DictReader(lines)]


def times_of(out):
    return {file.name: file.stat().st_mtime_ns for file in (out / "cells").glob("*.json")}


def name_of(cell):
    return tuple(str(cell[axis]) for axis in ("policy", "load", "seed", "cluster"))


def data_of(out):
    """What the page carries, which must be one file that loads nothing."""
    page = (out / "report.html").read_text()
    assert page.startswith("<!DOCTYPE html>") and page.endswith("</html>\n") and "{{" not in page
    for elsewhere in ("src=", "url(", "@import", "<link", "fetch("):
        assert elsewhere not in page, elsewhere
    assert page.count("<script") == page.count("</script>") == 4
    return json.loads(re.search('<script type="application/json" id="data">(.*?)</script>', page, re.DOTALL)[1])


def check_names():
    """Names are text, whatever they contain."""
    out = SCRATCH / "names"
    (out / "cells").mkdir(parents=True)
    names = ["</script><script>alert(1)</script>", '<!-- & "\'']
    for number, policy in enumerate(names):
        cell = {"policy": policy, "load": 1, "seed": 0, "trace_seed": "", "interruptions_seed": "", "cluster": names[1],
                "workload": names[0], "figures": {"average_jct_h": 1.0 + number, "jobs": 3, "completed": 3}}
        (out / "cells" / f"{number}.json").write_text(json.dumps(cell))
    merged = sweep("merge", out)
    assert merged.returncode == 0, merged.stderr
    cells = data_of(out)["replays"]
    assert {cell["policy"] for cell in cells} == set(names) and {cell["workload"] for cell in cells} == {names[0]}
    page = (out / "report.html").read_text()
    assert "<script>alert" not in page and "<!--" not in page
    without = sweep("merge", out, "--chart-js", out / "none.js")
    assert without.returncode == 2 and "install libjs-chart.js" in without.stderr and (out / "results.csv").exists()


def check_incomplete():
    """Replays that do not complete all jobs are named, and their averages are not compared."""
    out = SCRATCH / "incomplete"
    (out / "cells").mkdir(parents=True)
    for policy, completed, average in (("all", 3, 2.0), ("some", 1, 0.5), ("none", 0, None), ("also", 3, 3.0)):
        cell = {"policy": policy, "load": 1, "seed": 0, "cluster": "", "workload": "",
                "figures": {"average_jct_h": average, "jobs": 3, "completed": completed}}
        (out / "cells" / f"{policy}.json").write_text(json.dumps(cell))
    merged = sweep("merge", out)
    assert merged.returncode == 0, merged.stderr
    assert merged.stdout.startswith("all has the shortest average completion time"), merged.stdout
    assert "2 replays do not complete all jobs (1 under none, 1 under some)" in merged.stdout, merged.stdout
    rows = {row["policy"]: row["average_jct_h"] for row in csv.DictReader((out / "results.csv").open(newline=""))}
    assert rows == {"all": "2.0", "some": "0.5", "none": "", "also": "3.0"}, rows
    assert "do not complete all jobs" in (out / "report.html").read_text()


def check_repeats():
    """Replays that differ in seeds alone are repeats of one setting, whatever seed it is."""
    out = SCRATCH / "repeats"
    (out / "cells").mkdir(parents=True)
    # At load 2 each policy is twice as fast as the other with one of two traces: in the mean they are 5 and 2.5 hours.
    averages = {("one", 1, 1): 1.0, ("other", 1, 1): 4.0, ("one", 2, 1): 8.0, ("other", 2, 1): 4.0,
                ("one", 2, 2): 2.0, ("other", 2, 2): 1.0, ("one", 2, 3): 9.0}
    for (policy, load, trace_seed), average in averages.items():
        cell = {"policy": policy, "load": load, "seed": 0, "trace_seed": trace_seed, "interruptions_seed": "",
                "cluster": "", "workload": "", "figures": {"average_jct_h": average, "jobs": 3, "completed": 3}}
        (out / "cells" / f"{policy}{load}{trace_seed}.json").write_text(json.dumps(cell))
    merged = sweep("merge", out)
    assert merged.returncode == 0, merged.stderr
    # sqrt(1 * 5) over sqrt(4 * 2.5); what one policy alone has does not count.
    assert "0.71 times that of other" in merged.stdout, merged.stdout
    assert "over 2 settings, each the mean of 2 seeds" in merged.stdout, merged.stdout
    rows = list(csv.DictReader((out / "results.csv").open(newline="")))
    assert [row["trace_seed"] for row in rows if row["load"] == "2"] == ["1", "2", "3", "1", "2"], rows

    def arguments(more):
        listed = sweep("list", spec_file("seeds.json", {"policies": ["fifo"], **more}), "--out", SCRATCH / "seeds")
        assert listed.returncode == 0, listed.stderr
        return listed.stdout
    assert arguments({}).startswith("1 replays")
    assert arguments({"trace_seeds": [1, 2, 3], "interruptions_seeds": [4, 5]}).startswith("6 replays")


def main():
    shutil.rmtree(SCRATCH, ignore_errors=True)
    SCRATCH.mkdir(parents=True)
    check_incomplete()
    check_names()
    check_repeats()
    spec = spec_file("spec.json", SPEC)

    straight = SCRATCH / "straight"
    done = sweep("run", spec, "--out", straight, "-j", 2)
    assert done.returncode == 0, done.stderr
    merged = sweep("merge", straight)
    assert merged.returncode == 0 and "shortest average completion time" in merged.stdout, merged.stdout + merged.stderr
    table = timeless(straight / "results.csv")
    assert len(table) == 8 and all(float(row["average_jct_h"]) > 0 for row in table)
    page = data_of(straight)
    assert page["compare"] == ["goodput", "las"] and page["warning"] == "", page["compare"]
    of_page = {name_of(cell): cell["figures"] for cell in page["replays"]}
    with open(straight / "results.csv", newline="") as lines:
        for row in csv.DictReader(lines):
            figures = of_page.pop(name_of(row))
            assert {name: str(value) for name, value in figures.items()} == {
                name: row[name] for name in row if name in figures}, row
    assert not of_page

    # Killed as soon as something is there, by a signal that leaves no time to tidy up.
    killed = SCRATCH / "killed"
    process = subprocess.Popen([sys.executable, SWEEP, "run", spec, "--out", killed, "--program", PROGRAM, "-j", "1"],
                               stdout=subprocess.DEVNULL, start_new_session=True)
    while not times_of(killed) and process.poll() is None:
        time.sleep(0.01)
    os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    before = times_of(killed)
    assert 0 < len(before) < 8, before
    assert f"{len(before)} of them done" in sweep("list", spec, "--out", killed).stdout
    assert sweep("run", spec, "--out", killed).returncode == 0
    after = times_of(killed)
    assert len(after) == 8 and all(after[name] == at for name, at in before.items()), "what was done was run again"
    assert sweep("merge", killed).returncode == 0 and timeless(killed / "results.csv") == table

    # A larger sweep takes over what it shares with the one before.
    larger = spec_file("larger.json", {**SPEC, "seeds": [1, 2, 3]})
    assert "8 of them done" in sweep("list", larger, "--out", killed).stdout

    # A replay that fails does not stop the others, and is tried again.
    wrong = spec_file("wrong.json", {**SPEC, "policies": ["nosuch", "las"]})
    failed = sweep("run", wrong, "--out", SCRATCH / "wrong", "-j", 1)
    assert failed.returncode == 1 and "policy nosuch, load 1, seed 1, cluster small" in failed.stderr
    assert "there is no policy 'nosuch'" in failed.stderr and failed.stderr.count("FAILED") == 1
    assert len(times_of(SCRATCH / "wrong")) == 4
    assert "4 replays failed like" in failed.stderr
    assert sweep("run", wrong, "--out", SCRATCH / "wrong").returncode == 1

    for mistake, words in (({"policy": ["las"]}, "there is no key 'policy'"),
                           ({"policies": []}, "policies must be a list of at least one name"),
                           ({"policies": ["las"], "loads": ["1"]}, "loads must be a list of at least one number"),
                           ({"policies": ["las", "las"]}, "policies names something twice"),
                           ({"policies": ["las"], "workloads": {"x": "no.csv"}}, "workload 'x': there is no file")):
        refused = sweep("run", spec_file("mistake.json", mistake), "--out", SCRATCH / "mistake")
        assert refused.returncode == 2 and words in refused.stderr and refused.stderr.count("\n") == 1, refused.stderr
    refused = sweep("merge", SCRATCH / "mistake")
    assert refused.returncode == 2 and "there are no results yet" in refused.stderr
    refused = sweep("run", spec, "--out", SCRATCH / "mistake", program="no-such-program")
    assert refused.returncode == 1 and "no-such-program: No such file" in refused.stderr
    print("a sweep goes on where it was")


main()
