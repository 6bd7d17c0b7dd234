#!/usr/bin/env python3
"""An ordinary PyTorch training, on one process or several, with the agent of the C interface in it: it measures noise and
step times, chooses its batch size and learning rate by them, reports to a scheduler, and goes on after a stop.

    python3 train.py LIBRARY HEADER --epochs 20
    export WORLD_SIZE=2 MASTER_ADDR=localhost MASTER_PORT=29500
    RANK=0 python3 train.py LIBRARY HEADER & RANK=1 python3 train.py LIBRARY HEADER     # on two processes

Needs python3-torch and python3-sklearn (for its digits). The agent's lines are marked.
"""

import argparse
import ctypes
import os
import signal
import sys
import time

import sklearn.datasets
import torch
import torch.distributed as dist

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import goodput_c  # noqa: E402

INITIAL_BATCH, LEARNING_RATE = 16, 0.02  # what the script was written for


def digits():
    """Images and labels for training, and every fifth for evaluating."""
    data = sklearn.datasets.load_digits()
    images = torch.tensor(data.images, dtype=torch.float32).unsqueeze(1) / 16
    labels = torch.tensor(data.target)
    kept = torch.arange(len(labels)) % 5 == 0
    return (images[~kept], labels[~kept]), (images[kept], labels[kept])


def network():
    return torch.nn.Sequential(
        torch.nn.Conv2d(1, 8, 3, padding=1), torch.nn.ReLU(), torch.nn.MaxPool2d(2),
        torch.nn.Conv2d(8, 16, 3, padding=1), torch.nn.ReLU(), torch.nn.MaxPool2d(2),
        torch.nn.Flatten(), torch.nn.Linear(64, 10))


def evaluate(model, images, labels):
    """Mean loss, and share of correct answers."""
    with torch.no_grad():
        answers = model(images)
        return (torch.nn.functional.cross_entropy(answers, labels).item(),
                (answers.argmax(1) == labels).float().mean().item())


# [agent]
def give(method, tensors, *more):
    """Gives tensors in memory to add_floats or add_mean_floats, one after the other."""
    for tensor in tensors:
        method(ctypes.cast(tensor.data_ptr(), ctypes.POINTER(ctypes.c_float)), None, tensor.numel(), *more)


def sum_totals(agent):
    """Sums what replicas measured; a step whose gradients are not looked at has nothing to be summed."""
    numbers, count = (ctypes.c_double * 2)(), ctypes.c_size_t()
    agent.totals(numbers, 2, count)
    if count.value:
        totals = torch.tensor(numbers[:], dtype=torch.float64)
        dist.all_reduce(totals)
        agent.set_totals((ctypes.c_double * 2)(*totals.tolist()), 2)


def make_agent(c, parameters, replicas, saved):
    """An agent that knows what the checkpoint says, and what is held now."""
    agent = goodput_c.Handle(c, "agent")
    agent.configure(goodput_c.sized(
        c.goodput_agent_settings, parameters=sum(parameter.numel() for parameter in parameters),
        optimizer=c.GOODPUT_OPTIMIZER_MOMENTUM, flags=c.GOODPUT_AGENT_MEAN_GIVEN, initial_batch=INITIAL_BATCH,
        max_batch=512, max_atomic_batch=512, split_every=8))
    if saved:
        agent.restore(saved.encode(), len(saved))
    agent.hold(goodput_c.sized(c.goodput_holding, gpu_type=b"cpu", nodes=1, gpus=replicas))
    return agent


def retune(agent, state, rank, replicas):
    """The first process looks for a better plan, and all adopt it."""
    if rank == 0:
        agent.retune(ctypes.c_int32())
    if replicas > 1:
        agent.read(state)
        plan = torch.tensor([state.local_batch, state.accumulation])
        dist.broadcast(plan, 0)
        agent.adopt(*plan.tolist(), None)


def report(agent, path):
    """Appends a line for the scheduler, if the present plan has been timed."""
    try:
        line = goodput_c.text(agent.report)
    except ValueError:
        return
    with open(path, "a", encoding="utf-8") as file:
        file.write(line + "\n")
