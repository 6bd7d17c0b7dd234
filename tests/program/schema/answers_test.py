#!/usr/bin/env python3
"""The program's answers match docs/goodput.schema.json: for the documents of the pages, the lines that the fuzzers
start from, and lines for everything that an answer may contain.

    answers_test.py PROGRAM SOURCE_FOLDER
"""

import copy
import json
import pathlib
import sys
import tempfile
import unittest
import zipfile

import json_schema
import lines

try:
    import jsonschema
except ImportError:
    jsonschema = None

# Fields that only occur with a faulty policy, by the solver's tolerance, or in endless searches.
RARE = {"Plan.faults", "Proof.with_tolerance"}
# Fields that only the C interface answers (tests/python/schema_test.py): the program has standard error.
OF_THE_LIBRARY = {"Allotment.warnings", "SplitAllotment.warnings", "Fits.warnings", "Shares.warnings"}
RARE_CHOICES = {("Decision.promise", "at_risk"), ("Plan.status", "infeasible"), ("Plan.status", "unknown"),
                ("Allotment.stopped", "memory"), ("SplitAllotment.status", "feasible"), ("SplitAllotment.status", "unknown"),
                ("SplitAllotment.stopped", "deadline"), ("SplitAllotment.stopped", "memory"),
                ("SplitAllotment.stopped", "states"), ("Shares.status", "feasible"), ("ParallelAnswer.status", "feasible"),
                ("ParallelAnswer.status", "unknown")}

NO_LINES = {"goodput.schema.json", "kubernetes.json"}  # of docs
LOCAL = {"A100": [8, 64]}
BATCH = {"initial": 64, "max": 512, "local": LOCAL, "rate": {"A100": 300}}


def node(name, gpus=8, **more):
    return {"name": name, "gpu_type": "A100", "gpus": gpus, **more}


def job(name, **more):
    return {"name": name, "submitted_s": 0, "gpus": [1, 8], "batch": BATCH, **more}


def placed(*nodes):
    return {"placement": {"nodes": [list(share) for share in nodes]}}


def round_of(nodes, jobs, **more):
    return {"time_s": 100, "nodes": nodes, "jobs": jobs, **more}


def plan_lines():
    """Rounds whose answers contain everything that answers of plan may contain."""
    yield round_of([], [job("impossible")])
    yield round_of([node("n")], [job("none", gpus=[16, 16]), job("a", gpus=[8, 8]), job("b", gpus=[8, 8])])
    yield round_of([node("n")], [job("bad", gpus=[0, 1], **placed(("n", 2))), {"name": "worse"}, {}, 7, job("good")])
    yield round_of([node("n"), node("bad", gpus=0), {}, node("n")], [job("a", **placed(("bad", 1)))])
    yield round_of([node("n")], [job("a", unknown=1, team="vison")], teams={"vision": {"gpus": 1}}, cancled=[])
    held = job("held", preemptible=False, team="t", **placed(("n", 8)))
    yield round_of([node("n", price_h=5)], [held, job("b", team="t")], budget_h=1,
                   teams={"t": {"gpus": 4, "gpus_by_type": {"A100": 2}}})
    yield round_of([node("n"), node("m")],
                   [job("moves", gpus=[4, 4], **placed(("n", 4))), job("b", gpus=[4, 4], **placed(("m", 4))),
                    job("large", gpus=[8, 8], weight=10)])
    yield round_of([node("n"), node("m")], [job("stops", weight=1e-6, gpus=[8, 8], **placed(("n", 8))),
                                            job("large", gpus=[16, 16], weight=1000)])
    yield round_of([node(f"n{index}") for index in range(10)],
                   [job(f"job {index}", gpus=[1, 16], weight=1 + index % 17 / 10, team=f"team {index % 7}")
                    for index in range(200)],
                   teams={f"team {index}": {"gpus": 5 + index} for index in range(7)}, deadline_ms=0)
    yield round_of([node("n", interruptions_h=0.5)],
                   [job("saves", restart_cost_s=60), job("never", checkpoints=[{"name": "no", "saves": False}])])
    yield round_of([node("n", cores=64, memory_gib=512), node("m")], [job("a"), job("b", host={"cores_per_gpu": [1, 8]})])
    alone = {"gpus": [2, 2], "adapt": "none", **placed(("n", 2)),
             "batch": {"initial": 64, "target": 64, "local": LOCAL, "rate": {"A100": 300}}}
    beside = {"with": "b", "shares_with": [{"job": "b", "part": {"A100": [0.8, 0.8]}}]}
    yield round_of([node("n", gpus=2)], [job("a", **alone, **beside), job("b", **alone)])
    for busy in (0.2, 1):
        offer = {"gpu_utilisation": busy, "shares_with": [{"job": "b"}]}
        yield round_of([node("n", gpus=2)], [job("a", **alone, **offer), job("b", **alone)], sharing="time_slicing")
    now = {"time_s": 1000, "nodes": [node("n", gpus=4)]}
    due = [job("kept", remaining_examples=1000, deadline_s=5000), job("refused", remaining_examples=1e9, deadline_s=5000),
           job("never", remaining_examples=1e9, deadline_s=5000, deadline="or_never")]
    yield {**now, "jobs": due}
    yield {**now, "time_s": 1060, "jobs": [{**due[0], "remaining_examples": 1e9, "promise": "kept"}, *due[1:]]}
    yield {**now, "time_s": 1120, "nodes": [], "jobs": due}
    yield round_of([node("n"), node("m", cores=0)], [job("a")],
                   offers=[{"name": "spot", "gpu_type": "A100", "gpus": 8, "most": 2, "price_h": 3, "spot": True}])
    yield from ("", "no JSON", "[]", '{"time_s": NaN}', "{", '{"time_s": 1, "time_s": 2, "nodes": [], "jobs": []}')


