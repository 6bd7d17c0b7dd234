"""A data-parallel training loop that chooses its batch size and learning rate from what it measures."""

from __future__ import annotations

import array
import os
import time
from typing import Any, Callable, Iterator, Optional, cast

from .agent import Agent, State


class Trainer:
    """Sits between a training loop and its optimizer, with one Trainer per process:

        trainer = goodput.Trainer(optimizer, initial_batch=16, max_batch=512, gpu_type="T4")
        while not done:
            for examples in trainer.step():                 # of one microbatch of this process
                loss_of(model, draw(examples)).backward()

    At the end of a step, it averages gradients over microbatches and processes, and updates with the learning rate that fits
    the batch. It multiplies the optimizer's rates, so a schedule of rates continues to work. Every `look_every` steps, the
    first process looks for a better batch, or reads the scheduler's, and all processes adopt it.

    optimizer       a PyTorch optimizer, or an object with param_groups with "params" and "lr", step(), and Adam's moments in
                    `state`. A parameter has numel() and grad; a gradient can be added to, divided, and read as numbers
    replicas, rank  number of processes, one per GPU, and the index of this one; WORLD_SIZE and RANK by default (see torchrun)
    all_reduce      sums a tensor, or an array of doubles, over all processes in place; torch.distributed's by default
    update          updates the parameters; optimizer.step by default
    gradient_scale  returns the present factor on gradients, in mixed precision
    reports         file that gets lines for the scheduler; plan_file: the file in which the scheduler sets the batch,
                    which then is chosen in no other way
    clock           returns seconds; by default time.monotonic, after the GPU has finished its work
    more            further arguments of Agent; split_every is 8 by default

    Only one thread may use a Trainer.
    """

    def __init__(self, optimizer: Any, *, gpu_type: str, nodes: int = 1, replicas: Optional[int] = None,
                 rank: Optional[int] = None, all_reduce: Optional[Callable[[Any], Any]] = None,
                 update: Optional[Callable[[], Any]] = None, gradient_scale: Callable[[], float] = lambda: 1.0,
                 reports: Optional[str] = None, plan_file: Optional[str] = None, look_every: int = 20,
                 clock: Optional[Callable[[], float]] = None, **more: Any) -> None:
        if not getattr(optimizer, "param_groups", None):
            raise TypeError(f"Trainer: optimizer has no param_groups: it is a {type(optimizer).__name__}")
        self.optimizer, self.update, self.gradient_scale = optimizer, update or optimizer.step, gradient_scale
        self.replicas = int(os.environ.get("WORLD_SIZE", 1)) if replicas is None else replicas
        self.rank = int(os.environ.get("RANK", 0)) if rank is None else rank
        self.reports, self.plan_file, self.look_every = reports, plan_file, look_every
        self.steps, self._read_gpu_s = 0, 0.0
        self._groups = [list(group["params"]) for group in optimizer.param_groups]
        self._parameters = [parameter for group in self._groups for parameter in group]
        self._sum, self._clock = all_reduce or self._all_reduce, clock or self._monotonic
        first = optimizer.param_groups[0]
        kind = "adam" if "betas" in first else "momentum" if first.get("momentum") else "sgd"
        if kind == "adam":
            more = {"adam_beta2": first["betas"][1], "adam_epsilon": first["eps"], **more}
        more = {"parameters": [sum(each.numel() for each in group) for group in self._groups], "optimizer": kind,
                "mean_given": True, "split_every": 8, **more}
        self.agent = Agent(**more)
        self._holding, self._holds, self._own_clock = (gpu_type, self.replicas, nodes), False, clock is None

    @property
    def state(self) -> State:
        """Returns what is known and decided: local_batch, accumulation, total_batch, noise_scale, ..."""
        self._hold()
        return self.agent.state

    def step(self) -> Iterator[int]:
        """Makes one step. Yields the examples of each microbatch of this process; its gradients must be there before the next
        turn. If the loop is left early, the step does not count and updates nothing."""
        self._hold()
        clock, agent, scale = self._clock, self.agent, self.gradient_scale()
        wanted = agent.begin_step(clock(), scale, self._adam_updates())
        plan = agent.state
        moments, ended = self._moments(), False
        mean: "list[Any]" = []
        try:
            for microbatch in range(plan.accumulation + 1):
                if microbatch > 0:
                    agent.end_microbatch(clock())
                self._forget_gradients()
                yield plan.local_batch
                gradients = [parameter.grad for parameter in self._parameters]
                if any(gradient is None for gradient in gradients):
                    raise ValueError("training: a parameter that the optimizer updates has no gradient")
                if wanted:
                    for gradient, moment in zip(gradients, moments):
                        agent.add(gradient, moment)
                for place, gradient in enumerate(gradients):
                    if microbatch > 0:
                        mean[place] += gradient
                    else:
                        mean.append(gradient)
            waited = self._average(mean, (plan.accumulation + 1) * self.replicas)
            if wanted:
                for gradient, moment in zip(mean, moments):
                    agent.add_mean(gradient, moment, scale)
            for parameter, gradient in zip(self._parameters, mean):
                parameter.grad = gradient
            self._update()
            agent.end_step(clock(), waited)
            ended = True
        finally:
            if not ended:
                agent.drop_step()
        self._forget_gradients()
        self.steps += 1
        if self.steps % self.look_every == 0:
            self._look()

    def state_dict(self) -> "dict[str, Any]":
        """Returns what to keep with the checkpoint."""
        return {"agent": self.agent.save(), "steps": self.steps}

    def load_state_dict(self, saved: "dict[str, Any]") -> None:
        """Continues from a checkpoint, possibly on other GPUs. Call it before the first step."""
        self.agent.restore(saved["agent"])
        self.steps = saved["steps"]

    def _hold(self) -> None:
        if not self._holds:
            self.agent.hold(*self._holding)
            self._holds = True
            age = _process_age() if self._own_clock else None
            if age is not None:
                self.agent.started(self._clock() - age)

    def _forget_gradients(self) -> None:
        for parameter in self._parameters:
            parameter.grad = None

    def _adam_updates(self) -> int:
        """Returns the updates that all second moments have seen; 0 unless each parameter has some, as under Lion or Adamax."""
        if any(moment is None for moment in self._moments()):
            return 0
        return min(int(self._of_optimizer(parameter, "step", 0)) for parameter in self._parameters)

    def _moments(self) -> "list[Any]":
        """Returns what each parameter's gradient is divided by: with amsgrad, its largest second moments."""
        return [self._of_optimizer(parameter, "max_exp_avg_sq", self._of_optimizer(parameter, "exp_avg_sq", None))
                for parameter in self._parameters]

    def _of_optimizer(self, parameter: Any, name: str, otherwise: Any) -> Any:
        state = getattr(self.optimizer, "state", {})
        return state[parameter].get(name, otherwise) if parameter in state else otherwise

    def _average(self, mean: "list[Any]", count: int) -> float:
        """Turns the sums of this process' gradients into the mean over all. Returns the seconds that this took."""
        began = self._clock()
        for gradient in mean:
            if self.replicas > 1:
                self._sum(gradient)
            if count > 1:
                gradient /= count
        totals = self.agent.totals() if self.replicas > 1 else []
        if totals:
            self.agent.set_totals(self._summed(totals))
        return self._clock() - began if self.replicas > 1 else 0

    def _summed(self, values: "list[float]") -> "list[float]":
        sums = array.array("d", values)
        self._sum(sums)
        return list(sums)

    def _update(self) -> None:
        rates = [group["lr"] for group in self.optimizer.param_groups]
        for index, group in enumerate(self.optimizer.param_groups):
            group["lr"] = rates[index] * self.agent.learning_rate_factor(index)
        self.update()
        for rate, group in zip(rates, self.optimizer.param_groups):
            group["lr"] = rate

    def _look(self) -> None:
        """Lets the first process decide or read the plan, which all processes then adopt."""
        if self.rank == 0:
            if self.plan_file is None:
                self.agent.retune()
            elif os.path.exists(self.plan_file):
                with open(self.plan_file, encoding="utf-8") as file:
                    self.agent.adopt_text(file.read())
        if self.replicas > 1:
            plan = self.agent.state
            chosen = [plan.local_batch, plan.accumulation] if self.rank == 0 else [0, 0]
            local_batch, accumulation = self._summed([float(number) for number in chosen])
            self.agent.adopt(int(local_batch), int(accumulation))
        if self.rank == 0 and self.reports:
            self._read_gpu()
        line = self.agent.report() if self.rank == 0 and self.reports else None
        if line and self.reports:
            with open(self.reports, "a", encoding="utf-8") as file:
                file.write(line + "\n")

    def _read_gpu(self) -> None:
        """Asks the driver how busy the GPU is, at most twice a minute."""
        first, now = self._parameters[0], time.monotonic()
        if getattr(first, "is_cuda", False) and now - self._read_gpu_s > 30:
            self.agent.read_gpu(getattr(first.device, "index", None) or 0)
            self._read_gpu_s = now

    def _monotonic(self) -> float:
        if getattr(self._parameters[0], "is_cuda", False):
            import torch
            torch.cuda.synchronize()
        return time.monotonic()

    def _all_reduce(self, values: Any) -> None:
        import torch.distributed
        tensor = values
        if isinstance(values, array.array):
            tensor = torch.tensor(values.tolist(), dtype=torch.float64, device=self._parameters[0].device)
        cast(Any, torch.distributed).all_reduce(tensor)
        if tensor is not values:
            values[:] = array.array("d", tensor.tolist())


def _process_age() -> Optional[float]:
    """Returns the seconds since the start of this process, or None if the system does not tell."""
    try:
        with open("/proc/self/stat", encoding="ascii", errors="replace") as file:
            ticks = int(file.read().rpartition(")")[2].split()[19])
        return max(0.0, time.clock_gettime(time.CLOCK_BOOTTIME) - ticks / os.sysconf("SC_CLK_TCK"))
    except (OSError, ValueError, IndexError, AttributeError):
        return None
