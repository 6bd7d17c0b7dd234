#!/usr/bin/env python3
"""usage: elastic_training.py GOODPUT_TRAINING

Two processes train; they are told to stop, and one goes on from their checkpoint. The loss falls in both parts, nothing
is done twice, and every report line is one that goodput plan reads.
"""
import csv
import json
import os
import signal
import subprocess
import sys
import tempfile
import time

REPORT = {"gpu_type": str, "nodes": int, "gpus": int, "local_batch": int, "accumulation": int, "step_s": float,
          "gradient": dict}


def rows_of(path):
    if not os.path.exists(path):
        return []
    with open(path, encoding="utf-8") as file:
        whole = [line for line in file if line.endswith("\n")]
    return list(csv.DictReader(whole))


def main():
    program = sys.argv[1]
    with tempfile.TemporaryDirectory() as folder:
        log, reports, checkpoint = (os.path.join(folder, name) for name in ("log.csv", "reports", "checkpoint"))
        common = [program, "--network", "cnn", "--checkpoint", checkpoint, "--log", log, "--reports", reports]
        environment = dict(os.environ, OMP_NUM_THREADS="1")  # several processes share few cores
        two = subprocess.Popen(["mpirun", "--oversubscribe", "--allow-run-as-root", "-n", "2"] + common, env=environment)
        deadline = time.monotonic() + 30
        while len(rows_of(log)) < 12 and time.monotonic() < deadline and two.poll() is None:
            time.sleep(0.02)
        two.send_signal(signal.SIGTERM)
        two.wait(timeout=30)
        assert os.path.exists(checkpoint), "stopped without a checkpoint"
        before = rows_of(log)
        assert len(before) >= 12, f"only {len(before)} evaluations before the stop"
        last = before[-1]
        examples = int(last["examples"]) + 20000
        subprocess.run(common + ["--most-examples", str(examples)], env=environment, check=True, timeout=60)
        after = rows_of(log)[len(before):]
        assert after and int(after[0]["step"]) > int(last["step"]), "went on from before the checkpoint, or not at all"
        assert float(last["loss"]) < 0.8 * float(before[0]["loss"]), "the loss did not fall before the stop"
        assert float(after[-1]["loss"]) < 0.3 * float(before[0]["loss"]), "the loss did not fall after the stop"
        with open(reports, encoding="utf-8") as file:
            lines = [json.loads(line) for line in file]
        for report in lines:
            for field, kind in REPORT.items():
                assert isinstance(report[field], (kind, int)), f"{field} of {report}"
            assert report["step_s"] > 0 and report["gradient"]["var"] >= 0 and report["gradient"]["sqr"] >= 0, report
        assert {report["gpus"] for report in lines} == {1, 2}, "no reports of both shapes"


if __name__ == "__main__":
    main()
