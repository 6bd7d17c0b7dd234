#!/usr/bin/env python3
"""json_schema.py finds every kind of planted error, and agrees with the package jsonschema if that is available.

    validator_test.py GOODPUT.SCHEMA.JSON
"""

import json
import re
import sys
import unittest

import json_schema

try:
    import jsonschema
except ImportError:
    jsonschema = None

with open(sys.argv.pop(1), encoding="utf-8") as file:
    SCHEMA = json.load(file)

GOOD_AND_BAD = [
    ({"type": "string"}, ["", "a"], [1, None, True, [], {}]),
    ({"type": "number"}, [1, 1.5, -1e300], ["1", None, True, False]),
    ({"type": "integer"}, [1, 4.0, -2], [4.5, "4", True]),
    ({"type": "boolean"}, [True, False], [0, 1, "true", None]),
    ({"type": ["number", "null"]}, [1, None], ["", False]),
    ({"minimum": 0}, [0, 1, "text", True], [-1, -1e-300]),
    ({"maximum": 2}, [2, -1], [3, 2.0001]),
    ({"exclusiveMinimum": 0}, [1e-300], [0, -1]),
    ({"exclusiveMaximum": 1}, [0.999], [1, 2]),
    ({"enum": ["a", None, 1]}, ["a", None, 1], ["b", 0, True]),
    ({"const": False}, [False], [True, 0, None]),
    ({"const": 0}, [0, 0.0], [False, 1]),
    ({"minLength": 1}, ["a", 1], [""]),
    ({"type": "array", "minItems": 1, "maxItems": 2}, [[1], [1, 2]], [[], [1, 2, 3]]),
    ({"items": {"type": "integer"}}, [[], [1, 2]], [[1, "a"], ["a"]]),
    ({"prefixItems": [{"type": "string"}, {"type": "integer"}], "items": False, "minItems": 2}, [["a", 1]],
     [["a"], ["a", 1, 2], [1, "a"]]),
    ({"prefixItems": [{"type": "string"}], "items": {"type": "integer"}}, [["a", 1, 2], []], [["a", "b"], [1]]),
    ({"required": ["a"]}, [{"a": None}, []], [{}, {"b": 1}]),
    ({"properties": {"a": {"type": "string"}}}, [{"a": ""}, {"b": 1}], [{"a": 1}]),
    ({"properties": {"a": {}}, "additionalProperties": False}, [{"a": 1}, {}], [{"b": 1}, {"a": 1, "b": 1}]),
    ({"additionalProperties": {"type": "integer"}}, [{"a": 1}], [{"a": "b"}]),
    ({"anyOf": [{"type": "string"}, {"minimum": 5}]}, ["a", 5], [4]),
    ({"oneOf": [{"type": "integer"}, {"minimum": 5}]}, [4, 5.5], [5, 4.5]),
    ({"$ref": "#/$defs/Gradient"}, [{"sqr": 0, "var": 1, "more": 2}], [{"sqr": 0}, {"sqr": -1, "var": 1}, {}, 3]),
    ({"$ref": "#/$defs/Gradient", "minimum": 0}, [{"sqr": 0, "var": 1}], [{}]),
]


class Validator(unittest.TestCase):
    def test_every_keyword_passes_what_is_good_and_finds_what_is_bad(self):
        for schema, good, bad in GOOD_AND_BAD:
            for value in good:
                self.assertEqual(json_schema.errors(value, schema, SCHEMA), [], (schema, value))
            for value in bad:
                self.assertNotEqual(json_schema.errors(value, schema, SCHEMA), [], (schema, value))
        used = {keyword for schema, _, _ in GOOD_AND_BAD for keyword in schema}
        self.assertEqual(json_schema.ALONE - used, set())

    @unittest.skipUnless(jsonschema, "there is no package jsonschema")
    def test_the_package_jsonschema_says_the_same(self):
        for schema, good, bad in GOOD_AND_BAD:
            validator = jsonschema.Draft202012Validator({**schema, "$defs": SCHEMA["$defs"]})
            for value in good:
                self.assertTrue(validator.is_valid(value), (schema, value))
            for value in bad:
                self.assertFalse(validator.is_valid(value), (schema, value))
        jsonschema.Draft202012Validator.check_schema(SCHEMA)

    def test_errors_say_the_place(self):
        line = {"time_s": 0, "nodes": [], "jobs": [{"name": "a", "submitted_s": 0, "gpus": [1, 0], "batch": {"initial": 1}}]}
        self.assertEqual(json_schema.errors(line, {"$ref": "#/$defs/Round"}, SCHEMA),
                         [".jobs[0].gpus[1]: 0 is below 1", ".jobs[0].batch: local is missing"])

    def test_closed_finds_unknown_fields_where_the_schema_lets_them_pass(self):
        gradient = {"sqr": 0, "var": 1, "more": 2}
        self.assertEqual(json_schema.errors(gradient, {"$ref": "#/$defs/Gradient"}, SCHEMA, closed=True),
                         ["the document: there is no field more"])

    def test_numbers_that_are_not_finite_are_none(self):
        for value in (float("inf"), float("nan")):
            for name in ("number", "integer"):
                self.assertNotEqual(json_schema.errors(value, {"type": name}, SCHEMA), [])

    def test_schemas_with_unknown_keywords_references_and_types_are_refused(self):
        for schema in ({"pattern": "a"}, {"properties": {"a": {"multipleOf": 2}}}, {"items": {"$ref": "#/$defs/Nothing"}},
                       {"$ref": "elsewhere.json"}, {"type": "float"}, {"anyOf": [{"type": ["int"]}]},
                       {"properties": {"a": {}}, "required": ["b"]}):
            with self.assertRaises(ValueError, msg=schema):
                json_schema.check(schema, SCHEMA)


class Schema(unittest.TestCase):
    """Checks what docs/goodput.schema.json promises about itself."""

    def described(self, name, of):
        for field, schema in of.get("properties", {}).items():
            yield f"{name}.{field}", field, schema

    def test_every_keyword_is_known_and_everything_is_described(self):
        json_schema.check(SCHEMA)
        for name, of in SCHEMA["$defs"].items():
            self.assertTrue(of.get("description", "").endswith("."), name)
            for place, _, schema in self.described(name, of):
                self.assertRegex(schema.get("description", ""), r"^.{10,}\.$", place)

    def test_times_memory_and_prices_say_their_unit(self):
        units = {"_s": "econds|Time |per second", "_ms": "Milliseconds", "milliseconds": "Milliseconds", "_gib": "GiB",
                 "memory_gib_per_gpu": "GiB", "_h": "per hour", "cores": "CPU cores", "usd": "ollars"}
        for name, of in SCHEMA["$defs"].items():
            for place, field, schema in self.described(name, of):
                for end, unit in units.items():
                    if field.endswith(end):
                        self.assertRegex(schema["description"], unit, place)

    def test_optional_fields_say_what_a_missing_value_means_and_defaults_are_in_words(self):
        for name, of in SCHEMA["$defs"].items():
            for place, field, schema in self.described(name, of):
                if field not in of.get("required", ()):
                    self.assertRegex(schema["description"], "missing|always", place)
                if "default" in schema:
                    words = json.dumps(schema["default"])
                    self.assertRegex(schema["description"], rf"if missing, {re.escape(words)}\.$", place)


if __name__ == "__main__":
    unittest.main()
