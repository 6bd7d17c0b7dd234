#!/usr/bin/env python3
"""The package goodput knows every field that the program knows: lines with every field of docs/goodput.schema.json are
answered with --strict, misspelt ones are refused, and answers are as the schema says. The same holds for the options,
and for what agents of trainings report and are told.

    GOODPUT_LIBRARY=... PYTHONPATH=python schema_test.py SOURCE_FOLDER
"""

import copy
import json
import os
import pathlib
import random
import subprocess
import sys
import tempfile
import unittest
import warnings

ROOT = pathlib.Path(sys.argv.pop(1))
sys.path.insert(0, str(ROOT / "tests" / "program" / "schema"))

import goodput  # noqa: E402
import json_schema  # noqa: E402
import lines  # noqa: E402
from goodput.lines import Lines  # noqa: E402

SCHEMA = json.loads((ROOT / "docs" / "goodput.schema.json").read_text(encoding="utf-8"))
COMMANDS = ("plan", "allot", "fit", "share")


def objects(schema, value, way=()):
    """Yields the places in a value of objects with their own fields."""
    for _ in range(2):
        schema = json_schema.resolved(schema, SCHEMA)
        if "properties" not in schema and "anyOf" in schema:
            schema = next(one for one in schema["anyOf"] if not json_schema.errors(value, one, SCHEMA))
    if isinstance(value, dict):
        if "properties" in schema:
            yield way
        for name, part in value.items():
            yield from objects(schema.get("properties", {}).get(name, schema.get("additionalProperties")), part, (*way, name))
    elif isinstance(value, list):
        first = schema.get("prefixItems", ())
        for index, part in enumerate(value):
            yield from objects(first[index] if index < len(first) else schema["items"], part, (*way, index))


def at(value, way):
    for step in way:
        value = value[step]
    return value


class Schema(unittest.TestCase):
    def test_lines_with_every_field_are_answered_as_the_schema_says(self):
        for command in COMMANDS:
            opened = Lines(command=command, strict=True, **({"advise": True, "explain": True} if command == "plan" else {}))
            for line in lines.EXAMPLES[command]:
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")  # hints that refuse nothing
                    answer = opened.answer(line)
                wrong = json_schema.errors(answer, SCHEMA["commands"][command]["out"], SCHEMA, closed=True)
                self.assertEqual(wrong, [], command)

    def test_a_field_that_there_is_not_is_refused_in_every_object(self):
        for command in COMMANDS:
            opened = Lines(command=command, strict=True, **({"advise": True} if command == "plan" else {}))
            for line in lines.EXAMPLES[command]:
                for way in objects(SCHEMA["commands"][command]["in"], line):
                    changed = copy.deepcopy(line)
                    at(changed, way)["no_such_field"] = 1
                    with self.assertRaisesRegex(ValueError, "no_such_field", msg=(command, way)):
                        opened.answer(changed)

    def test_answers_have_the_warnings_of_the_line(self):
        for command, options in [*((command, {}) for command in COMMANDS), ("allot", {"relax": True})]:
            line = {**lines.EXAMPLES[command][0], "no_such_field": 1}
            with warnings.catch_warnings(record=True) as caught:
                warnings.simplefilter("always")
                answer = Lines(command=command, **options).answer(line)
            self.assertTrue(any("no_such_field" in str(warning.message) for warning in caught), command)
            self.assertTrue(any("no_such_field" in sentence for sentence in answer["warnings"]), command)
            wrong = json_schema.errors(answer, SCHEMA["commands"][command]["out"], SCHEMA, closed=True)
            self.assertEqual(wrong, [], command)

    def test_every_option_of_the_schema_is_one_and_others_are_refused(self):
        with tempfile.TemporaryDirectory() as folder:
            values = {"boolean": True, "string": os.path.join(folder, "file"), "object": {}}
            for command in COMMANDS:
                of = json_schema.resolved(SCHEMA["commands"][command]["options"], SCHEMA)
                for name, schema in of["properties"].items():
                    given = schema.get("enum") or [values[json_schema.types_of(schema)[0]]] if name != "command" else []
                    for value in given:
                        Lines(command=command, **{name: value})
                        self.assertEqual(json_schema.errors({"command": command, name: value}, of, SCHEMA), [])
                    with self.assertRaises(ValueError, msg=name):
                        Lines(**{"command": command, name: ["no option"]})
                with self.assertRaisesRegex(ValueError, "no_such_option"):
                    Lines(command=command, no_such_option=1)
        with self.assertRaisesRegex(ValueError, "no_such_policy"):
            Lines(command="plan", policy="no_such_policy")

    def test_a_snapshot_of_kubernetes_is_a_line_of_the_schema(self):
        with open(ROOT / "docs" / "kubernetes.json", encoding="utf-8") as objects:
            line = subprocess.run([sys.executable, "-m", "goodput.kubernetes"], stdin=objects, check=True, capture_output=True,
                                  text=True).stdout
        self.assertEqual(json_schema.errors(json.loads(line), SCHEMA["commands"]["plan"]["in"], SCHEMA, closed=True), [])

    def test_an_agent_reports_and_is_told_what_the_schema_says(self):
        chance, kinds, seen = random.Random(1), SCHEMA["commands"]["agent"], set()
        for sync_s in (-1, 0.01):
            agent, now = goodput.Agent(parameters=4, initial_batch=8, max_batch=64, max_atomic_batch=32), 0.0
            agent.hold("cpu", 1)
            for _ in range(60):
                agent.begin_step(now)
                for _ in range(agent.state.accumulation + 1):
                    agent.add([chance.gauss(1, 1) for _ in range(4)])
                now += 0.1
                agent.end_step(now, sync_s)
                agent.add_gpu_utilisation(chance.random())
                if text := agent.report():
                    self.assertEqual(json_schema.errors(json.loads(text), kinds["out"], SCHEMA), [], text)
                    seen |= set(json.loads(text))
            told = {"local_batch": 16, "accumulation": 1}
            self.assertEqual(json_schema.errors(told, kinds["in"], SCHEMA), [])
            self.assertTrue(agent.adopt_text(json.dumps(told)))
            for wrong in ({"local_batch": 0}, {"local_batch": 1.5}, {"local_batch": 1 << 31}, {"accumulation": 1},
                          {"local_batch": 16, "accumulation": -1}):
                self.assertNotEqual(json_schema.errors(wrong, kinds["in"], SCHEMA), [])
                with self.assertRaises(ValueError, msg=wrong):
                    agent.adopt_text(json.dumps(wrong))
        fields = set(json_schema.resolved(kinds["out"], SCHEMA)["properties"])
        self.assertEqual(fields - seen - {"iteration_s"}, set())  # whole iterations need accumulation


if __name__ == "__main__":
    unittest.main()
