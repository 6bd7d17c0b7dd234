#!/usr/bin/env python3
"""C, C++ and Python answer what the program answers, field by field and to the last bit, except for milliseconds.

    GOODPUT_LIBRARY=... PYTHONPATH=python same_plan.py PROGRAM C_EXAMPLE CPP_EXAMPLE SOURCE

By the documented rounds, deadlines and shared GPUs among them, and by courses of random rounds in which jobs come, measure,
move and go; under several policies.
"""

import json
import os
import random
import subprocess
import sys

program, c_example, cpp_example, source = sys.argv[1:]
example = os.path.join(source, "examples", "python", "plan.py")

def ask(command, rounds):
    lines = "".join(json.dumps(document) + "\n" for document in rounds)
    done = subprocess.run(command, input=lines, capture_output=True, text=True, check=True)
    answers = [json.loads(line) for line in done.stdout.splitlines()]
    assert len(answers) == len(rounds), done.stderr
    return [{field: value for field, value in answer.items() if field != "milliseconds"} for answer in answers]


def check(name, policy, rounds):
    expected = ask([program, "plan", "--explain", "--advise", "--policy", policy], rounds)
    found = ask([sys.executable, example, policy], rounds)
    for number, (ours, theirs) in enumerate(zip(found, expected)):
        assert "error" not in theirs, theirs
        assert ours == theirs, f"{name}, {policy}, round {number}:\n{ours}\n{theirs}"
    return expected


