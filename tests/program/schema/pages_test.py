#!/usr/bin/env python3
"""docs/program.md names every field of lines and answers where it describes their command, and every option of
--help. docs/goodput.1 names every field of lines, and every option. The schema has the choices of --help.

    pages_test.py PROGRAM SOURCE_FOLDER
"""

import json
import pathlib
import re
import subprocess
import sys
import unittest

import lines

# Objects that program.md describes under another command, where their fields are those of a line.
ELSEWHERE = {"plan": {"Measured": "fit", "Proof": "allot"}}


def section(page, heading):
    """Returns a page's text from a heading to the next one of the same level."""
    return re.search(rf"^## {heading}\n(.*?)(?=^## |\Z)", page, re.MULTILINE | re.DOTALL)[1]


def code_words(text):
    """Returns the words in backticks and in blocks of code."""
    blocks = re.findall(r"^```.*?^```", text, re.MULTILINE | re.DOTALL)
    spans = re.findall(r"`([^`\n]+)`", re.sub(r"^```.*?^```", "", text, flags=re.MULTILINE | re.DOTALL))
    return set(re.findall(r"\w+", " ".join(blocks + spans)))


def unnamed(schema, page, direction):
    """Yields fields of the schema that the page names neither where it describes their command nor where it
    describes all lines. In the latter place, the table of warnings does not count."""
    of_all = code_words(section(page, "Lines") + section(page, "Warnings").partition("\n|")[0])
    words = {command: of_all | code_words(section(page, f"goodput {command}")) for command in lines.COMMANDS}
    for command in sorted(lines.COMMANDS):
        for name, of in lines.objects_in(schema, direction, {command}).items():
            where = ELSEWHERE.get(command, {}).get(name, command)
            if name == "Refusal":
                continue
            for field in of["properties"]:
                if field not in words[where]:
                    yield f"goodput {command}: {name}.{field}"


def options_of(program, command):
    """Returns the long options that --help of a command lists."""
    text = subprocess.run([program, command, "--help"], capture_output=True, text=True, check=True).stdout
    return [name for name in re.findall(r"^  (?:-\w,)?(--[\w-]+)", text, re.MULTILINE) if name != "--help"]


def choices_of(program, command, words):
    """Returns the names that --help of a command lists after some words."""
    text = " ".join(subprocess.run([program, command, "--help"], capture_output=True, text=True, check=True).stdout.split())
    return re.search(words + r"((?:[\w-]+, )+[\w-]+)", text)[1].split(", ")


def named_in_manual(page, command):
    """Returns the bold words that begin entries of a man page under a command, with the object that they belong to."""
    text = re.search(rf"^\.SH GOODPUT {command.upper()}\n(.*?)(?=^\.SH |\Z)", page, re.MULTILINE | re.DOTALL)[1]
    named, of = set(), "Options"
    for line in text.replace("\\-", "-").split("\n"):
        of = line[4:] if line.startswith(".SS ") else of
        named |= {f"{of}.{word}" for word in re.findall(r"\\fB([\w-]+)\\fR", line)}
    return named


class Pages(unittest.TestCase):
    def test_program_md_names_every_field_of_the_schema(self):
        for direction in ("in", "out"):
            self.assertEqual(list(unnamed(SCHEMA, PAGE, direction)), [])

    def test_a_field_that_the_page_does_not_name_is_found(self):
        planted = json.loads(json.dumps(SCHEMA))
        planted["$defs"]["Node"]["properties"]["never_named"] = {}
        planted["$defs"]["Shares"]["properties"]["nor_this"] = {}
        self.assertEqual(list(unnamed(planted, PAGE, "in")), ["goodput plan: Node.never_named"])
        self.assertEqual(list(unnamed(planted, PAGE, "out")), ["goodput share: Shares.nor_this"])

    def test_the_pages_name_every_option(self):
        for command in sorted(lines.COMMANDS):
            options = options_of(PROGRAM, command)
            self.assertIn("--strict", options)
            words = set(re.findall(r"--[\w-]+", PAGE))
            self.assertEqual([option for option in options if option not in words], [], command)
            self.assertEqual({f"Options.{option}" for option in options} - named_in_manual(MANUAL, command), set(), command)

    def test_the_schema_has_the_choices_that_help_lists(self):
        for command, words, name, field in (("share", "Objectives: ", "ShareProblem", "objective"),
                                            ("plan", "One of ", "PlanOptions", "policy")):
            choices = SCHEMA["$defs"][name]["properties"][field]["enum"]
            self.assertEqual(choices_of(PROGRAM, command, words), [choice for choice in choices if choice])

    def test_the_man_page_names_every_field_of_a_line(self):
        named = set().union(*(named_in_manual(MANUAL, command) for command in lines.COMMANDS))
        for name, of in lines.objects_in(SCHEMA).items():
            self.assertEqual({f"{name}.{field}" for field in of["properties"]} - named, set())


if __name__ == "__main__":
    PROGRAM, ROOT = sys.argv[1], pathlib.Path(sys.argv[2])
    SCHEMA = json.loads((ROOT / "docs" / "goodput.schema.json").read_text(encoding="utf-8"))
    PAGE = (ROOT / "docs" / "program.md").read_text(encoding="utf-8")
    MANUAL = (ROOT / "docs" / "goodput.1").read_text(encoding="utf-8")
    del sys.argv[1:3]
    unittest.main()
