#!/usr/bin/env python3
"""The agent of a training in Python, through the C interface: what examples/c/train.py does, without PyTorch.

    agent_training.py LIBRARY HEADER EXAMPLES

Gradients are drawn with a noise that is known, and steps take seconds by a clock that is known. Nobody tells the agent.
"""

import array
import ctypes
import json
import random
import sys

LIBRARY, HEADER, EXAMPLES = sys.argv[1:]
sys.path.insert(0, EXAMPLES)
import goodput_c  # noqa: E402

SIZE, INITIAL, NOISE_SCALE = 40, 16, 200  # the gradient's squared norm is 1
c = goodput_c.load(LIBRARY, HEADER)


def agent_on(replicas):
    agent = goodput_c.Handle(c, "agent")
    agent.configure(goodput_c.sized(c.goodput_agent_settings, parameters=SIZE, initial_batch=INITIAL, max_batch=4096,
                                    max_atomic_batch=2048, split_every=8, smoothing=0.999))  # the noise stays
    agent.hold(goodput_c.sized(c.goodput_holding, gpu_type=b"cpu", nodes=1, gpus=replicas))
    return agent


def state_of(agent):
    state = goodput_c.sized(c.goodput_agent_state)
    agent.read(state)
    return state


def seconds(batch, replicas):
    return 0.02 + 1e-4 * batch + (0.01 if replicas > 1 else 0)


def goodput(batch, replicas):
    """Of a batch a replica, without accumulation: by what is true."""
    return batch * replicas / seconds(batch, replicas) * (NOISE_SCALE + INITIAL) / (NOISE_SCALE + batch * replicas)


def train(agents, steps, chance, now=0.0):
    """All replicas' agents through some steps; when they are done."""
    for _ in range(steps):
        for agent in agents:
            agent.begin_step(now, 1, 0, None)
        plan = state_of(agents[0])
        for microbatch in range(plan.accumulation + 1):
            if microbatch > 0:
                now += seconds(plan.local_batch, 1)
            for agent in agents:
                if microbatch > 0:
                    agent.end_microbatch(now)
                spread = (NOISE_SCALE / plan.local_batch / SIZE) ** 0.5
                gradient = array.array("f", (SIZE ** -0.5 + chance.gauss(0, spread) for _ in range(SIZE)))
                pointer = (ctypes.c_float * SIZE).from_buffer(gradient)
                agent.add_floats(pointer, None, SIZE // 2)  # a tensor after the other
                agent.add_floats(ctypes.cast(ctypes.byref(pointer, 4 * (SIZE // 2)), ctypes.POINTER(ctypes.c_float)), None,
                                 SIZE - SIZE // 2)
        if len(agents) > 1:
            sum_over(agents, "totals", ctypes.c_double)
            sum_over(agents, "running_sum", ctypes.c_float)
        now += seconds(plan.local_batch, len(agents))
        counted = ctypes.c_int32()
        for agent in agents:
            agent.end_step(now, -1, counted)
            assert counted.value == 1
        agents[0].retune(ctypes.c_int32())
        chosen = state_of(agents[0])
        for agent in agents[1:]:
            agent.adopt(chosen.local_batch, chosen.accumulation, None)
    return now


def sum_over(agents, name, kind):
    """The all-reduce of processes that are one here."""
    sums, count = [0.0] * SIZE, ctypes.c_size_t()
    for agent in agents:
        numbers = (kind * SIZE)()
        getattr(agent, name)(numbers, SIZE, count)
        sums = [a + b for a, b in zip(sums, numbers)]
    for agent in agents:
        getattr(agent, "set_" + name)((kind * count.value)(*sums[:count.value]), count.value)


def main():
    for replicas in (1, 2):
        agents = [agent_on(replicas) for _ in range(replicas)]
        chance = random.Random(replicas)
        assert state_of(agents[0]).total_batch == INITIAL
        now = train(agents, 1000, chance)
        state = state_of(agents[0])
        assert abs(state.noise_scale / NOISE_SCALE - 1) < 0.25, state.noise_scale
        assert all(state_of(agent).gradient_var == state.gradient_var for agent in agents)
        best = max(goodput(batch, replicas) for batch in range(1, 2049))
        reached = goodput(state.total_batch / replicas, replicas)
        assert state.accumulation == 0 and reached > 0.9 * best, (state.total_batch, reached, best)
        assert state.learning_rate_factor > 1.5
        line = json.loads(goodput_c.text(agents[0].report))
        assert line["gpus"] == replicas and line["local_batch"] == state.local_batch, line
        assert abs(line["step_s"] / seconds(state.local_batch, replicas) - 1) < 0.01, line

        saved = goodput_c.text(agents[0].save).encode()
        again = agent_on(3)
        again.restore(saved, len(saved))
        assert state_of(again).useful_examples == state_of(agents[0]).useful_examples
        again.hold(goodput_c.sized(c.goodput_holding, gpu_type=b"cpu", nodes=1, gpus=3))
        assert state_of(again).total_batch > INITIAL, "the restart forgot what had been measured"
        again.begin_step(now, 1, 0, None)
        try:
            again.adopt(INITIAL, 0, None)
        except ValueError as refusal:
            assert "step" in str(refusal)
        else:
            raise AssertionError("a plan was changed within a step")


if __name__ == "__main__":
    main()
