"""The agent of a training: measures steps and gradients from within, and chooses batch and learning rate from them."""

from __future__ import annotations

import array
import contextlib
import ctypes
import time
from typing import Any, Mapping, NamedTuple, Optional, Sequence, Union

from .driver import gpu_utilisation
from .interface import Handle, NotYet, TooSmall, about, array_of, encoded, library, make, numbers, text

OPTIMIZERS = ("sgd", "momentum", "adam")
SCALINGS = ("by_optimizer", "ada_scale", "square_root", "linear")


class State(NamedTuple):
    """What an agent knows: the fields of goodput_agent_state."""
    local_batch: int             # examples per GPU and microbatch to train with
    accumulation: int            # microbatches before the one that synchronises
    total_batch: float           # examples per step on all replicas
    learning_rate_factor: float  # factor on the base learning rate of the first group
    gradient_sqr: float          # squared norm of the gradient at the initial batch; 0 if unknown
    gradient_var: float          # variance of the gradient, in the same unit
    noise_scale: float           # in examples; infinite if unknown
    efficiency: float            # worth of an example, relative to one at the initial batch
    goodput: float               # useful examples per second; 0 if unknown
    progress_steps: float        # steps at the initial batch that would give the same progress
    useful_examples: float       # useful examples so far


class Agent:
    """The agent of one process; docs/agent.md describes what it measures and decides. In the training's loop,
    call begin_step(), add() for each microbatch's gradient, and end_step(). Call retune() from time to time.

    parameters        numbers in one gradient, or a list with one number per group that has its own learning rate
    initial_batch     total batch that script and learning rate were written for
    max_batch         largest total batch to train with
    max_atomic_batch  most examples per GPU and microbatch; max_batch by default
    optimizer         "sgd", "momentum" or "adam" (also for AdamW)
    scaling           of the learning rate: "by_optimizer", "ada_scale", "square_root" or "linear"
    mean_given        the averaged gradient comes from add_mean()
    tries, warmup     False: never tries larger batches; also times the first steps of a plan
    more              other fields of goodput_agent_settings, such as split_every=8

    Only one thread at a time may use an agent. Times are seconds of any clock that does not go back.
    """

    def __init__(self, *, parameters: Union[int, Sequence[int]], initial_batch: int, max_batch: int,
                 max_atomic_batch: int = 0, optimizer: str = "sgd", scaling: str = "by_optimizer",
                 mean_given: bool = False, tries: bool = True, warmup: bool = True, **more: float) -> None:
        c = self._c = library()
        groups = [parameters] if isinstance(parameters, int) else list(parameters)
        flags = ((c.GOODPUT_AGENT_MEAN_GIVEN if mean_given else 0) | (0 if tries else c.GOODPUT_AGENT_NO_TRIALS) |
                 (0 if warmup else c.GOODPUT_AGENT_NO_WARMUP))
        with about("training settings"):
            settings = make(c.goodput_agent_settings, parameters=sum(groups), group_size=array_of(ctypes.c_size_t, groups),
                            group_count=len(groups), optimizer=_index("optimizer", optimizer, OPTIMIZERS),
                            scaling=_index("scaling", scaling, SCALINGS), initial_batch=initial_batch, max_batch=max_batch,
                            max_atomic_batch=max_atomic_batch or max_batch, flags=flags, **more)
        self._groups = len(groups)
        self._handle = Handle("agent")
        self._handle.configure(settings)

    def hold(self, gpu_type: str, gpus: int, nodes: int = 1, max_atomic_batch: int = 0) -> None:
        """Tells the agent what the training holds, at the start and after each restart. Chooses the plan for it."""
        self._handle.hold(make(self._c.goodput_holding, gpu_type=encoded(gpu_type), nodes=nodes, gpus=gpus,
                               max_atomic_batch=max_atomic_batch))

    def started(self, at: float) -> None:
        """Tells the agent when the training was started, on the clock of begin_step(), so that reports say how long starts take
        (start_s). Call it after hold() and before the first step."""
        self._handle.started(at)

    def begin_step(self, now: Optional[float] = None, scale: float = 1, adam_updates: int = 0) -> bool:
        """Begins a step, and returns whether its gradients are measured. If not, add() does nothing. The gradients are
        multiplied by `scale`. `adam_updates` is the number of updates that Adam's second moments have seen."""
        return self._says(self._handle.begin_step, _seconds(now), scale, adam_updates)

    def add(self, gradient: Any, second_moments: Any = None) -> None:
        """Passes the next piece of a microbatch's mean gradient, before clipping: a PyTorch tensor, a numpy array, or any
        other array of floats or doubles. With Adam, also pass as many second moments, once there are any."""
        self._add("add", gradient, second_moments)

    def add_mean(self, gradient: Any, second_moments: Any = None, scale: float = 1) -> None:
        """With mean_given: passes the next piece of the mean of all gradients of all replicas, multiplied by `scale`."""
        self._add("add_mean", gradient, second_moments, scale)

    def set_square_of_mean(self, square: float, group: int = 0) -> None:
        """Passes the squared norm of a group's part of that mean instead."""
        self._handle.set_square_of_mean(group, square)

    def end_microbatch(self, now: Optional[float] = None) -> None:
        """Ends a microbatch that is not the last of its step."""
        self._handle.end_microbatch(_seconds(now))

    def totals(self) -> "list[float]":
        """Returns what this replica measured in the step, to be summed over the replicas before its end. Empty in a step whose
        gradients are not measured."""
        return self._read("totals", ctypes.c_double, self._groups + 1)

    def set_totals(self, sums: Sequence[float]) -> None:
        """Passes the sums of totals() over all replicas."""
        self._handle.set_totals(array_of(ctypes.c_double, list(sums)), len(sums))

    def running_sum(self) -> "array.array[float]":
        """Returns the sum of this replica's gradients, to be summed in the same way. Empty with mean_given."""
        length = ctypes.c_size_t()
        with contextlib.suppress(TooSmall):
            self._handle.running_sum(None, 0, length)
        return array.array("f", self._read("running_sum", ctypes.c_float, length.value))

    def set_running_sum(self, sums: Any) -> None:
        """Passes the sums of running_sum() over all replicas."""
        piece, count, _kept = numbers(sums if isinstance(sums, array.array) else array.array("f", sums))
        self._handle.set_running_sum(piece, count)

    def end_step(self, now: Optional[float] = None, sync_s: float = -1) -> bool:
        """Ends a step. Returns False if gradients are not finite. `sync_s` is the time of its last microbatch in which nothing
        was computed, in seconds; below 0 means unknown."""
        return self._says(self._handle.end_step, _seconds(now), sync_s)

    def end_step_norms(self, norms: Sequence[Mapping[str, float]], now: Optional[float] = None, sync_s: float = -1) -> bool:
        """The same for callers that have the norms by group: the fields of goodput_gradient_norms."""
        given = [make(self._c.goodput_gradient_norms, **group) for group in norms]
        return self._says(self._handle.end_step_norms, _seconds(now), sync_s, array_of(self._c.goodput_gradient_norms, given),
                          len(given), ctypes.sizeof(self._c.goodput_gradient_norms))

    def drop_step(self) -> None:
        """Drops the step that was begun, so it does not count."""
        self._handle.drop_step()

    def retune(self) -> bool:
        """Adopts a better plan if the change pays, and returns whether it did."""
        return self._says(self._handle.retune)

    def adopt(self, local_batch: int, accumulation: int) -> bool:
        """Trains with this plan from now on, because the caller has decided so. Returns False if it is the present plan."""
        return self._says(self._handle.adopt, local_batch, accumulation)

    def adopt_text(self, plan: str) -> bool:
        """The same, from the text of a plan file, {"local_batch": 128, "accumulation": 1}. A blank text changes
        nothing."""
        return self._says(self._handle.adopt_text, plan.encode())

    @property
    def state(self) -> State:
        """Returns what the agent knows."""
        state = make(self._c.goodput_agent_state)
        self._handle.read(state)
        return State(*(getattr(state, field) for field in State._fields))

    def learning_rate_factor(self, group: int = 0) -> float:
        """Returns the factor on the base learning rate of a group now."""
        factor = ctypes.c_double()
        self._handle.learning_rate_factor(group, factor)
        return factor.value

    def add_gpu_utilisation(self, busy: float) -> None:
        """Tells the agent which fraction of the time, 0 to 1, the GPU was busy while nothing else used it, according
        to the driver. The report has the mean under the present plan, for pairs of jobs on one GPU."""
        self._handle.add_gpu_utilisation(busy)

    def read_gpu(self, device: int = 0) -> Optional[float]:
        """Asks the driver for that fraction, tells the agent, and returns it. Returns None and does nothing without a
        GPU or a driver that knows, or if another process uses the GPU. Call it now and then in the middle of a
        training."""
        busy = gpu_utilisation(device)
        if busy is not None:
            self.add_gpu_utilisation(busy)
        return busy

    def report(self) -> Optional[str]:
        """Returns the line for the scheduler, without its end, or None until the present plan has been timed."""
        try:
            return text(self._handle.report)
        except NotYet:
            return None

    def save(self) -> str:
        """Returns everything that the agent remembers, to be kept with the checkpoint."""
        return text(self._handle.save)

    def restore(self, saved: str) -> None:
        """Restores a saved agent. Call it before hold(). A rejected text changes nothing."""
        self._handle.restore(saved.encode(), len(saved.encode()))

    @staticmethod
    def _says(method: Any, *arguments: Any) -> bool:
        said = ctypes.c_int32()
        method(*arguments, said)
        return said.value != 0

    def _add(self, name: str, gradient: Any, second_moments: Any, *more: float) -> None:
        piece, count, kept = numbers(gradient)
        moments, of_moments, also_kept = (None, count, None) if second_moments is None else numbers(second_moments)
        if of_moments != count:
            raise ValueError(f"agent: there are {of_moments} second moments of {count} numbers")
        doubles = piece._type_ is ctypes.c_double
        getattr(self._handle, f"{name}_{'doubles' if doubles else 'floats'}")(piece, moments, count, *more)
        del kept, also_kept

    def _read(self, name: str, kind: Any, capacity: int) -> "list[float]":
        read, count = (kind * capacity)(), ctypes.c_size_t()
        getattr(self._handle, name)(read, capacity, count)
        return list(read[:count.value])


def _seconds(now: Optional[float]) -> float:
    return time.monotonic() if now is None else now


def _index(field: str, name: str, known: Sequence[str]) -> int:
    if name not in known:
        raise ValueError(f"{field} is '{name}', but must be one of {', '.join(known)}")
    return known.index(name)
