"""The part of JSON Schema (draft 2020-12) that docs/goodput.schema.json uses, with the standard library alone.

errors(value, schema, root) returns sentences "PLACE: what is wrong"; check(root) refuses keywords that errors() does not
know, so that no limit of the file goes unread. With closed=True a field that no object describes is an error even
where additionalProperties is true, which is how answers are checked.
"""

import math

ANNOTATIONS = {"$schema", "$id", "$defs", "title", "description", "default", "commands"}
ALONE = {"type", "enum", "const", "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "minLength", "minItems",
         "maxItems", "required", "properties", "additionalProperties", "items", "prefixItems", "anyOf", "oneOf", "$ref"}


def is_number(value):
    return isinstance(value, (int, float)) and not isinstance(value, bool)


TYPES = {"object": lambda value: isinstance(value, dict), "array": lambda value: isinstance(value, list),
         "string": lambda value: isinstance(value, str), "boolean": lambda value: isinstance(value, bool),
         "null": lambda value: value is None, "number": lambda value: is_number(value) and math.isfinite(value),
         "integer": lambda value: is_number(value) and math.isfinite(value) and value == math.floor(value)}


def same(a, b):
    """Compares as JSON does: true is not 1."""
    return a == b and isinstance(a, bool) == isinstance(b, bool)


def resolved(schema, root):
    """Returns the schema that a reference names, merged with what stands next to the reference."""
    while isinstance(schema, dict) and "$ref" in schema:
        names = schema["$ref"].split("/")
        if names[:2] != ["#", "$defs"] or len(names) != 3:
            raise ValueError(f"reference {schema['$ref']}")
        schema = {**root["$defs"][names[2]], **{name: value for name, value in schema.items() if name != "$ref"}}
    return schema


def subschemas(schema):
    """Yields the schemas directly inside a schema, each with its path."""
    for name in ("properties", "$defs"):
        for key, inside in schema.get(name, {}).items():
            yield f"{name}.{key}", inside
    for name in ("prefixItems", "anyOf", "oneOf"):
        for index, inside in enumerate(schema.get(name, ())):
            yield f"{name}[{index}]", inside
    for name in ("items", "additionalProperties"):
        if isinstance(schema.get(name), dict):
            yield name, schema[name]


def check(schema, root=None, place="schema"):
    """Raises ValueError for an unknown keyword, a reference to nothing, and an unknown type."""
    root = schema if root is None else root
    for keyword in schema:
        if keyword not in ANNOTATIONS | ALONE:
            raise ValueError(f"{place}: keyword {keyword}")
    for name in types_of(schema):
        if name not in TYPES:
            raise ValueError(f"{place}: type {name}")
    for name in schema.get("required", ()):
        if "properties" in schema and name not in schema["properties"]:
            raise ValueError(f"{place}: required {name} is no property")
    try:
        resolved(schema, root)
    except KeyError as name:
        raise ValueError(f"{place}: no definition {name}") from None
    for way, inside in subschemas(schema):
        check(inside, root, f"{place}.{way}")


def types_of(schema):
    types = schema.get("type", [])
    return types if isinstance(types, list) else [types]


def errors(value, schema, root, place="", closed=False):
    """Returns what is wrong with a value, as a list of sentences."""
    schema, where = resolved(schema, root), place or "the document"
    found = []

    def inside(part, of, way):
        found.extend(errors(part, of, root, place + way, closed))

    if "type" in schema and not any(TYPES[name](value) for name in types_of(schema)):
        return [f"{where}: {value!r} is not of type {' or '.join(types_of(schema))}"]
    if "enum" in schema and not any(same(value, one) for one in schema["enum"]):
        found.append(f"{where}: {value!r} is none of {schema['enum']}")
    if "const" in schema and not same(value, schema["const"]):
        found.append(f"{where}: {value!r} is not {schema['const']!r}")
    if is_number(value):
        for keyword, holds, words in (("minimum", lambda limit: value >= limit, "below"),
                                      ("maximum", lambda limit: value <= limit, "above"),
                                      ("exclusiveMinimum", lambda limit: value > limit, "not above"),
                                      ("exclusiveMaximum", lambda limit: value < limit, "not below")):
            if keyword in schema and not holds(schema[keyword]):
                found.append(f"{where}: {value!r} is {words} {schema[keyword]!r}")
    if isinstance(value, str) and len(value) < schema.get("minLength", 0):
        found.append(f"{where}: {value!r} is too short")
    if isinstance(value, list):
        first = schema.get("prefixItems", [])
        if not schema.get("minItems", 0) <= len(value) <= schema.get("maxItems", len(value)):
            found.append(f"{where}: {len(value)} elements are too few or too many")
        if schema.get("items") is False and len(value) > len(first):
            found.append(f"{where}: {len(value)} elements are more than {len(first)}")
        for index, element in enumerate(value):
            of = first[index] if index < len(first) else schema.get("items")
            if isinstance(of, dict):
                inside(element, of, f"[{index}]")
    if isinstance(value, dict):
        properties, others = schema.get("properties", {}), schema.get("additionalProperties", True)
        found += [f"{where}: {name} is missing" for name in schema.get("required", ()) if name not in value]
        for name, part in value.items():
            if name in properties:
                inside(part, properties[name], f".{name}")
            elif isinstance(others, dict):
                inside(part, others, f".{name}")
            elif not others or (closed and properties):
                found.append(f"{where}: there is no field {name}")
    for keyword, fits in (("anyOf", lambda good: good >= 1), ("oneOf", lambda good: good == 1)):
        if keyword in schema:
            tried = [errors(value, one, root, place, closed) for one in schema[keyword]]
            if not fits(sum(not each for each in tried)):
                found.append(f"{where}: not {keyword} of its forms" + "".join(f"\n  or {each}" for each in tried))
    return found
