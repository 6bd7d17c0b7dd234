#!/usr/bin/env python3
"""An ordinary PyTorch training, on one process or several, with goodput in it: it measures noise and step times, chooses its
batch size and learning rate by them, reports to a scheduler, and goes on after a stop.

    python3 train.py --epochs 20
    export WORLD_SIZE=2 MASTER_ADDR=localhost MASTER_PORT=29500
    RANK=0 python3 train.py & RANK=1 python3 train.py     # on two processes

Needs the package goodput (docs/python.md), python3-torch and python3-sklearn (for its digits).
"""

import argparse
import os
import signal

import goodput
import sklearn.datasets
import torch
import torch.distributed as dist

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


def main():
    parser = argparse.ArgumentParser()
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
    (images, labels), evaluation = digits()
    model = network()
    optimizer = torch.optim.SGD(model.parameters(), lr=LEARNING_RATE, momentum=0.9)
    # [loop]
    trainer = goodput.Trainer(optimizer, initial_batch=INITIAL_BATCH, max_batch=512, gpu_type="cpu", reports=options.reports)
    examples = 0
    if options.checkpoint and os.path.exists(options.checkpoint):
        saved = torch.load(options.checkpoint)
        model.load_state_dict(saved["model"])
        optimizer.load_state_dict(saved["optimizer"])
        trainer.load_state_dict(saved["trainer"])
        examples = saved["examples"]

    chance = torch.Generator()
    while examples < options.epochs * len(labels):
        for microbatch, size in enumerate(trainer.step()):
            chance.manual_seed(hash((options.seed, examples, rank, microbatch)))
            drawn = torch.randint(len(labels), (size,), generator=chance)
            torch.nn.functional.cross_entropy(model(images[drawn]), labels[drawn]).backward()
            examples += size * replicas
        # [/loop]
        stop = torch.tensor(len(told_to_stop))
        if replicas > 1:
            dist.all_reduce(stop)
        if stop:
            break

    if rank == 0:
        loss, accuracy = evaluate(model, *evaluation)
        state = trainer.state
        print(f"{trainer.steps} steps, {examples} examples, batch {state.total_batch:.0f}, noise scale "
              f"{state.noise_scale:.0f}, learning rate {LEARNING_RATE * state.learning_rate_factor:.3g}: "
              f"loss {loss:.4f}, accuracy {accuracy:.4f}")
        if options.checkpoint:
            torch.save({"model": model.state_dict(), "optimizer": optimizer.state_dict(), "examples": examples,
                        "trainer": trainer.state_dict()}, options.checkpoint + ".part")
            os.replace(options.checkpoint + ".part", options.checkpoint)


if __name__ == "__main__":
    main()