def large_allotment():
    """Returns a problem that a search cannot solve at once."""
    def option(seed):
        return {"value": 1 + seed * 7919 % 101 / 100, "use": [[r, 1 + seed * (r + 3) % 13] for r in range(6)]}
    return {"capacity": [40] * 6, "jobs": [{"options": [option(j * 5 + o) for o in range(5)]} for j in range(40)], "gap": 0}


def allot_lines():
    too_many = {"capacity": [1], "jobs": [{"must": True, "options": [{"value": 1, "use": [[0, 1]]}]}] * 3}
    yield from (too_many, {**too_many, "deadline_ms": 0}, {"capacity": [], "jobs": []})
    yield {"capacity": [0], "jobs": [{"options": []}]}
    yield {"capacity": [1], "jobs": [{"options": [{"value": 2, "use": [[0, 2]]}]}], "unknown": 1}
    for limit in ({"deadline_ms": 0}, {"most_states": 0}, {"most_states": 10}, {"most_states": 10, "memory_states": 10},
                  {"gap": 0.5}):
        yield {**large_allotment(), **limit}
    hard = large_allotment()
    for one in hard["jobs"]:
        one["must"] = True
    yield {**hard, "capacity": [180] * 6, "deadline_ms": 0}
    yield {"capacity": [10], "jobs": [{"options": [{"value": value, "use": [[0, units]]}]}
                                      for value, units in ((6, 6), (5.5, 5), (5, 5), (1, 1))]}
    yield {"capacity": [3], "gap": 0.5, "jobs": [{"options": [{"value": value, "use": [[0, 2]]}]} for value in (1, 0.9)]}


def share_lines():
    problem = {"gpus": {"old": 8, "new": 4}, "price_h": {"old": 1, "new": 3},
               "jobs": [{"name": name, "gpus": 2, "rate": {"old": 6, "new": 24}, "left": 1e4, "age_s": 60, "isolated_s": 30}
                        for name in "abc"]}
    pairs = {"pairs": [{"jobs": [0, 1], "rate": {"old": [5, 5], "new": [20, 20]}}]}
    for objective in json_schema.resolved({"$ref": "#/$defs/ShareProblem"}, SCHEMA)["properties"]["objective"]["enum"]:
        yield {**problem, "objective": objective}
        yield {**problem, **pairs, "objective": objective}
        yield {**problem, "objective": objective, "jobs": [{"rate": {}, "left": 5, "age_s": 3, "isolated_s": 1}]}
        yield {**problem, "objective": objective, "jobs": [{"gpus": 100, "rate": {"old": 1}}, {"rate": {"old": 1}}]}
        yield {**problem, "objective": objective, "jobs": []}
    yield {**problem, "objective": "sum", "jobs": [{**one, "deadline_s": 1} for one in problem["jobs"]]}


def parallel_lines():
    asked, evaluated, _ = lines.EXAMPLES["parallel"]
    for more in ({"objective": "cost"}, {"mixed_stages": True}, {"most_usd": 0}, {"deadline_ms": 0}, {"gpus": {}},
                 {"gap": 0.5}):
        yield {**asked, **more}
    unequal = copy.deepcopy(evaluated)
    unequal["plan"]["stages"][1]["replicas"][0]["count"] = 3
    too_small = copy.deepcopy(evaluated)
    too_small["plan"]["microbatch"] = 8
    yield from (unequal, too_small, {**evaluated, "gpus": {"east": {"A100-40": 1}}}, {**asked, "model": "none"})


