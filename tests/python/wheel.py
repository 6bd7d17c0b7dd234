#!/usr/bin/env python3
"""The wheel is built without a network, contains all that it needs, and works when installed outside the repository.

    wheel.py CMAKE BUILD ROUND CLUSTER
"""

import glob
import json
import os
import subprocess
import sys
import tempfile
import zipfile

CMAKE, BUILD, ROUND, CLUSTER = sys.argv[1:]
PLAN = "import goodput, json, sys; print(json.dumps([goodput.__file__, goodput.version(), goodput.plan(json.load(sys.stdin))]))"


def main():
    subprocess.run([CMAKE, "--build", BUILD, "--target", "goodput_wheel"], check=True, stdout=subprocess.DEVNULL)
    wheel, = glob.glob(os.path.join(BUILD, "wheel", "*.whl"))
    with zipfile.ZipFile(wheel) as file:
        names = set(file.namelist())
    package = os.environ["PYTHONPATH"]
    modules = {os.path.relpath(path, package) for path in glob.glob(package + "/goodput/**/*.py", recursive=True)}
    others = {"goodput/goodput.h", "goodput/goodput.schema.json", "goodput/py.typed", "goodput/LICENSE"}
    assert modules | others <= names, names
    assert any("goodput_c" in name for name in names), names
    environment = {name: value for name, value in os.environ.items() if name not in ("GOODPUT_LIBRARY", "PYTHONPATH")}
    with tempfile.TemporaryDirectory() as folder, open(ROUND, encoding="utf-8") as round_:
        subprocess.run([sys.executable, "-m", "pip", "install", "--quiet", "--no-index", "--no-deps", "--target", folder, wheel],
                       check=True, env=environment, stderr=subprocess.DEVNULL)
        said = subprocess.run([sys.executable, "-c", PLAN], stdin=round_, check=True, capture_output=True, text=True, cwd=folder,
                              env=environment).stdout
        place, version, plan = json.loads(said)
        assert place.startswith(folder) and f"goodput-{version}-py3-none-" in wheel, (place, version, wheel)
        assert plan["status"] == "optimal", plan
        environment["PATH"] = "/usr/bin:/bin"  # without the program goodput, so the wheel itself must plan
        said = subprocess.run([sys.executable, "-m", "goodput.kubernetes", "--advise", CLUSTER], check=True, cwd=folder,
                              capture_output=True, text=True, env=environment).stdout
        assert " could start on " in said, said


if __name__ == "__main__":
    main()
