#!/usr/bin/env python3
"""Every list of fields that a reader of the program or of the C interface knows equals the properties of one object
of lines or options in docs/goodput.schema.json, and every such object has a reader.

    readers_test.py GOODPUT.SCHEMA.JSON FOLDER_OF_SOURCES...
"""

import json
import pathlib
import re
import sys
import unittest

import lines

SCHEMA = json.loads(pathlib.Path(sys.argv[1]).read_text(encoding="utf-8"))
FOLDERS = [pathlib.Path(folder) for folder in sys.argv[2:]]
del sys.argv[1:]


def known_lists(text):
    """Yields the fields of every call of knows() in a source."""
    for call in re.finditer(r"\bknows\(\s*\{(.*?)\}\s*\)", text, re.DOTALL):
        yield frozenset(re.findall(r'"(\w+)"', call[1]))


def drift(read, described):
    """Returns sentences about differences between lists of fields (by place in the sources) and properties (by name
    of the object). Several readers may read the same object."""
    sentences, left = [], dict(described)
    for place, fields in sorted(read.items(), key=lambda of: of[1] not in described.values()):
        objects = described if fields in described.values() else left or described
        name = max(objects, key=lambda one: len(fields & objects[one]) / len(fields | objects[one]))
        properties = objects[name]
        left.pop(name, None)
        sentences += [f"{place}: field {field} is missing in {name} of the schema" for field in sorted(fields - properties)]
        sentences += [f"{name}.{field} of the schema: {place} does not know it" for field in sorted(properties - fields)]
    return sentences + [f"{name} of the schema: no reader knows its fields" for name in left]


class Readers(unittest.TestCase):
    def test_every_reader_knows_the_fields_of_one_object_of_the_schema(self):
        read = {}
        for folder in FOLDERS:
            for path in sorted(folder.rglob("*.[ch]pp")):
                for index, fields in enumerate(known_lists(path.read_text(encoding="utf-8"))):
                    read[f"{path.name}, list {index + 1}"] = fields
        described = {name: frozenset(of["properties"]) for direction in ("in", "options")
                     for name, of in lines.objects_in(SCHEMA, direction).items()}
        self.assertGreater(len(read), 20)
        self.assertEqual(drift(read, described), [])

    def test_planted_drift_is_named(self):
        source = 'line.knows({"a", "b",\n "c"}); job.knows(\n    {"name"}); other.knows({"x"});'
        read = {str(index): fields for index, fields in enumerate(known_lists(source))}
        self.assertEqual(list(read.values()), [{"a", "b", "c"}, {"name"}, {"x"}])
        described = {"Line": {"a", "b", "c"}, "Job": {"name"}, "Other": {"x"}}
        self.assertEqual(drift(read, described), [])
        self.assertEqual(drift(read, {**described, "Line": {"a", "b", "d"}}),
                         ["0: field c is missing in Line of the schema", "Line.d of the schema: 0 does not know it"])
        self.assertEqual(drift(read, {**described, "More": {"y"}}), ["More of the schema: no reader knows its fields"])
        self.assertEqual(drift({**read, "again": {"x"}}, described), [])
        self.assertEqual(drift({**read, "again": {"name", "z"}}, described),
                         ["again: field z is missing in Job of the schema"])

    def test_objects_of_lines_let_unknown_fields_pass_and_those_of_answers_do_not(self):
        read, written, options = (lines.objects_in(SCHEMA, direction, lines.COMMANDS | {"agent"})
                                  for direction in ("in", "out", "options"))
        for name, of in SCHEMA["$defs"].items():
            self.assertIs(of["additionalProperties"], name in read, name)
            self.assertTrue(name in read or name in written or name in options, name)


if __name__ == "__main__":
    unittest.main()
