"""python3 -m goodput.kubernetes: reads what kubectl prints, and prints a line of `goodput plan` or advice."""

from __future__ import annotations

import argparse
import json
import sys
import time
from typing import List, Optional

from .advice import advice
from .cluster import read
from .hardware import Accelerators
from .objects import Notes, Unreadable, parsed_time
from .planner import NoPlan, answer
from .snapshot import Settings, picture_of


def main(arguments: Optional[List[str]] = None) -> int:
    """Returns the exit status: 0, or 1 if the input cannot be read or there is no plan. Wrong options end with 2."""
    options = _options(arguments)
    notes = Notes()
    try:
        written = _input(options.file)
        if not written.strip():
            raise Unreadable("the input is empty: see what kubectl wrote on standard error")
        cluster = read(written, Accelerators(tuple(options.resource)), options.rack_label, notes)
        settings = Settings(options.now, options.move, options.restart_seconds, options.rack_label)
        picture = picture_of(cluster, settings, notes)
        if not cluster.places:
            notes.add("input", "no node with GPUs is listed")
        lines = [json.dumps(picture.document)]
        if options.advise:
            lines = advice(cluster, picture, lambda snapshot: answer(snapshot, options.policy, options.program))
    except (Unreadable, NoPlan) as error:
        _say(notes.lines() + [str(error)])
        return 1
    _say(notes.lines())
    print("\n".join(lines))
    return 0


def _options(arguments: Optional[List[str]]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python3 -m goodput.kubernetes",
        description="Reads what `kubectl get nodes,pods,jobs --all-namespaces -o json` prints, and prints a line "
                    "for `goodput plan`. It never writes to the cluster.")
    parser.add_argument("file", nargs="?", default="-", help="instead of standard input")
    parser.add_argument("--advise", action="store_true", help="plan, and say in words what the plan would change")
    parser.add_argument("--program", default="", metavar="PATH", help="the program goodput, if it is not in PATH")
    parser.add_argument("--policy", default="goodput", help="policy of the plan (default: goodput)")
    parser.add_argument("--move", action="store_true",
                        help="running gangs with an owner may be stopped and moved (default: they stay)")
    parser.add_argument("--restart-seconds", type=_seconds, default=300.0, metavar="S",
                        help="what a stop and a start cost a gang that may be moved (default: 300)")
    parser.add_argument("--resource", action="append", default=[], metavar="NAME",
                        help="a resource that counts as a GPU, too, such as example.com/accelerator; may be repeated")
    parser.add_argument("--rack-label", default="", metavar="KEY", help="the label of nodes that names their rack")
    parser.add_argument("--now", type=_now, default=time.time(), metavar="TIME",
                        help="as 2026-11-28T13:30:00Z (default: this machine's clock)")
    options = parser.parse_args(arguments)
    if options.file == "-" and sys.stdin.isatty():
        parser.error("standard input is a terminal: pipe into it what kubectl prints, or name a file")
    return options


def _seconds(written: str) -> float:
    number = float(written)
    if not 0 <= number <= 1e7:
        raise argparse.ArgumentTypeError(f"{written} is not between 0 and 1e7")
    return number


def _now(written: str) -> float:
    found = parsed_time(written)
    if found is None:
        raise argparse.ArgumentTypeError(f"{written} is no time such as 2026-11-28T13:30:00Z")
    return found


def _input(file: str) -> str:
    try:
        if file == "-":
            data = sys.stdin.buffer.read()
        else:
            with open(file, "rb") as opened:
                data = opened.read()
        return data.decode("utf-8")
    except OSError as error:
        raise Unreadable(f"{file}: {error.strerror}") from None
    except UnicodeDecodeError as error:
        raise Unreadable(f"byte {error.start + 1} of the input is no UTF-8") from None


def _say(lines: List[str]) -> None:
    for line in lines:
        print(f"goodput.kubernetes: {line}", file=sys.stderr)


if __name__ == "__main__":
    sys.exit(main())