class Answers(unittest.TestCase):
    maxDiff = None

    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        lines.write_profiles(cls.folder.name)
        cls.asked = {command: list(lines.EXAMPLES[command]) for command in lines.COMMANDS}
        for path in sorted((ROOT / "docs").glob("*.json")):
            document = json.loads(path.read_text(encoding="utf-8"))
            if command := command_of(document):
                cls.asked[command].append(document)
        for command, more in (("plan", plan_lines()), ("allot", allot_lines()), ("share", share_lines()),
                              ("parallel", parallel_lines()), ("fit", ({"samples": []}, {"samples": 1}, ""))):
            cls.asked[command] += more
        cls.seen = {}  # by object of the schema: fields in answers, and (field, value) of choices

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    def check(self, command, documents, *options):
        options = [*options, *(["--profiles", self.folder.name] if command == "parallel" else [])]
        out = SCHEMA["commands"][command]["out"]
        for document, answer in zip(documents, lines.ask(PROGRAM, command, documents, *options)):
            wrong = json_schema.errors(answer, out, SCHEMA, closed=True)
            self.assertEqual(wrong, [], (options, document, answer))
            if jsonschema:
                self.assertTrue(jsonschema.Draft202012Validator({**out, "$defs": SCHEMA["$defs"]}).is_valid(answer), answer)
            self.note(answer, out)

    def note(self, answer, schema, name=""):
        """Remembers the fields of an answer, and the choices in it."""
        while "$ref" in schema or "anyOf" in schema and "properties" not in schema:
            name = schema["$ref"].rpartition("/")[2] if "$ref" in schema else name
            schema = json_schema.resolved(schema, SCHEMA)
            if "properties" in schema or "anyOf" not in schema:
                break
            schema = next(one for one in schema["anyOf"] if not json_schema.errors(answer, one, SCHEMA, closed=True))
        if "enum" in schema:
            self.seen.setdefault(name, set()).add(answer)
        elif isinstance(answer, dict):
            for field, value in answer.items():
                of = schema.get("properties", {}).get(field, schema.get("additionalProperties"))
                self.seen.setdefault(f"{name}.{field}", set())
                self.note(value, of, f"{name}.{field}")
        elif isinstance(answer, list) and isinstance(schema.get("items"), dict):
            for element in answer:
                self.note(element, schema["items"], f"{name}[]")

    def test_documents_of_the_pages_are_lines_of_a_command(self):
        found = 0
        for path in sorted((ROOT / "docs").glob("*.json")):
            document = json.loads(path.read_text(encoding="utf-8"))
            if path.name in NO_LINES:
                continue
            command = command_of(document)
            self.assertIsNotNone(command, path.name)
            wrong = json_schema.errors(document, SCHEMA["commands"][command]["in"], SCHEMA, closed=True)
            self.assertEqual(wrong, [], path.name)
            found += 1
        self.assertGreater(found, 10)

    def test_answers_are_as_the_schema_says_and_every_field_of_it_is_answered_somewhere(self):
        file = str(pathlib.Path(self.folder.name) / "proof")
        for options in ([], ["--explain"], ["--advise", "--explain", "--policy", "goodput"], ["--strict", "--advise"],
                        ["--policy", "fifo", "--explain"], ["--proof", file]):
            self.check("plan", self.asked["plan"], *options)
        for options in ([], ["--explain"], ["--relax"], ["--warm"], ["--proof", file], ["--strict"]):
            self.check("allot", self.asked["allot"], *options)
        for command in ("fit", "share", "parallel"):
            self.check(command, self.asked[command])
        for command in ("plan", "allot", "fit"):
            with zipfile.ZipFile(ROOT / "tests" / "fuzz" / "corpus" / f"program_{command}.zip") as corpus:
                texts = [corpus.read(name)[1:].decode(errors="replace").replace("\r", " ") for name in corpus.namelist()]
            self.check(command, [line for text in texts for line in text.split("\n")
                                 if not line.startswith((" ", "]", "}"))])

        fields, choices = set(), set()
        for name, of in lines.objects_in(SCHEMA, "out").items():
            for field, schema in of["properties"].items():
                fields.add(f"{name}.{field}")
                choices |= {(f"{name}.{field}", choice) for choice in schema.get("enum", ())}
        seen = {(name, choice) for name, made in self.seen.items() for choice in made}
        self.assertEqual(fields - set(self.seen) - RARE - OF_THE_LIBRARY, set(), "never answered")
        self.assertEqual(OF_THE_LIBRARY & set(self.seen), set(), "of the library")
        self.assertEqual(choices - seen - RARE_CHOICES, set(), "never answered")


def command_of(document):
    """Returns the command whose line has all fields of a document."""
    fits = [command for command in sorted(lines.COMMANDS)
            if not set(document) - set(json_schema.resolved(SCHEMA["commands"][command]["in"], SCHEMA)["properties"])]
    return fits[0] if len(fits) == 1 else None


if __name__ == "__main__":
    PROGRAM, ROOT = sys.argv[1], pathlib.Path(sys.argv[2])
    SCHEMA = json.loads((ROOT / "docs" / "goodput.schema.json").read_text(encoding="utf-8"))
    del sys.argv[1:3]
    unittest.main()
