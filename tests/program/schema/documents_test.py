#!/usr/bin/env python3
"""goodput/documents.py is what make_documents.py writes from docs/goodput.schema.json. Its types have the fields of
the schema, required or not, with the types of the JSON, and help() explains each.

    documents_test.py SOURCE_FOLDER
"""

import importlib.util
import json
import pathlib
import pydoc
import sys
import typing
import unittest

ROOT = pathlib.Path(sys.argv.pop(1))
SCHEMA = json.loads((ROOT / "docs" / "goodput.schema.json").read_text(encoding="utf-8"))


def module(*path):
    spec = importlib.util.spec_from_file_location(path[-1], ROOT.joinpath("python", *path).with_suffix(".py"))
    made = importlib.util.module_from_spec(spec)
    sys.modules[path[-1]] = made
    spec.loader.exec_module(made)
    return made


documents, maker = module("goodput", "documents"), module("make_documents")


class Documents(unittest.TestCase):
    maxDiff = None

    def test_the_file_is_what_the_script_writes(self):
        text = (ROOT / "python" / "goodput" / "documents.py").read_text(encoding="utf-8")
        self.assertTrue(text == maker.documents(SCHEMA), "run python/make_documents.py")

    def test_every_object_is_a_type_with_its_fields(self):
        for name, of in SCHEMA["$defs"].items():
            kind = getattr(documents, name)
            hints = typing.get_type_hints(kind)
            self.assertEqual(set(hints), set(of["properties"]), name)
            if sys.version_info >= (3, 9):  # earlier versions ignored base classes
                self.assertEqual(kind.__required_keys__, frozenset(of.get("required", ())), name)

    def test_help_says_what_a_field_means_with_unit_and_range(self):
        text = " ".join(pydoc.render_doc(documents.Job, renderer=pydoc.plaintext).replace("|", " ").split())
        for words in ("restart_cost_s (at least 0): Seconds that one more restart or move costs; if missing, estimated from restart_s "
                      "and checkpoint_gib.",
                      "attained_gpu_s (at least 0): GPU-seconds", "weight (1e-09 to 1e+09)", "name (required): ",
                      "with: Name of the job that has the GPUs of placement"):
            self.assertIn(words.replace("e+", "e"), text)
        for name, of in SCHEMA["$defs"].items():
            doc = " ".join(getattr(documents, name).__doc__.split())
            for field in [of, *of["properties"].values()]:
                self.assertIn(" ".join(field["description"].split()), doc, name)

    def test_types_are_those_of_the_json(self):
        for schema, given, text in (
                ({"type": ["number", "null"]}, True, "Optional[float]"),
                ({"enum": ["a", None]}, True, 'Optional[Literal["a"]]'),
                ({"const": False}, False, "Literal[False]"),
                ({"type": "array", "prefixItems": [{"type": "string"}, {"type": "integer"}], "items": False}, True,
                 "Sequence[Union[str, int]]"),
                ({"type": "array", "prefixItems": [{"type": "number"}, {"type": "integer"}], "items": False}, False, "List[float]"),
                ({"type": "object", "additionalProperties": {"$ref": "#/$defs/Team"}}, True, "Mapping[str, Team]"),
                ({"type": "object", "additionalProperties": {"type": "boolean"}}, False, "Dict[str, bool]"),
                ({"anyOf": [{"type": ["integer", "null"]}, {"type": "object", "additionalProperties": {"type": "integer"}}]}, True,
                 "Union[Optional[int], Mapping[str, int]]")):
            self.assertEqual(maker.type_of(schema, given), text)

    def test_a_changed_schema_changes_the_file(self):
        planted = json.loads(json.dumps(SCHEMA))
        planted["$defs"]["Node"]["properties"]["watts"] = {"type": "number", "minimum": 0, "description": "Watts of the node."}
        text = maker.documents(planted)
        self.assertIn("    watts (at least 0): Watts of the node.\n", text)
        self.assertIn("    watts: float\n", text)
        planted["$defs"]["Node"]["required"].append("class")
        planted["$defs"]["Node"]["properties"]["class"] = {"type": "string", "description": "A word of Python."}
        with self.assertRaisesRegex(ValueError, "Node: a required field is a word of Python"):
            maker.documents(planted)


if __name__ == "__main__":
    unittest.main()
