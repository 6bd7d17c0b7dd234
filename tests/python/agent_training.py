#!/usr/bin/env python3
"""Tests the agent in Python with trainings whose gradients have a known noise, and whose steps take seconds by a
known clock. The agent is told neither. The trainings are a plain one with goodput.Agent, and loops with
goodput.Trainer on parameters that are not PyTorch tensors.

    GOODPUT_LIBRARY=... PYTHONPATH=python agent_training.py
"""

import array
import importlib.util
import json
import os
import pathlib
import random
import sys
import tempfile
import unittest
from unittest import mock

import goodput
from goodput import driver

SIZE, INITIAL, NOISE_SCALE = 40, 16, 200  # the gradient's squared norm is 1


def seconds(batch, replicas):
    return 0.02 + 1e-4 * batch + (0.01 if replicas > 1 else 0)


def useful(batch, replicas):
    """Returns the true useful examples per second with a batch per replica, without accumulation."""
    return batch * replicas / seconds(batch, replicas) * (NOISE_SCALE + INITIAL) / (NOISE_SCALE + batch * replicas)


def best_on(replicas):
    return max(useful(batch, replicas) for batch in range(1, 2049))


def noisy_gradient(batch, chance):
    spread = (NOISE_SCALE / batch / SIZE) ** 0.5
    return (SIZE ** -0.5 + chance.gauss(0, spread) for _ in range(SIZE))


class Numbers(array.array):
    """A gradient with the functions that Trainer needs, without PyTorch."""

    def __new__(cls, values):
        return super().__new__(cls, "f", values)

    def __iadd__(self, other):
        for i, number in enumerate(other):
            self[i] += number
        return self

    def __itruediv__(self, number):
        for i in range(len(self)):
            self[i] /= number
        return self


class Parameter:
    def __init__(self, size):
        self.size, self.grad = size, None

    def numel(self):
        return self.size


class Optimizer:
    """Like PyTorch's SGD, or Adam if it has betas, but parameters have no values: it records what it was called
    with."""

    def __init__(self, *sizes, adam=False):
        self.param_groups = [{"params": [Parameter(size)], "lr": 0.1, "momentum": 0.9} for size in sizes]
        if adam:
            for group in self.param_groups:
                group.update(betas=(0.9, 0.999), eps=1e-8)
        self.adam, self.state, self.updates = adam, {}, []

    def step(self):
        self.updates.append([(group["lr"], list(group["params"][0].grad)) for group in self.param_groups])
        for group in self.param_groups if self.adam else ():
            parameter = group["params"][0]
            before = self.state.setdefault(parameter, {"step": 0, "exp_avg_sq": array.array("f", [0] * parameter.size)})
            before["step"] += 1
            for i, number in enumerate(parameter.grad):
                before["exp_avg_sq"][i] = 0.999 * before["exp_avg_sq"][i] + 0.001 * number * number


class Clock:
    now = 0.0

    def __call__(self):
        return self.now


def step_of(trainer, clock, chance, scale=1):
    """Runs a step of a trainer's loop on one process, with gradients of a scaled loss. Returns the examples it took."""
    examples = 0
    for batch in trainer.step():
        examples += batch
        clock.now += seconds(batch, 1)
        gradient = [scale * number for number in noisy_gradient(batch, chance)]
        for group in trainer.optimizer.param_groups:
            parameter = group["params"][0]
            parameter.grad, gradient = Numbers(gradient[:parameter.size]), gradient[parameter.size:]
    return examples


def trainer_on(clock, optimizer, **more):
    return goodput.Trainer(optimizer, **{**dict(initial_batch=INITIAL, max_batch=4096, max_atomic_batch=2048, gpu_type="cpu",
                                                replicas=1, rank=0, split_every=8, smoothing=0.999, clock=clock), **more})


