#!/usr/bin/env python3
"""Writes goodput/documents.py, the types of lines and answers, from docs/goodput.schema.json.

    python/make_documents.py            writes it
    python/make_documents.py --check    fails if it is not up to date
"""

import json
import keyword
import pathlib
import sys
import textwrap

HERE = pathlib.Path(__file__).resolve().parent
SCHEMA = HERE.parent / "docs" / "goodput.schema.json"
TARGET = HERE / "goodput" / "documents.py"
COLUMNS = 120

HEAD = '''"""Lines and answers of the program as types for checkers and editors: ordinary dictionaries with the fields of the
JSON. help(documents.Job) shows every field with its meaning, unit, range and default.

python/make_documents.py writes this file from docs/goodput.schema.json. Change that file instead.

{commands}
"""

from __future__ import annotations

from typing import Dict, List, Literal, Mapping, Optional, Sequence, TypedDict, Union
'''


def name_of(schema):
    return schema["$ref"].rpartition("/")[2]


def inside(schema):
    """The schemas right inside a schema."""
    for field in ("properties", "prefixItems", "anyOf"):
        parts = schema.get(field, ())
        yield from parts.values() if isinstance(parts, dict) else parts
    for field in ("items", "additionalProperties"):
        if isinstance(schema.get(field), dict):
            yield schema[field]


def names_in_lines(document):
    """The definitions that lines in and options contain: what a caller makes himself."""
    found, waiting = set(), [command[made] for command in document["commands"].values() for made in ("in", "options")
                             if made in command]
    while waiting:
        schema = waiting.pop()
        if "$ref" in schema:
            if name_of(schema) in found:
                continue
            found.add(name_of(schema))
            waiting.append(document["$defs"][name_of(schema)])
        waiting.extend(inside(schema))
    return found


def joined(types):
    """One type for several; None among them makes it optional."""
    types = list(dict.fromkeys(types))
    if "float" in types and "int" in types:
        types.remove("int")
    some = [one for one in types if one != "None"]
    if not some:
        return "None"
    text = some[0] if len(some) == 1 else f"Union[{', '.join(some)}]"
    return f"Optional[{text}]" if "None" in types else text


def type_of(schema, given):
    """The Python type of a schema; `given`: by the caller, who may use any sequence and mapping."""
    if "$ref" in schema:
        return name_of(schema)
    if "anyOf" in schema:
        return joined(type_of(one, given) for one in schema["anyOf"])
    if "const" in schema:
        return f"Literal[{schema['const']!r}]"
    if "enum" in schema:
        choices = "Literal[" + ", ".join(json.dumps(one) for one in schema["enum"] if one is not None) + "]"
        return joined([choices, *(["None"] if None in schema["enum"] else [])])
    types = schema["type"] if isinstance(schema["type"], list) else [schema["type"]]
    return joined(plain_type(name, schema, given) for name in types)


def plain_type(name, schema, given):
    if name == "array":
        elements = [*schema.get("prefixItems", ()), *([schema["items"]] if schema.get("items") else [])]
        return f"{'Sequence' if given else 'List'}[{joined(type_of(one, given) for one in elements)}]"
    if name == "object":
        return f"{'Mapping' if given else 'Dict'}[str, {type_of(schema['additionalProperties'], given)}]"
    return {"integer": "int", "number": "float", "boolean": "bool", "string": "str", "null": "None"}[name]


def range_of(schema):
    """The numbers that a field may have, in words; empty if there is no limit."""
    least, above, most = (schema.get(key) for key in ("minimum", "exclusiveMinimum", "maximum"))
    if least is not None and most is not None:
        return f"{number(least)} to {number(most)}"
    if above is not None:
        return f"above {number(above)}"
    return f"at least {number(least)}" if least is not None else f"at most {number(most)}" if most is not None else ""


def number(value):
    return str(value) if isinstance(value, int) else f"{value:g}".replace("e+", "e")


def doc_string(schema, indent="    "):
    lines = textwrap.wrap(schema["description"], COLUMNS - 8, initial_indent=indent + '"""', subsequent_indent=indent) + [""]
    for field, of in schema["properties"].items():
        said = ", ".join(filter(None, ["required" if field in schema.get("required", ()) else "", range_of(of)]))
        lines += textwrap.wrap(f"{field}{f' ({said})' if said else ''}: {of['description']}", COLUMNS, initial_indent=indent,
                               subsequent_indent=indent + "    ")
    text = "\n".join(lines).replace("\\", "\\\\")
    return f'{text}\n{indent}"""'


def class_of(name, schema, given):
    """The class of an object. Fields whose names are Python's own words need the other notation; required ones a base."""
    required = schema.get("required", ())
    fields = {field: type_of(of, given) for field, of in schema["properties"].items()}
    own = {field: text for field, text in fields.items() if keyword.iskeyword(field)}
    if any(field in required for field in own):
        raise ValueError(f"{name}: a required field is a word of Python")
    needed = [field for field in fields if field in required]
    optional = [field for field in fields if field not in required and field not in own]
    bases, text = [], ""
    if needed and (optional or own):
        text += f"\n\nclass _{name}Required(TypedDict):\n{members(fields, needed)}"
        bases.append(f"_{name}Required")
    if own:
        pairs = ", ".join(f'"{field}": {type_text!r}'.replace("'", '"') for field, type_text in own.items())
        text += f'\n\n_{name}Words = TypedDict("_{name}Words", {{{pairs}}}, total=False)\n'
        bases.append(f"_{name}Words")
    last = optional if bases else needed or optional
    total = ", total=False" if last is not needed else ""
    text += f"\n\nclass {name}({', '.join(bases) or 'TypedDict'}{total}):\n{doc_string(schema)}\n"
    return text + members(fields, last)


def members(fields, names):
    return "".join("\n".join(textwrap.wrap(f"{name}: {fields[name]}", COLUMNS, initial_indent="    ", subsequent_indent=" " * 8))
                   + "\n" for name in names)


def documents(document):
    """The text of documents.py."""
    def names(schema):
        return " or ".join(name_of(one) for one in schema.get("anyOf", [schema]) if one)

    commands = "\n".join(f"    {name:<10} {names(command.get('options', {})):<14} {names(command['in']):<18} "
                         f"{names(command['out'])}" for name, command in document["commands"].items())
    given = names_in_lines(document)
    head = HEAD.format(commands=f"    {'command':<10} {'options':<14} {'line in':<18} answer\n{commands}")
    return head + "".join(class_of(name, of, name in given) for name, of in document["$defs"].items())


def main():
    with open(SCHEMA, encoding="utf-8") as file:
        text = documents(json.load(file))
    if sys.argv[1:] != ["--check"]:
        TARGET.write_text(text, encoding="utf-8")
    elif TARGET.read_text(encoding="utf-8") != text:
        sys.exit(f"{TARGET} is not what {pathlib.Path(__file__).name} writes: run it")


if __name__ == "__main__":
    main()
