#!/usr/bin/env python3
"""How benchmarks/accuracy/time_to_target.py reads result logs and systems of MLPerf, odd ones among them, and what it
tells the program about the accelerator that is left out.
"""
import json
import os
import shutil
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "benchmarks", "accuracy"))
import time_to_target  # noqa: E402


def line(key, value=None, time=0, **about):
    return ':::MLLOG ' + json.dumps({"namespace": "", "time_ms": time, "event_type": "POINT_IN_TIME", "key": key,
                                     "value": value, "metadata": {"file": "train.py", "lineno": 1, **about}})


def log(*, batch=16, seconds=100, examples=4096, status="success", without=()):
    lines = {"batch": line("global_batch_size", batch),
             "start": line("run_start", time=1_000),
             "first": line("eval_accuracy", 5.2, 2_000, samples_count=examples // 2),
             "last": line("eval_accuracy", 3.2, 3_000, samples_count=examples),
             "stop": line("run_stop", time=1_000 + 1_000 * seconds, status=status)}
    return "\n".join(text for name, text in lines.items() if name not in without).encode()


class ParsedLog(unittest.TestCase):
    def parse(self, content, workload="llama31_8b"):
        return time_to_target.parse_log(content, workload)

    def refused(self, content, reason):
        with self.assertRaisesRegex(ValueError, reason):
            self.parse(content)

    def test_run(self):
        self.assertEqual(self.parse(log()), (16, 100, 4096))

    def test_runs_that_do_not_count(self):
        self.refused(log(status="aborted"), "did not reach the target")
        self.refused(log(status=None), "did not reach the target")
        self.refused(log(without=["stop"]), "no start or stop")
        self.refused(log(without=["start"]), "no start or stop")
        self.refused(log(seconds=0), "no start or stop")
        self.refused(log(without=["batch"]), "no batch size")
        for batch in (0, -8, "16", None, True, float("nan"), float("inf")):
            self.refused(log(batch=batch), "no batch size")
        self.refused(log(without=["first", "last"]), "no evaluation")
        self.refused(log(examples=0), "no evaluation")
        self.refused(b"", "no start or stop")

    def test_odd_lines(self):
        odd = [b"\xff\xfe not text", b":::MLLOG", b":::MLLOG {\"key\": \"run_stop\", ", b":::MLLOG [\"run_stop\"]",
               b":::MLLOG \"run_stop\"", b":::MLLOG {\"key\": \"run_stop\", \"metadata\": {\"status\": \"success\"}}",
               b":::MLLOG {\"key\": \"global_batch_size\", \"value\": 7}", b"global_batch_size 7, run_stop", b""]
        self.assertEqual(self.parse(b"\n".join(odd) + b"\n" + log() + b"\n" + b"\n".join(odd)), (16, 100, 4096))

    def test_lines_of_several_processes(self):
        prefixed = b"\r\n".join(b"3: " + text for text in log().split(b"\n"))
        again = line("run_start", time=9_000).encode()
        self.assertEqual(self.parse(prefixed + b"\r\n" + again), (16, 100, 4096))

    def test_odd_metadata(self):
        for odd in (b"null", b"[]", b'["status"]', b'"text"', b"7", b'{"samples_count": null, "epoch_num": "7"}'):
            evaluation = b':::MLLOG {"time_ms": 5, "key": "eval_accuracy", "value": 1, "metadata": ' + odd + b"}"
            self.assertEqual(self.parse(log() + b"\n" + evaluation), (16, 100, 4096))

    def test_epochs(self):
        epochs = line("eval_accuracy", 0.7, 4_000, epoch_num=0.5).encode()
        content = log(without=["first", "last"]) + b"\n" + epochs
        self.assertEqual(self.parse(content, "rgat").examples, 94605581 / 2)
        self.assertEqual(self.parse(content, "other").examples, 0.5)
        both = line("eval_accuracy", 0.7, samples_count=5, epoch_num=1).encode()
        self.assertEqual(self.parse(log() + b"\n" + both).examples, 5)


class ReadPoints(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.mkdtemp()
        self.addCleanup(shutil.rmtree, self.folder)
        for name, model in (("one", "NVIDIA Blackwell GPU (B200-SXM-180GB)"), ("two", "NVIDIA Blackwell GPU (GB200)")):
            self.write(f"Lab/systems/{name}.json", json.dumps({"number_of_nodes": "2", "accelerators_per_node": 8,
                                                               "accelerator_model_name": model}).encode())
        for run, seconds in enumerate((100, 120, 300)):
            self.write(f"Lab/results/one/flux1/result_{run}.txt", log(seconds=seconds))
        self.write("Lab/results/one/flux1/result_3.txt", log(status="aborted"))
        self.write("Lab/results/one/flux1/notes.txt", log())
        self.write("Lab/results/two/flux1/result_0.txt", log(batch=32, examples=8192))
        self.write("Lab/results/two/rgat/result_0.txt", log(without=["first", "last"]) + b"\n"
                   + line("eval_accuracy", 0.7, 4_000, epoch_num=2).encode())

    def write(self, name, content):
        path = os.path.join(self.folder, name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "wb") as file:
            file.write(content)

    def check(self, folder):
        points, unused = time_to_target.read_points(folder)
        self.assertEqual([point[:7] for point in points], [("flux1", "B200", 16, 2, 16, 120, 4096),
                                                           ("flux1", "GB200", 16, 2, 32, 100, 8192),
                                                           ("rgat", "GB200", 16, 2, 16, 100, 2 * 94605581)])
        self.assertAlmostEqual(points[0].step_s, 120 * 16 / 4096)
        self.assertEqual([point.runs for point in points], [3, 1, 1])
        self.assertEqual(unused, {"did not reach the target": 1})

    def test_folder(self):
        self.check(self.folder)

    @unittest.skipUnless(shutil.which("git"), "needs git")
    def test_git_directory(self):
        for command in (["init", "-q"], ["add", "."],
                        ["-c", "user.name=a", "-c", "user.email=a@b", "commit", "-q", "-m", "a"]):
            subprocess.run(["git", "-C", self.folder, *command], check=True)
        self.check(os.path.join(self.folder, ".git"))
        self.check(self.folder)


class Accelerators(unittest.TestCase):
    def test_names(self):
        for name, short in (("NVIDIA Blackwell Ultra GPU (B300-SXM-270GB)", "B300"),
                            ("NVIDIA Blackwell GPU (GB200)", "GB200"), ("NVIDIA H100-SXM5-80GB", "H100"),
                            ("NVIDIA H200 NVL 141GB", "H200 NVL"), ("AMD Instinct MI325X 256GB HBM3E DLC", "MI325X"),
                            ("NVIDIA RTX Pro 6000 SE PCIe 96GB", "RTX Pro 6000")):
            self.assertEqual(time_to_target.ACCELERATOR.search(name)[0], short)


class LeftOut(unittest.TestCase):
    """Steps take LENGTH[workload] * SLOWNESS[accelerator] / gpus. A stand-in for the program knows this."""

    LENGTH = {"flux1": 100.0, "rgat": 7.0, "retinanet": 3.0}
    SLOWNESS = {"B200": 1.0, "H100": 2.5, "MI300X": 4.0}
    PLACES = {"flux1": {"B200": (8, 16, 64), "H100": (16, 32)}, "rgat": {"B200": (8,), "H100": (8, 16)},
              "retinanet": {"B200": (8,), "MI300X": (8, 16)}}

    def setUp(self):
        self.points = [
            time_to_target.Point(workload, accelerator, gpus, 1, 64, 1, 1, self.step(workload, accelerator, gpus), 1, 0)
            for workload, places in sorted(self.PLACES.items()) for accelerator, counts in sorted(places.items())
            for gpus in counts]
        self.documents = []
        real, time_to_target.ask = time_to_target.ask, self.answer
        self.addCleanup(setattr, time_to_target, "ask", real)

    def step(self, workload, accelerator, gpus):
        return self.LENGTH[workload] * self.SLOWNESS[accelerator] / gpus

    def answer(self, _, documents):
        self.documents += documents
        answers = []
        for document in documents:
            if not document["samples"]:
                return [{}] * len(documents)
            sample = document["samples"][0]
            length = sample["iteration_s"] * sample["gpus"] / self.SLOWNESS[sample["gpu_type"]]
            steps = [length * self.SLOWNESS[one["gpu_type"]] / one["gpus"] for one in document["predict"]]
            answers.append({"predictions": [{"iteration_s": step, "low_s": step / 2, "high_s": step * 2}
                                            for step in steps]})
        return answers

    def test_one_point(self):
        found = time_to_target.from_one_point("", self.points)
        self.assertEqual([point[:3] for point in found], [
            ("flux1", "B200", 16), ("flux1", "B200", 64), ("flux1", "H100", 32), ("retinanet", "MI300X", 16),
            ("rgat", "H100", 16)])
        for point, (known, step) in found.items():
            self.assertAlmostEqual(step.median, point.step_s)
            self.assertEqual(known.gpus, min(self.PLACES[point.workload][point.accelerator]))
        for document in self.documents:
            left_out = {one["gpu_type"] for one in document["predict"]}
            self.assertEqual(len(left_out), 1)
            self.assertEqual(sum(sample["gpu_type"] in left_out for sample in document["samples"]), 1)

    def test_other_workloads(self):
        found = time_to_target.from_other_workloads("", self.points)
        # MI300X ran only retinanet, so other workloads predict neither its points nor B200's on retinanet.
        self.assertEqual(set(found), {point for point in self.points if point.workload != "retinanet"})
        for point, step in found.items():
            self.assertAlmostEqual(step, point.step_s)
        self.assertEqual(len(self.documents), 6)
        for document in self.documents:
            asked = {one["gpu_type"] for one in document["predict"]}
            self.assertEqual(asked, {sample["gpu_type"] for sample in document["samples"]})  # none is left out

    def test_examples_of_others(self):
        points = [point._replace(examples=1000 * (number + 1)) for number, point in enumerate(self.points)]
        with self.assertRaises(KeyError):  # the answers of this test have no noise scale
            time_to_target.predict_examples("", points, {"rgat": [{"batch": 1, "examples": 5, "runs": 1, "std": 0}]})
        for point, document in zip(points, self.documents):
            known = [one["examples"] for one in document["convergence"]]
            others = [other.examples for other in points
                      if other.workload == point.workload and other.accelerator != point.accelerator]
            self.assertEqual(known, [5] if point.workload == "rgat" else others)


if __name__ == "__main__":
    unittest.main()
