#!/usr/bin/env python3
"""usage: GOODPUT_LIBRARY=... PYTHONPATH=python python_training.py TRAIN_PY

examples/python/train.py learns the digits; told to stop, it goes on from its checkpoint on two processes; and its reports are
what goodput plan reads. Run by a Python that has torch and scikit-learn.
"""
import json
import os
import re
import signal
import socket
import subprocess
import sys
import tempfile
import time

TRAIN, = sys.argv[1:]
LINE = re.compile(r"(\d+) steps, (\d+) examples, batch (\d+), noise scale (\S+), learning rate (\S+): loss (\S+), accuracy (\S+)")


def start(arguments, rank=0, processes=1, port=0):
    environment = dict(os.environ, OMP_NUM_THREADS="1")
    if processes > 1:
        environment.update(RANK=str(rank), WORLD_SIZE=str(processes), MASTER_ADDR="localhost", MASTER_PORT=str(port))
    return subprocess.Popen([sys.executable, TRAIN, *arguments], env=environment, stdout=subprocess.PIPE,
                            text=True)


def result(process):
    output = process.communicate(timeout=120)[0]
    assert process.returncode == 0, output
    steps, examples, batch, noise, rate, loss, accuracy = LINE.search(output).groups()
    return {"steps": int(steps), "examples": int(examples), "batch": int(batch), "noise": float(noise),
            "rate": float(rate), "loss": float(loss), "accuracy": float(accuracy)}


def main():
    with tempfile.TemporaryDirectory() as folder:
        checkpoint, reports = os.path.join(folder, "checkpoint"), os.path.join(folder, "reports")
        common = ["--checkpoint", checkpoint, "--reports", reports]
        first = start(common + ["--epochs", "100000"])
        deadline = time.monotonic() + 90
        while not os.path.exists(reports) and first.poll() is None and time.monotonic() < deadline:
            time.sleep(0.05)
        time.sleep(0.5)
        first.send_signal(signal.SIGTERM)
        stopped = result(first)
        assert os.path.exists(checkpoint), "stopped without a checkpoint"
        epochs = ["--epochs", str(stopped["examples"] / 1437 + 20)]
        with socket.socket() as free:
            free.bind(("localhost", 0))
            port = free.getsockname()[1]
        both = [start(common + epochs, rank, 2, port) for rank in (0, 1)]
        goes_on = result(both[0])
        assert both[1].wait(timeout=60) == 0
        assert goes_on["steps"] > stopped["steps"] and goes_on["examples"] >= stopped["examples"] + 20 * 1437
        assert goes_on["loss"] < 0.5 and goes_on["accuracy"] > 0.9, goes_on
        assert goes_on["batch"] >= 16 and 0 < goes_on["noise"] < 1e4, goes_on
        with open(reports, encoding="utf-8") as file:
            lines = [json.loads(line) for line in file]
        assert {line["gpus"] for line in lines} == {1, 2}, "no reports of both shapes"
        assert all(line["step_s"] > 0 and line["gradient"]["var"] > 0 for line in lines)


if __name__ == "__main__":
    main()