# [/agent]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("library")
    parser.add_argument("header")
    parser.add_argument("--epochs", type=float, default=20)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--checkpoint", help="file to go on from, and to write at the end and on SIGTERM")
    parser.add_argument("--reports", help="file that gets the lines for the scheduler")
    options = parser.parse_args()
    told_to_stop = []
    signal.signal(signal.SIGTERM, lambda *_: told_to_stop.append(True))

    torch.set_num_threads(1)  # several processes share few cores
    torch.manual_seed(options.seed)
    if "WORLD_SIZE" in os.environ:
        dist.init_process_group("gloo")
    rank, replicas = (dist.get_rank(), dist.get_world_size()) if dist.is_initialized() else (0, 1)
    c = goodput_c.load(options.library, options.header)
    (images, labels), evaluation = digits()
    model = network()
    parameters = list(model.parameters())
    optimizer = torch.optim.SGD(parameters, lr=LEARNING_RATE, momentum=0.9)
    saved, examples, steps = None, 0, 0
    if options.checkpoint and os.path.exists(options.checkpoint):
        checkpoint = torch.load(options.checkpoint)
        model.load_state_dict(checkpoint["model"])
        optimizer.load_state_dict(checkpoint["optimizer"])
        saved, examples, steps = checkpoint["agent"], checkpoint["examples"], checkpoint["steps"]
    agent = make_agent(c, parameters, replicas, saved)
    state = goodput_c.sized(c.goodput_agent_state)

    # [loop]
    while examples < options.epochs * len(labels):
        agent.begin_step(time.monotonic(), 1, 0, None)  # agent
        agent.read(state)  # agent: the plan and the learning rate of this step
        microbatches = state.accumulation + 1
        chance = torch.Generator().manual_seed(options.seed << 40 | examples)
        drawn = torch.randint(len(labels), (replicas, microbatches, state.local_batch), generator=chance)[rank]
        mean = [torch.zeros_like(parameter) for parameter in parameters]
        for i in range(microbatches):
            if i > 0:
                agent.end_microbatch(time.monotonic())  # agent
            optimizer.zero_grad()
            torch.nn.functional.cross_entropy(model(images[drawn[i]]), labels[drawn[i]]).backward()
            give(agent.add_floats, [parameter.grad for parameter in parameters])  # agent
            torch._foreach_add_(mean, [parameter.grad for parameter in parameters], alpha=1 / microbatches / replicas)
        computed = time.monotonic()
        if replicas > 1:
            for each in mean:
                dist.all_reduce(each)
            sum_totals(agent)  # agent
        waited = time.monotonic() - computed
        give(agent.add_mean_floats, mean, 1)  # agent
        for parameter, gradient in zip(parameters, mean):
            parameter.grad = gradient
        for group in optimizer.param_groups:
            group["lr"] = LEARNING_RATE * state.learning_rate_factor  # agent
        optimizer.step()
        agent.end_step(time.monotonic(), waited, None)  # agent
        examples += microbatches * replicas * state.local_batch
        steps += 1
        if steps % 20 == 0:
            retune(agent, state, rank, replicas)  # agent
            if rank == 0 and options.reports:
                report(agent, options.reports)
        # [/loop]
        stop = torch.tensor(len(told_to_stop))
        if replicas > 1:
            dist.all_reduce(stop)
        if stop:
            break

    if rank == 0:
        loss, accuracy = evaluate(model, *evaluation)
        agent.read(state)
        print(f"{steps} steps, {examples} examples, batch {state.total_batch:.0f}, noise scale {state.noise_scale:.0f}, "
              f"learning rate {LEARNING_RATE * state.learning_rate_factor:.3g}: loss {loss:.4f}, accuracy {accuracy:.4f}")
        if options.checkpoint:
            torch.save({"model": model.state_dict(), "optimizer": optimizer.state_dict(), "examples": examples,
                        "steps": steps, "agent": goodput_c.text(agent.save)}, options.checkpoint + ".part")
            os.replace(options.checkpoint + ".part", options.checkpoint)


if __name__ == "__main__":
    main()
