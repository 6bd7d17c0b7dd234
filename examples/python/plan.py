#!/usr/bin/env python3
"""Plans rounds in Python: what `goodput plan --explain --advise` answers, without the program.

    python3 plan.py [goodput | sia] < rounds       one JSON document a line, as docs/program.md describes

Needs the package goodput (docs/python.md).
"""

import json
import sys

import goodput

scheduler = goodput.Scheduler(*sys.argv[1:2])
for line in sys.stdin:
    try:
        answer = scheduler.plan(json.loads(line))
    except ValueError as refusal:
        answer = {"error": str(refusal)}
    print(json.dumps(answer), flush=True)
