"""The only connection to a planner: a snapshot goes in, its plan comes out, both as dictionaries."""

from __future__ import annotations

import json
import shutil
import subprocess
from typing import Any, Dict


class NoPlan(Exception):
    """There is no planner, or it refused the snapshot."""


def answer(snapshot: Dict[str, Any], policy: str, program: str = "") -> Dict[str, Any]:
    """Returns the answer of `goodput plan --explain`. The program is the named one, or the one in PATH. Without a
    program, this calls the package's own plan(), which needs the shared library."""
    path = program or shutil.which("goodput")
    if path:
        return _of_program(path, snapshot, policy)
    try:
        from ..planning import plan
        return dict(plan(snapshot, policy))
    except ImportError as error:
        raise NoPlan("there is no planner: name the program goodput with --program, or put it into PATH "
                     f"({error})") from None
    except ValueError as error:
        raise NoPlan(f"the snapshot was refused: {error}") from None


def _of_program(path: str, snapshot: Dict[str, Any], policy: str) -> Dict[str, Any]:
    try:
        run = subprocess.run([path, "plan", "--policy", policy, "--explain"], input=json.dumps(snapshot) + "\n",
                             stdout=subprocess.PIPE, stderr=subprocess.PIPE, universal_newlines=True, check=False)
        said = json.loads(run.stdout)
    except OSError as error:
        raise NoPlan(f"{path} cannot be run: {error.strerror or error}") from None
    except ValueError:
        words = run.stderr.strip().splitlines()
        raise NoPlan(f"{path} gave no plan" + (f": {words[-1]}" if words else "")) from None
    if not isinstance(said, dict) or "plan" not in said:
        refusal = said.get("error") if isinstance(said, dict) else None
        raise NoPlan(f"{path} refused the snapshot: {refusal or 'no plan in its answer'}")
    return said
