#!/usr/bin/env python3
"""With --strict, the program accepts what docs/goodput.schema.json allows and refuses the rest: every bound, type,
choice, length, required field and missing value of every field in a line. Each change is made in every example line
(lines.json) that has the field. What the schema forbids must be refused in all of them, or in one if the program does
not read the field in every line. What it allows must be accepted in one of them, since fields also limit one another.
Writing out a default changes no answer.

    ranges_test.py PROGRAM GOODPUT.SCHEMA.JSON
"""

import copy
import json
import math
import pathlib
import sys
import tempfile
import unittest

import json_schema
import lines

GONE = object()
READ_IN_SOME_LINES = {"ShareJob.entity", "ParallelQuestion.global_batch", "ParallelQuestion.objective"}
OF_ANOTHER_TYPE = {"string": 7, "number": "7", "integer": "7", "boolean": 0, "object": [], "array": {}}


def next_after(number, towards):
    """Returns the next number; Python 3.8 has no math.nextafter."""
    step = abs(number) * sys.float_info.epsilon / 2 or 5e-324
    return number + math.copysign(max(step, 5e-324), towards - number)


def trials(schema, value):
    """Yields changes of a value under its own schema: (new value, in words)."""
    whole = "integer" in json_schema.types_of(schema)
    for keyword, inside, sign in (("minimum", True, -1), ("maximum", True, 1), ("exclusiveMinimum", False, -1),
                                  ("exclusiveMaximum", False, 1)):
        if keyword in schema:
            bound = schema[keyword]
            beyond = bound + sign if whole else next_after(bound, math.copysign(math.inf, sign))
            yield (beyond if inside else bound), f"beyond {keyword}"
            yield (bound if inside else next_after(bound, -math.copysign(math.inf, sign))), f"at {keyword}"
    if whole:
        yield 1.5, "no integer"
    for name in json_schema.types_of(schema):
        if name != "null" and not (name == "integer" and isinstance(value, dict)):
            yield OF_ANOTHER_TYPE[name], "another type"
    for choice in schema.get("enum", ()):
        yield choice, f"choice {choice}"
    if "enum" in schema:
        yield "no such choice", "no choice"
    if schema.get("minLength"):
        yield "", "empty"
    if isinstance(value, list) and schema.get("minItems"):
        yield value[:schema["minItems"] - 1], "too short"
    if isinstance(value, list) and schema.get("items") is False:
        yield value + value[-1:], "too long"
    if isinstance(value, list) and "maxItems" in schema:
        yield (value * schema["maxItems"])[:schema["maxItems"]], "at maxItems"
        yield (value * schema["maxItems"])[:schema["maxItems"] + 1], "beyond maxItems"


class Changes:
    """Makes all changes of an example line."""

    def __init__(self, schema, of, line):
        self.schema, self.of, self.line = schema, of, line
        self.made = []  # (name of the change, allowed, changed line)
        self.visit(of, line, "")

    def change(self, way, value, name, known=True):
        changed = copy.deepcopy(self.line)
        at = changed
        for step in way[:-1]:
            at = at[step]
        if value is GONE:
            del at[way[-1]]
        else:
            at[way[-1]] = value
        self.made.append((name, known and not json_schema.errors(changed, self.of, self.schema), changed))

    def visit(self, schema, value, name, way=()):
        while True:
            if "$ref" in schema:
                name = schema["$ref"].rpartition("/")[2]
            forms = schema.get("anyOf", ())
            schema = json_schema.resolved(schema, self.schema)
            if "properties" in schema or not forms:
                break
            schema = next(form for form in forms if not json_schema.errors(value, form, self.schema))
        if way:
            for new, words in trials(schema, value):
                self.change(way, new, f"{name}: {words}")
        if isinstance(value, list):
            first = schema.get("prefixItems", ())
            for index, element in enumerate(value):
                if index < len(first):
                    self.visit(first[index], element, f"{name}[{index}]", (*way, index))
                elif isinstance(schema.get("items"), dict):
                    self.visit(schema["items"], element, f"{name}[]", (*way, index))
        if isinstance(value, dict) and "properties" in schema:
            self.change((*way, "no_such_field"), 1, f"{name}: unknown field", known=False)
            for field, of in schema["properties"].items():
                place = f"{name}.{field}"
                self.change((*way, field), None, f"{place}: null")
                if "default" in of:
                    self.change((*way, field), of["default"], f"{place}: default")
                if field in value:
                    self.change((*way, field), GONE, f"{place}: missing")
                    if value[field] is not None:
                        self.visit(of, value[field], place, (*way, field))
        elif isinstance(value, dict):
            for key, element in value.items():
                self.visit(schema["additionalProperties"], element, f"{name}{{}}", (*way, key))