class Agents(unittest.TestCase):
    def agent_on(self, replicas):
        agent = goodput.Agent(parameters=SIZE, initial_batch=INITIAL, max_batch=4096, max_atomic_batch=2048, split_every=8,
                              smoothing=0.999)  # the noise does not change
        agent.hold("cpu", replicas)
        return agent

    def train(self, agents, steps, chance):
        """Runs all replicas' agents through some steps. Returns when they are done."""
        now = 0.0
        for _ in range(steps):
            for agent in agents:
                agent.begin_step(now)
            plan = agents[0].state
            for microbatch in range(plan.accumulation + 1):
                if microbatch > 0:
                    now += seconds(plan.local_batch, 1)
                for agent in agents:
                    if microbatch > 0:
                        agent.end_microbatch(now)
                    gradient = memoryview(array.array("f", noisy_gradient(plan.local_batch, chance)))
                    agent.add(gradient[:SIZE // 2])  # one tensor after the other
                    agent.add(list(gradient[SIZE // 2:]) if microbatch == 1 else gradient[SIZE // 2:])
            if len(agents) > 1:  # the all-reduce, for processes that are one here
                for read, write in ((goodput.Agent.totals, goodput.Agent.set_totals),
                                    (goodput.Agent.running_sum, goodput.Agent.set_running_sum)):
                    sums = [sum(numbers) for numbers in zip(*(read(agent) for agent in agents))]
                    for agent in agents:
                        write(agent, sums)
            now += seconds(plan.local_batch, len(agents))
            self.assertTrue(all([agent.end_step(now) for agent in agents]))
            agents[0].retune()
            chosen = agents[0].state
            for agent in agents[1:]:
                agent.adopt(chosen.local_batch, chosen.accumulation)
        return now

    def test_agents_find_the_noise_and_a_plan_near_the_best_on_one_replica_and_on_two(self):
        for replicas in (1, 2):
            agents = [self.agent_on(replicas) for _ in range(replicas)]
            self.assertEqual(agents[0].state.total_batch, INITIAL)
            self.assertIsNone(agents[0].report())
            now = self.train(agents, 1000, random.Random(replicas))
            state = agents[0].state
            self.assertLess(abs(state.noise_scale / NOISE_SCALE - 1), 0.25)
            self.assertTrue(all(agent.state.gradient_var == state.gradient_var for agent in agents))
            self.assertEqual(state.accumulation, 0)
            self.assertGreater(useful(state.total_batch / replicas, replicas), 0.9 * best_on(replicas))
            self.assertGreater(state.learning_rate_factor, 1.5)
            self.assertEqual(state.learning_rate_factor, agents[0].learning_rate_factor())
            line = json.loads(agents[0].report())
            self.assertEqual((line["gpus"], line["local_batch"]), (replicas, state.local_batch))
            self.assertLess(abs(line["step_s"] / seconds(state.local_batch, replicas) - 1), 0.01)

            again = self.agent_on(3)
            again.restore(agents[0].save())
            self.assertEqual(again.state.useful_examples, state.useful_examples)
            again.hold("cpu", 3)
            self.assertGreater(again.state.total_batch, INITIAL, "the restart forgot what had been measured")
            again.begin_step(now)
            with self.assertRaisesRegex(ValueError, "step"):
                again.adopt(INITIAL, 0)

    def test_what_makes_no_sense_is_refused_with_its_name(self):
        for given, words in (({"initial_batch": 0}, "initial_batch is 0"), ({"optimizer": "lion"}, "optimizer is 'lion'"),
                             ({"initial_batch": 2**40}, "initial_batch is 1099511627776"), ({"speed": 9}, "no field speed")):
            with self.assertRaisesRegex(ValueError, "training settings: .*" + words):
                goodput.Agent(**{"parameters": 4, "initial_batch": 8, "max_batch": 64, **given})
        agent = self.agent_on(1)
        agent.begin_step(0)
        with self.assertRaisesRegex(ValueError, "format 'i'"):
            agent.add(array.array("i", [1, 2]))
        with self.assertRaisesRegex(ValueError, "1 second moments of 2 numbers"):
            agent.add([1.0, 2.0], [1.0])
        with self.assertRaisesRegex(TypeError, "optimizer has no param_groups: it is a NoneType"):
            goodput.Trainer(None, gpu_type="T4", initial_batch=8, max_batch=64)


class Drivers(unittest.TestCase):
    """Tests what the driver says about the GPU, with fake readers: no GPU is needed."""

    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        for change in (mock.patch.dict(os.environ, {"PATH": self.folder.name}),
                       mock.patch.dict(sys.modules, {"pynvml": None})):
            change.start()
            self.addCleanup(change.stop)
        os.environ.pop("CUDA_VISIBLE_DEVICES", None)

    def write_smi(self, busy, processes):
        """Writes an nvidia-smi that only knows GPU 3."""
        path = pathlib.Path(self.folder.name, "nvidia-smi")
        path.write_text(f"""#!/bin/sh
[ "$1" = --id=3 ] || exit 6
case "$2" in
  --query-gpu=*) echo "{busy}" ;;
  *) for each in {processes}; do echo "$each"; done ;;
esac
""", encoding="utf-8")
        path.chmod(0o755)
        os.environ["CUDA_VISIBLE_DEVICES"] = "7,3"

    def test_without_gpu_and_reader_nothing_is_said_and_nothing_fails(self):
        self.assertIsNone(driver.gpu_utilisation())
        for visible in ("", "GPU-1", "nonsense", "-1", ","):
            os.environ["CUDA_VISIBLE_DEVICES"] = visible
            self.assertIsNone(driver.gpu_utilisation())
        agent = goodput.Agent(parameters=4, initial_batch=16, max_batch=64)
        self.assertIsNone(agent.read_gpu())
        self.assertIsNone(agent.read_gpu(device=-1))

    def test_nvidia_smi_is_asked_for_the_gpu_that_the_process_sees(self):
        self.write_smi(74, "123")
        self.assertEqual(driver.gpu_utilisation(1), 0.74)
        self.assertIsNone(driver.gpu_utilisation(0))
        self.assertIsNone(driver.gpu_utilisation(2))
        for busy, processes in ((74, "123 124"), ("[N/A]", "123"), ("", ""), (101, "123"), ("nan", "123")):
            self.write_smi(busy, processes)
            self.assertIsNone(driver.gpu_utilisation(1), busy)

    def test_nvml_is_asked_first(self):
        self.write_smi(10, "123")
        nvml = mock.MagicMock()
        nvml.nvmlDeviceGetUtilizationRates.return_value.gpu = 60
        nvml.nvmlDeviceGetComputeRunningProcesses.return_value = []
        with mock.patch.dict(sys.modules, {"pynvml": nvml}):
            self.assertEqual(driver.gpu_utilisation(1), 0.6)
            nvml.nvmlDeviceGetHandleByIndex.assert_called_with(3)
            nvml.nvmlShutdown.assert_called_once()
            nvml.nvmlDeviceGetUtilizationRates.side_effect = OSError("no permission")
            self.assertEqual(driver.gpu_utilisation(1), 0.1)

    def test_a_report_has_the_mean(self):
        self.write_smi(50, "123")
        agent = goodput.Agent(parameters=4, initial_batch=16, max_batch=64, split_every=0)
        agent.hold("T4", gpus=1)
        for step in range(20):
            agent.begin_step(step)
            agent.add(array.array("f", [1, 0, step % 2, 0]))
            agent.end_step(step + 0.5)
        self.assertNotIn("gpu_utilisation", json.loads(agent.report()))
        self.assertEqual(agent.read_gpu(1), 0.5)
        agent.add_gpu_utilisation(1)
        self.assertEqual(json.loads(agent.report())["gpu_utilisation"], 0.75)
        for bad in (-0.1, 1.1, float("nan")):
            with self.assertRaisesRegex(ValueError, "gpu_utilisation is "):
                agent.add_gpu_utilisation(bad)


class Trainers(unittest.TestCase):
    def test_a_trainer_finds_a_plan_near_the_best_and_multiplies_the_rates(self):
        clock, optimizer, chance = Clock(), Optimizer(SIZE), random.Random(5)
        with tempfile.TemporaryDirectory() as folder:
            reports = os.path.join(folder, "reports")
            trainer = trainer_on(clock, optimizer, reports=reports)
            examples = sum(step_of(trainer, clock, chance) for _ in range(1500))
            with open(reports, encoding="utf-8") as file:
                lines = [json.loads(line) for line in file]
        state = trainer.state
        self.assertLess(abs(state.noise_scale / NOISE_SCALE - 1), 0.25)
        self.assertGreater(useful(state.total_batch, 1), 0.9 * best_on(1))
        self.assertEqual(len(optimizer.updates), 1500)
        self.assertGreater(examples, 1500 * INITIAL)
        self.assertEqual(optimizer.updates[0][0][0], 0.1)
        self.assertAlmostEqual(optimizer.updates[-1][0][0], 0.1 * state.learning_rate_factor, delta=0.01)
        self.assertEqual(optimizer.param_groups[0]["lr"], 0.1, "a schedule of rates would not know its own rate")
        self.assertEqual(lines[-1]["local_batch"], state.local_batch)

    def test_updates_get_the_mean_of_microbatches_and_processes(self):
        clock, optimizer = Clock(), Optimizer(2)

        def three_alike(values):
            for i, number in enumerate(values):
                values[i] = 3 * number

        trainer = trainer_on(clock, optimizer, replicas=3, all_reduce=three_alike, split_every=0)
        trainer.state
        trainer.agent.adopt(8, 1)
        for number, batch in enumerate(trainer.step()):
            self.assertEqual(batch, 8)
            clock.now += 1
            optimizer.param_groups[0]["params"][0].grad = Numbers([2 * number, 1])
        self.assertEqual([gradient for _, gradient in optimizer.updates[0]], [[1, 1]])
        self.assertIsNone(optimizer.param_groups[0]["params"][0].grad)

    def test_with_adam_the_noise_is_that_of_preconditioned_gradients_and_the_rate_follows_its_root(self):
        clock, optimizer, chance = Clock(), Optimizer(SIZE // 2, SIZE // 2, adam=True), random.Random(6)
        trainer = trainer_on(clock, optimizer, measure_every=1)
        for _ in range(1500):
            step_of(trainer, clock, chance)
        state = trainer.state
        self.assertGreater(state.total_batch, 2 * INITIAL)
        self.assertGreater(trainer.agent.learning_rate_factor(1), 1.2)
        self.assertLess(trainer.agent.learning_rate_factor(1), (state.total_batch / INITIAL) ** 0.5 + 1e-9)

    def test_rare_rows_of_an_embedding_cannot_spoil_the_noise_under_adam(self):
        """Few steps touch each row of the first group's parameter. The second group always has a gradient."""
        rows, width, dense = 100, 4, 1000
        clock, optimizer, chance = Clock(), Optimizer(rows * width, dense, adam=True), random.Random(10)
        trainer = trainer_on(clock, optimizer, max_batch=INITIAL, max_atomic_batch=INITIAL, measure_every=1)
        for _ in range(150):
            for batch in trainer.step():
                clock.now += 1
                spread = (NOISE_SCALE / batch) ** 0.5
                touched = [chance.random() < 0.02 / (1 + row) ** 0.5 * 8 for row in range(rows)]
                optimizer.param_groups[0]["params"][0].grad = Numbers(
                    [chance.gauss(0, 30) if there else 0.0 for there in touched for _ in range(width)])
                optimizer.param_groups[1]["params"][0].grad = Numbers(
                    [1 + chance.gauss(0, spread) for _ in range(dense)])
        state = trainer.state
        # The mean square of a step's gradient is 1 in Adam's metric, or a little more while moments are young.
        self.assertLess(state.gradient_sqr, 2 * (rows * width + dense))
        self.assertLess(state.gradient_var, 10 * (rows * width + dense))
        self.assertLess(abs(state.noise_scale / (NOISE_SCALE + 0.4 * (NOISE_SCALE + INITIAL)) - 1), 0.5)

    def test_an_optimizer_with_betas_but_without_second_moments_gets_plain_norms(self):
        clock, optimizer, chance = Clock(), Optimizer(SIZE), random.Random(11)
        optimizer.param_groups[0].update(betas=(0.9, 0.99), eps=1e-8)  # as in Lion
        trainer = trainer_on(clock, optimizer, measure_every=1)
        for _ in range(300):
            optimizer.state[optimizer.param_groups[0]["params"][0]] = {"step": trainer.steps}
            step_of(trainer, clock, chance)
        self.assertGreater(trainer.state.gradient_sqr, 0.2)
        self.assertLess(trainer.state.gradient_sqr, 5)

    def test_reports_say_how_long_the_start_took_if_the_clock_is_the_systems(self):
        for clock in (None, Clock()):
            with tempfile.TemporaryDirectory() as folder:
                reports = os.path.join(folder, "reports")
                trainer = trainer_on(clock, Optimizer(SIZE), reports=reports, max_batch=INITIAL, split_every=0)
                for _ in range(20):
                    step_of(trainer, clock or Clock(), random.Random(12))
                with open(reports, encoding="utf-8") as file:
                    line = json.loads(file.readline())
            if clock or not os.path.exists("/proc/self/stat"):
                self.assertNotIn("start_s", line)
            else:
                self.assertGreater(line["start_s"], 0.01)
                self.assertLess(line["start_s"], 3600)

    def test_the_scale_of_a_loss_changes_nothing_that_is_measured(self):
        trainers = []
        for scale in (1, 1024):
            clock, chance = Clock(), random.Random(9)
            trainers.append(trainer_on(clock, Optimizer(SIZE), gradient_scale=lambda scale=scale: scale))
            for _ in range(300):
                step_of(trainers[-1], clock, chance, scale)
        self.assertEqual(trainers[0].state, trainers[1].state)
        self.assertGreater(trainers[0].state.noise_scale, 10)

    def test_a_restart_goes_on_where_the_checkpoint_was(self):
        clock, chance = Clock(), random.Random(7)
        first = trainer_on(clock, Optimizer(SIZE))
        for _ in range(400):
            step_of(first, clock, chance)
        again = trainer_on(clock, Optimizer(SIZE))
        again.load_state_dict(first.state_dict())
        self.assertEqual((again.steps, again.state.useful_examples), (400, first.state.useful_examples))
        self.assertEqual(again.state.total_batch, first.state.total_batch)

    def test_a_trainer_follows_the_schedulers_plan_and_nothing_else(self):
        clock, chance = Clock(), random.Random(8)
        with tempfile.TemporaryDirectory() as folder:
            plan_file = os.path.join(folder, "plan")
            trainer = trainer_on(clock, Optimizer(SIZE), plan_file=plan_file)
            for _ in range(500):
                step_of(trainer, clock, chance)
            self.assertEqual(trainer.state.total_batch, INITIAL)
            with open(plan_file, "w", encoding="utf-8") as file:
                file.write('{"local_batch": 100, "accumulation": 2}')
            for _ in range(20):
                step_of(trainer, clock, chance)
            self.assertEqual(trainer.state.total_batch, 300)

    def test_a_step_that_is_left_does_not_count(self):
        optimizer = Optimizer(SIZE)
        trainer = trainer_on(Clock(), optimizer)
        for _ in trainer.step():
            break
        with self.assertRaisesRegex(ValueError, "no gradient"):
            for _ in trainer.step():
                pass
        self.assertEqual((trainer.steps, optimizer.updates), (0, []))
        self.assertEqual(step_of(trainer, trainer._clock, random.Random(1)), INITIAL)


@unittest.skipUnless(importlib.util.find_spec("torch"), "PyTorch is not installed")
class TorchTrainers(unittest.TestCase):
    def test_a_token_embedding_with_rare_rows_leaves_the_squared_norm_of_adam_within_bounds(self):
        import torch
        torch.manual_seed(1)
        for kind in (torch.optim.Adam, torch.optim.AdamW):
            model = torch.nn.Sequential(torch.nn.Embedding(2000, 16), torch.nn.Flatten(), torch.nn.Linear(8 * 16, 2000))
            trainer = goodput.Trainer(kind(model.parameters(), betas=(0.9, 0.95)), initial_batch=16, max_batch=16, gpu_type="cpu",
                                      replicas=1, rank=0, measure_every=1)
            for _ in range(100):
                for batch in trainer.step():
                    # Zipf's law: few steps touch most of the rows.
                    words = (2000 ** torch.rand(batch, 9)).long() - 1
                    torch.nn.functional.cross_entropy(model(words[:, :8]), words[:, 8]).backward()
            parameters = sum(each.numel() for each in model.parameters())
            self.assertGreater(trainer.state.gradient_var, 0)
            self.assertLess(trainer.state.gradient_sqr, 2 * parameters)
            self.assertLess(trainer.state.gradient_var, 20 * parameters)


if __name__ == "__main__":
    unittest.main()
