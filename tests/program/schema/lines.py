"""The lines of the program, as docs/goodput.schema.json describes them: the objects in them, and the program's
answers."""

import json
import pathlib
import subprocess

import json_schema

COMMANDS = {"plan", "allot", "fit", "share", "parallel"}
EXAMPLES = json.loads((pathlib.Path(__file__).parent / "lines.json").read_text(encoding="utf-8"))


def objects_in(schema, direction="in", commands=frozenset(COMMANDS)):
    """Returns, by name, the objects with their own fields that lines ("in"), answers ("out") or options of these
    commands contain."""
    found = {}

    def visit(of):
        name = of.get("$ref", "").rpartition("/")[2]
        if name in found:
            return
        if name:
            of = schema["$defs"][name]
            found[name] = of
        for _, inside in json_schema.subschemas(of):
            visit(inside)

    for command in sorted(commands):
        visit(schema["commands"][command].get(direction, {}))
    return {name: of for name, of in found.items() if "properties" in of}


def ask(program, command, documents, *options):
    """Returns the answers to lines in one run of the program, in order."""
    text = "".join((line if isinstance(line, str) else json.dumps(line)) + "\n" for line in documents)
    run = subprocess.run([program, command, *options], input=text, capture_output=True, text=True, timeout=300, check=False)
    answers = [json.loads(line, parse_constant=no_number) for line in run.stdout.splitlines()]
    if run.returncode not in (0, 1) or len(answers) != len(documents):
        raise RuntimeError(f"goodput {command}: status {run.returncode}, {len(answers)} answers to {len(documents)} lines, "
                           f"{run.stderr[-500:]}")
    return answers


def no_number(text):
    raise ValueError(f"{text} is no JSON")


def write_profiles(folder):
    """Writes what `goodput parallel` reads: a model "small" of six layers, two GPU types in two zones.

    V100-16 was not measured at micro-batch 2.
    """
    layers, zones, types = [str(layer) for layer in range(6)], ("east", "west"), ("A100-40", "V100-16")
    degrees = ("1", "2")
    link = [[0.0, 0.0, 1.0], 1e9]
    files = {
        "llm_info": {"small": {degree: {layer: {"params_floats": 1e7 / int(degree), "act_output_floats": 1e6,
                                                "act_mem_floats": 2e8 / int(degree)} for layer in layers}
                               for degree in degrees}},
        "profiles_tmp": {"small": {gpu: {samples: {degree: {layer: [1e-3, 2e-3, 5e-4] for layer in layers}
                                                   for degree in degrees}
                                         for samples in ("1", "2") if (gpu, samples) != ("V100-16", "2")}
                                   for gpu in types}},
        "multizone_bandwidths_het": {a: {gpu: {n: {b: {other: {m: link for m in degrees} for other in types} for b in zones}
                                               for n in degrees} for gpu in types} for a in zones},
        "communication_cost": {a: {b: 0 if a == b else 0.01 for b in zones} for a in zones}}
    for name, document in files.items():
        (pathlib.Path(folder) / f"{name}.json").write_text(json.dumps(document), encoding="utf-8")