def untimed(answer):
    """Returns an answer without what differs from run to run."""
    if isinstance(answer, dict):
        return {name: untimed(value) for name, value in answer.items() if name != "milliseconds"}
    return [untimed(value) for value in answer] if isinstance(answer, list) else answer


class Ranges(unittest.TestCase):
    maxDiff = None

    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        lines.write_profiles(cls.folder.name)

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    def answers(self, command, documents):
        options = {"plan": ["--advise"], "parallel": ["--profiles", self.folder.name]}.get(command, [])
        return lines.ask(PROGRAM, command, documents, "--strict", *options)

    def refused(self, command, documents):
        return [answer.get("error") for answer in self.answers(command, documents)]

    def examples(self, command):
        return {"$ref": SCHEMA["commands"][command]["in"]["$ref"]}, lines.EXAMPLES[command]

    def test_example_lines_have_every_field_and_are_taken(self):
        seen = set()
        for command in sorted(lines.COMMANDS):
            schema, examples = self.examples(command)
            for line in examples:
                self.assertEqual(json_schema.errors(line, schema, SCHEMA, closed=True), [], command)
                seen |= {name.partition(": ")[0] for name, _, _ in Changes(SCHEMA, schema, line).made
                         if name.endswith(": missing")}
            self.assertEqual(self.refused(command, examples), [None] * len(examples), command)
        fields = {f"{name}.{field}" for name, of in lines.objects_in(SCHEMA).items() for field in of["properties"]}
        self.assertEqual(fields - seen, set())

    def test_the_program_takes_what_the_schema_allows_and_refuses_what_it_forbids(self):
        for command in sorted(lines.COMMANDS):
            allowed, forbidden = {}, {}  # by name of the change: what the program says to each line
            schema, examples = self.examples(command)
            for line in examples:
                made = Changes(SCHEMA, schema, line).made
                for (name, may, _), why in zip(made, self.refused(command, [changed for _, _, changed in made])):
                    (allowed if may else forbidden).setdefault(name, []).append(why)
            taken = [name for name, whys in forbidden.items()
                     if None in whys and (name.partition(": ")[0] not in READ_IN_SOME_LINES or set(whys) == {None})]
            with self.subTest(command):
                self.assertGreater(len(allowed), 10)
                self.assertEqual({name: whys for name, whys in allowed.items() if None not in whys}, {}, "refused")
                self.assertEqual(taken, [], "taken")

    def test_a_default_that_is_written_out_changes_no_answer(self):
        found = set()
        for command in sorted(lines.COMMANDS):
            schema, examples = self.examples(command)
            made = [change for line in examples for change in Changes(SCHEMA, schema, line).made]
            written = [index for index, (name, _, _) in enumerate(made) if name.endswith(": default")]
            for index, with_it, without in zip(written, self.answers(command, [made[index][2] for index in written]),
                                               self.answers(command, [made[index - 1][2] for index in written])):
                self.assertEqual(untimed(with_it), untimed(without), made[index][0])
                found.add(made[index][0].partition(": ")[0])
        self.assertEqual(found, {f"{name}.{field}" for name, of in lines.objects_in(SCHEMA).items()
                                 for field, schema in of["properties"].items() if "default" in schema})


if __name__ == "__main__":
    PROGRAM = sys.argv[1]
    SCHEMA = json.loads(pathlib.Path(sys.argv[2]).read_text(encoding="utf-8"))
    del sys.argv[1:3]
    unittest.main()