def random_course(seed, policy):
    """Rounds in which jobs follow the program's plans, so that each line depends on the answers to the ones before."""
    chance = random.Random(seed)
    names = ["T4", "A100", "V100"][:chance.randint(1, 3)]
    nodes = [{"name": f"{name}-{i}", "gpu_type": name, "gpus": chance.choice([4, 8]), "price_h": chance.randint(0, 9)}
             for name in names for i in range(chance.randint(1, 3))]
    if chance.random() < 0.5:
        for node in nodes:
            node.update(cores=64, memory_gib=256, interruptions_h=chance.choice([0, 0.02]), spot=chance.random() < 0.2,
                        zone=chance.choice("ab"), rack=chance.choice("xy"))
    asked = subprocess.Popen([program, "plan", "--policy", policy], text=True, stderr=subprocess.DEVNULL,
                             stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    jobs, rounds = [], []
    for number in range(6):
        for _ in range(chance.randint(0, 3)):
            jobs.append(new_job(chance, names, 60 * number, len(jobs)))
        document = {"time_s": 60 * number, "nodes": nodes, "jobs": jobs}
        if chance.random() < 0.3:
            document["budget_h"] = 20
        if chance.random() < 0.5:
            document["teams"] = {"red": {"gpus": 6, "weight": 2}, "blue": {"gpus_by_type": {names[0]: 4}, "budget_h": 30}}
        if chance.random() < 0.2:
            document["offers"] = [{"name": "more", "gpu_type": chance.choice(["A100", "H100"]), "gpus": 8, "most": 3,
                                   "price_h": chance.randint(1, 30), "spot": chance.random() < 0.5,
                                   **({"start_s": 0} if chance.random() < 0.5 else {})}]
            document["hour_worth"] = chance.choice([5, 40])
        if chance.random() < 0.2:
            document["deadline_ms"] = 60000
        rounds.append(json.loads(json.dumps(document)))
        asked.stdin.write(json.dumps(document) + "\n")
        asked.stdin.flush()
        answer = json.loads(asked.stdout.readline())
        if "error" in answer:  # for example if jobs keep more than a drained node has
            rounds.pop()
            continue
        for job, entry in zip(jobs, answer["plan"]):
            job["samples"] = []
            job["placement"] = {"nodes": entry["nodes"]} if entry["nodes"] else None
            if entry["nodes"] and chance.random() < 0.7:
                gpus = sum(share[1] for share in entry["nodes"])
                step = 0.05 + 0.001 * entry["local_batch"] * chance.uniform(0.9, 1.1)
                sample = {"gpu_type": entry["gpu_type"], "nodes": len(entry["nodes"]), "gpus": gpus,
                          "local_batch": entry["local_batch"], "accumulation": entry["accumulation"]}
                if chance.random() < 0.3:
                    sample["iteration_s"] = step * (1 + entry["accumulation"])
                else:
                    sample.update(step_s=step, sync_s=0 if gpus == 1 else 0.02)
                if chance.random() < 0.2:
                    sample["cores_per_gpu"] = chance.choice([0, 4])
                job["samples"].append(sample)
        jobs = [job for job in jobs if chance.random() < 0.9]
    asked.stdin.close()
    asked.wait()
    return rounds


def new_job(chance, names, now, index):
    local = {name: [chance.choice([1, 16]), chance.choice([64, 256])] for name in names if chance.random() < 0.9}
    local = local or {names[0]: [1, 64]}
    adapt = chance.choice(["batch", "batch", "gpus", "none"])
    job = {"name": f"job-{now}-{index}", "submitted_s": now, "gpus": [1, chance.choice([1, 4, 16])], "adapt": adapt,
           "restart_cost_s": chance.choice([0, 30, 90]),
           "batch": {"initial": 64, "max": 2048, "target": 128, "local": local,
                     "rate": {name: chance.uniform(100, 3000) for name in local if chance.random() < 0.6}}}
    if chance.random() < 0.4:
        del job["restart_cost_s"]
        job["restart_s"] = [chance.uniform(5, 60) for _ in range(chance.randint(0, 2))]
        job["checkpoint_gib"] = chance.choice([0, 1.5, 20])
    if chance.random() < 0.6:
        job["gradient"] = {"sqr": 1.0, "var": chance.uniform(1, 50)}
    if chance.random() < 0.4:
        job["team"] = chance.choice(["red", "blue", "green"])
    if chance.random() < 0.3:
        job["weight"] = chance.uniform(0.5, 4)
    if chance.random() < 0.3:
        job["kind"] = chance.choice(["cnn", "lstm"])
    if chance.random() < 0.2:
        job["host"] = {"cores_per_gpu": [2, 8], "memory_gib_per_gpu": [4, 16], "speed": [[2, 4, 0.5], [8, 16, 1.0]]}
    if chance.random() < 0.1:
        job["host"] = {"cores_per_gpu": [0, 0], "speed": [[0, 0, 0.5], [8, 0, 1.0]]}
    if chance.random() < 0.2:
        job.update(checkpoint_s=600.0, done_examples=1e5)
    if chance.random() < 0.3:
        job["within"] = chance.choice(["rack", "zone"])
    if chance.random() < 0.3:
        job["batch"]["wanted"] = chance.choice([64, 512])
    if chance.random() < 0.3:
        job["checkpoints"] = [{"name": "full", "pause_s": 20},
                              {"name": "peer", "pause_s": 1, "write_s": 30, "write_slowdown": 0.1, "restore_s": 5, "caught": 0.2,
                               "memory_gib_per_gpu": 2, "kept": 0.9, "stored_every": 4}][:chance.randint(1, 2)]
    if chance.random() < 0.1:
        job["checkpoints"] = [{"name": "none", "saves": False}]
    if chance.random() < 0.2:
        job["max_nodes"] = chance.choice([1, 2, {next(iter(local)): 1}])
    if chance.random() < 0.2:
        job["single_gpu_accumulates"] = True
    return job


def main():
    documents = {}
    for name in ("round", "teams", "host", "share_round", *("recipe_" + what for what in ("deadline", "llm", "rack", "share", "spot"))):
        with open(os.path.join(source, "docs", name + ".json"), encoding="utf-8") as file:
            document = json.load(file)
        if "nodes" in document:
            documents[name] = document
    compared, said = 0, ""
    for policy in ("sia", "goodput", "fifo"):
        for name, document in documents.items():
            said += json.dumps(check(name, policy, [document]))
            compared += 1
        for seed in range(8):
            rounds = random_course(seed, policy)
            check(f"course {seed}", policy, rounds)
            compared += len(rounds)
    assert compared > 100, compared
    for field in ("promise", "with", "limits", "why"):
        assert f'"{field}"' in said, field
    expected = ask([program, "plan", "--explain", "--policy", "goodput"], documents.values())
    assert ask([c_example], documents.values()) == expected
    assert ask([cpp_example], documents.values()) == expected
    print(f"{compared} rounds, the same plans")


if __name__ == "__main__":
    main()
