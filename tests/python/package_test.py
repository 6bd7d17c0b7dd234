#!/usr/bin/env python3
"""Tests what the package goodput promises for plans, allotments and fits. agent_training.py tests gradients.

    GOODPUT_LIBRARY=... PYTHONPATH=python package_test.py DOCS
"""

import copy
import dataclasses
import json
import os
import subprocess
import sys
import threading
import unittest
import warnings
from typing import Optional

import goodput
from goodput import documents, interface

DOCS = sys.argv.pop(1)


def document(name):
    with open(os.path.join(DOCS, name + ".json"), encoding="utf-8") as file:
        return json.load(file)


def untimed(plan):
    """Returns everything except what differs from run to run."""
    return {field: value for field, value in plan.items() if field != "milliseconds"}


@dataclasses.dataclass
class MyJob:
    name: str
    submitted_s: float
    gpus: tuple
    batch: dict
    gradient: Optional[dict] = None


@dataclasses.dataclass
class MyRound:
    time_s: float
    nodes: list
    jobs: list


class Plans(unittest.TestCase):
    def changed(self, change):
        round_ = document("round")
        change(round_)
        return round_

    def test_a_round_of_dataclasses_gets_the_plan_of_the_same_dictionaries(self):
        nodes = [{"name": "n0", "gpu_type": "T4", "gpus": 4}]
        batch = {"initial": 64, "max": 512, "local": {"T4": (8, 64)}, "rate": {"T4": 300}}
        plan = goodput.plan(MyRound(10, nodes, [MyJob("a", 0, (1, 4), batch), MyJob("b", 5, (1, 4), batch)]))
        same = goodput.plan({"time_s": 10, "nodes": nodes, "jobs": [
            {"name": name, "submitted_s": at, "gpus": [1, 4], "batch": batch} for name, at in (("a", 0), ("b", 5))]})
        self.assertEqual(untimed(plan), untimed(same))
        self.assertEqual(sum(gpus for entry in plan["plan"] for _, gpus in entry["nodes"]), 4)
        self.assertEqual(plan["status"], "optimal")

    def test_deadlines_get_promises_and_jobs_that_share_get_partners(self):
        plan = goodput.plan(document("recipe_deadline"))
        self.assertTrue(any("promise" in entry for entry in plan["plan"]), plan)
        plan = goodput.plan(document("share_round"))
        self.assertTrue(any("with" in entry for entry in plan["plan"]), plan)

    def test_all_that_makes_no_sense_is_refused_with_its_subject(self):
        def of_job(**fields):
            return lambda round_: round_["jobs"][0].update(fields)

        for change, words in (
                (lambda round_: round_.pop("nodes"), "round: nodes is missing"),
                (lambda round_: round_["jobs"][0].pop("batch"), "job 'vision': batch is missing"),
                (lambda round_: round_["jobs"][1].pop("name"), r"jobs\[1\].name is missing"),
                (lambda round_: round_["nodes"][0].pop("gpus"), "node 'small-0': gpus is missing"),
                (lambda round_: round_["nodes"][0].update(gpus=2**32 + 4), "node 'small-0': gpus is 4294967300"),
                (of_job(gpus=["1", "2"]), "job 'vision': gpus"), (of_job(gpus=[1]), "job 'vision': gpus"),
                (of_job(adapt="sizes"), "job 'vision': adapt is \"sizes\""), (of_job(gpus=[1.5, 2]), "job 'vision'"),
                (of_job(gpus=[8, 4]), "job 'vision': gpus"),
                (lambda round_: round_.update(budget_h=-1), "budget_h"),
                (lambda round_: round_.update(weight={1, 2}), "no field \"weight\""),
                (of_job(restart_cost_s=float("nan")), "job 'vision': restart_cost_s")):
            with self.assertRaisesRegex(ValueError, words):
                goodput.plan(self.changed(change), strict=True)
        with self.assertRaisesRegex(ValueError, "no policy 'best'; known are sia, goodput"):
            goodput.plan(document("round"), "best")
        with self.assertRaisesRegex(ValueError, "'speed'"):
            goodput.Scheduler("sia", options={"speed": 1})
        with self.assertRaises(TypeError):
            goodput.plan({"time_s": 0, "nodes": [], "jobs": [object()]})

    def test_one_bad_job_is_set_aside_and_the_rest_is_planned(self):
        bad = self.changed(lambda round_: round_["jobs"][1].update(gpus=[8, 4]))
        plan = goodput.plan(bad)
        self.assertEqual(len(plan["warnings"]), 1)
        self.assertIn("language", plan["warnings"][0])
        self.assertTrue(plan["plan"][0]["nodes"] and not plan["plan"][1]["nodes"])

    def test_unknown_fields_are_named(self):
        misspelt = self.changed(lambda round_: round_["jobs"][0].update(restart_cost=30))
        with self.assertWarnsRegex(UserWarning, "job 'vision': there is no field \"restart_cost\""):
            goodput.plan(misspelt)
        with self.assertRaisesRegex(ValueError, "job 'vision': there is no field \"restart_cost\""):
            goodput.plan(misspelt, strict=True)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            for name in ("round", "teams", "host"):
                goodput.plan(document(name))

    def test_a_scheduler_remembers_measurements_and_forgets_a_refused_round(self):
        first, second = document("round"), document("round")
        second["time_s"] += 60
        second["jobs"][0]["samples"] = []
        scheduler, refused = goodput.Scheduler(), goodput.Scheduler()
        scheduler.plan(first)
        remembered = scheduler.plan(copy.deepcopy(second))
        self.assertNotEqual(untimed(remembered), untimed(goodput.plan(second)), "nothing was remembered")
        refused.plan(first)
        with self.assertRaises(ValueError):
            refused.plan({**second, "time_s": float("inf")})
        self.assertEqual(untimed(refused.plan(second)), untimed(remembered))

    def test_a_plan_says_conflicts_and_limits(self):
        round_ = document("teams")
        for node, gpus, job in (("big-0", 8, round_["jobs"][0]), ("small-0", 4, round_["jobs"][1])):
            job.update(preemptible=False, placement={"nodes": [[node, gpus]]})
        plan = goodput.plan(round_)
        self.assertTrue(any("team vision" in conflict["why"] for conflict in plan["conflicts"]), plan)
        self.assertEqual({entry["starts"] for entry in plan["plan"][:2]}, {"stays"})
        self.assertIn("the quota of team vision", [limit["name"] for limit in plan["limits"]])

    def test_options_of_a_policy_count(self):
        default = goodput.plan(document("round"))
        other = goodput.plan(document("round"), options={"p": 0.2, "patience": 9})
        self.assertNotEqual(default["objective"], other["objective"])

    def test_offers_get_advice_and_leave_the_plan_as_it_is(self):
        offers = [{"name": "cheap", "gpu_type": "A100", "gpus": 8, "most": 2, "price_h": 0.01},
                  {"name": "dear", "gpu_type": "H100", "gpus": 8, "most": 2, "price_h": 1e6, "spot": True}]
        plan = goodput.plan({**document("round"), "offers": offers, "hour_worth": 20})
        advice = plan.pop("advice")
        plain = goodput.plan(document("round"))
        self.assertEqual(plain.pop("advice")["offers"], [])
        self.assertEqual(untimed(plan), untimed(plain))
        self.assertGreater(advice["offers"][0]["nodes"], 0)
        self.assertEqual([offer["name"] for offer in advice["offers"]], ["cheap", "dear"])
        self.assertEqual(advice["offers"][1]["nodes"], 0)
        self.assertTrue(all(offer["why"] for offer in advice["offers"]))

    def test_a_job_says_where_it_must_be_and_how_it_saves_its_state(self):
        def batch(round_):
            return round_["jobs"][0]["batch"]

        apart = self.changed(lambda round_: round_["jobs"][0].update(gpus=[8, 8], within="rack", placement=None))
        apart["jobs"][1:] = []  # the job's two nodes are in different racks, without other jobs
        batch(apart)["local"].pop("A100")
        self.assertEqual(goodput.plan(apart)["plan"][0]["outcome"], "impossible")
        apart["jobs"][0].pop("within")
        self.assertEqual(len(goodput.plan(apart)["plan"][0]["nodes"]), 2)
        saved = self.changed(lambda round_: [node.update(interruptions_h=0.1) for node in round_["nodes"]])
        saved["jobs"][0]["checkpoints"] = [{"name": "full", "pause_s": 40}, {"name": "quick", "pause_s": 1, "restore_s": 2}]
        self.assertEqual(goodput.plan(saved)["plan"][0]["checkpoint"], "quick")
        wanted = self.changed(lambda round_: batch(round_).update(wanted=512))
        given = goodput.plan(wanted)["plan"][0]
        self.assertLessEqual(sum(gpus for _, gpus in given["nodes"]) * given["local_batch"] * (given["accumulation"] + 1), 512)

    def test_a_round_of_nothing_has_a_plan(self):
        plan = goodput.plan({"time_s": 0, "nodes": [], "jobs": []})
        self.assertEqual((plan["plan"], plan["prices"]), ([], {}))

    def test_threads_with_a_scheduler_each_and_with_one_for_all_plan_as_one_thread_does(self):
        expected, found, shared = goodput.plan(document("round")), [], goodput.Scheduler()
        times = {}

        def work(index):
            for scheduler in (goodput.Scheduler(), shared):
                plan = scheduler.plan(document("round"))
                found.append(plan["plan"] == expected["plan"] if scheduler is not shared else len(plan["plan"]) == 3)
            times[index] = True

        threads = [threading.Thread(target=work, args=(index,)) for index in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual((len(times), len(found), all(found)), (8, 16, True))

    def test_types_name_the_fields_of_the_documented_rounds(self):
        for name in ("round", "teams", "host"):
            round_ = document(name)
            for found, kind in ((round_, documents.Round), *((node, documents.Node) for node in round_["nodes"]),
                                *((job, documents.Job) for job in round_["jobs"])):
                self.assertLessEqual(set(found), set(kind.__annotations__), name)


class Allotments(unittest.TestCase):
    def test_the_documented_problem_has_its_answer(self):
        answer = goodput.allot(**document("allot"))
        self.assertEqual((answer["choice"], answer["status"], answer["stopped"]), ([1, None, 0], "optimal", "proven"))
        self.assertAlmostEqual(answer["objective"], 6.1)
        self.assertLessEqual(answer["objective"], answer["bound"])

    def test_limits_of_the_search_and_jobs_that_must_run_are_told(self):
        problem = document("allot")
        problem["jobs"] = [{**job, "must": True} for job in problem["jobs"]]
        self.assertEqual(goodput.allot(**problem)["status"], "infeasible")
        problem["capacity"] = [16, 96]
        self.assertNotIn(None, goodput.allot(**{**problem, "gap": 0})["choice"])

    def test_what_makes_no_sense_is_refused(self):
        for option, words in (({"value": float("nan"), "use": []}, "value"), ({"value": 1, "use": [[7, 1]]}, "below the number of capacities"),
                              ({"value": 1, "use": [[-1, 1]]}, "is -1"), ({"use": []}, "value is missing"),
                              ({"value": 1, "use": [[0]]}, "a pair")):
            with self.assertRaisesRegex(ValueError, words):
                goodput.allot([8], [{"options": [option]}])


class Fits(unittest.TestCase):
    def test_the_documented_measurements_have_their_answers(self):
        given = document("fit")
        fit = goodput.Fit(given["samples"])
        first, _ = fit.predict(given["predict"])
        self.assertEqual(set(fit.rmsle), {"T4", "A100"})
        self.assertEqual(set(fit.models), {"T4", "A100"})
        self.assertLess(max(fit.rmsle.values()), 0.01)
        self.assertTrue(first["low_s"] < first["iteration_s"] < first["high_s"])
        self.assertNotIn("efficiency", first)
        without_noise, = fit.predict(given["predict"][:1], initial_batch=128)
        self.assertEqual((without_noise["efficiency"], without_noise["goodput"]), (1, without_noise["examples_s"]))
        with_noise, = fit.predict(given["predict"][:1], initial_batch=128, gradient={"sqr": 1, "var": 25})
        self.assertLess(with_noise["efficiency"], 1)
        self.assertAlmostEqual(with_noise["goodput"] / with_noise["examples_s"], with_noise["efficiency"])

    def test_types_that_were_not_measured_are_guessed(self):
        samples, question = document("fit")["samples"], {"gpu_type": "H100", "nodes": 1, "gpus": 1, "local_batch": 64}
        guess, = goodput.Fit(samples).predict([question])
        self.assertGreater(guess["high_s"], guess["low_s"])
        with self.assertRaisesRegex(ValueError, "step_s"):
            goodput.Fit([{**samples[0], "step_s": 0}])

    def test_whole_iterations_say_as_much_as_their_steps(self):
        sample = {"gpu_type": "T4", "nodes": 1, "gpus": 1, "local_batch": 64, "accumulation": 1, "iteration_s": 0.4}
        found, = goodput.Fit([sample]).predict([{"gpu_type": "T4", "nodes": 1, "gpus": 1, "local_batch": 64}])
        self.assertAlmostEqual(found["iteration_s"], 0.2, delta=0.03)


class Shares(unittest.TestCase):
    def test_the_documented_problem_has_its_answer(self):
        answer = goodput.share(document("share"))
        self.assertIn("bound", answer)


class Interface(unittest.TestCase):
    def test_what_cannot_be_asked_yet_is_not_yet(self):
        agent = interface.Handle("agent")
        with self.assertRaises(goodput.NotYet):
            agent.read(interface.make(interface.library().goodput_agent_state))

    def test_structs_take_no_field_that_they_do_not_have(self):
        with self.assertRaisesRegex(TypeError, "goodput_holding has no field gpu"):
            interface.make(interface.library().goodput_holding, gpu=1)

    def test_options_that_a_command_does_not_have_are_refused(self):
        for options, words in (({"command": "replay"}, "one of plan, allot, fit, share"),
                               ({"command": "fit", "explain": True}, "explain"), ({}, "command")):
            with self.assertRaisesRegex(ValueError, words):
                goodput.Lines(**options)

    def test_without_a_library_the_sentence_says_where_it_was_looked_for(self):
        asked = subprocess.run([sys.executable, "-c", "import goodput; goodput.version()"], capture_output=True, text=True,
                               env={**os.environ, "GOODPUT_LIBRARY": "/nowhere/libgoodput_c.so"}, check=False)
        self.assertIn("ImportError: goodput: /nowhere/libgoodput_c.so", asked.stderr)
        self.assertIn("set GOODPUT_LIBRARY", asked.stderr)


if __name__ == "__main__":
    unittest.main()
