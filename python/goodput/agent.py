"""The agent of a training: it measures steps and gradients from within, and chooses batch and learning rate by them."""

from __future__ import annotations

import array
import contextlib
import ctypes
import time
from typing import Any, Mapping, NamedTuple, Optional, Sequence, Union

from .interface import Handle, NotYet, TooSmall, about, array_of, encoded, library, make, numbers, text

OPTIMIZERS = ("sgd", "momentum", "adam")
SCALINGS = ("by_optimizer", "ada_scale", "square_root", "linear")


class State(NamedTuple):
    """What an agent knows; the fields of goodput_agent_state."""
    local_batch: int             # examples a GPU and microbatch to train with
    accumulation: int            # microbatches before the one that synchronises
    total_batch: float           # examples of a step on all replicas
    learning_rate_factor: float  # on the base rate, of the first group
    gradient_sqr: float          # squared norm of the gradient at the initial batch; 0: not known
    gradient_var: float          # its variance, in the same unit
    noise_scale: float           # in examples; infinite while nothing is known
    efficiency: float            # what an example is worth of one at the initial batch
    goodput: float               # useful examples a second; 0: not known
    progress_steps: float        # steps at the initial batch that the training is worth
    useful_examples: float       # so far


class Agent:
    """The agent of one process; docs/agent.md describes what it measures and decides. In the training's loop:
    begin_step(), add() for each microbatch's gradient, end_step(); from time to time retune().

    parameters        numbers of one gradient, or a list: by group with a learning rate of its own
    initial_batch     total batch that script and learning rate were written for
    max_batch         largest total batch to train with
    max_atomic_batch  most examples a GPU and microbatch; left out: max_batch
    optimizer         "sgd", "momentum" or "adam" (AdamW too)
    scaling           of the learning rate: "by_optimizer", "ada_scale", "square_root" or "linear"
    mean_given        the averaged gradient comes by add_mean()
    tries, warmup     False: larger batches are not tried; the first steps of a plan are timed like all others
    more              other fields of goodput_agent_settings, as split_every=8

    One agent is used by one thread at a time. Times are seconds of any clock that does not go back.
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
        """At the start and after each restart: what the training holds now. Chooses the plan for it."""
        self._handle.hold(make(self._c.goodput_holding, gpu_type=encoded(gpu_type), nodes=nodes, gpus=gpus,
                               max_atomic_batch=max_atomic_batch))

    def begin_step(self, now: Optional[float] = None, scale: float = 1, adam_updates: int = 0) -> bool:
        """Begins a step, and says whether its gradients are looked at; in other steps add() does nothing. Gradients come
        multiplied by `scale`; `adam_updates` are those that Adam's second moments have seen."""
        return self._says(self._handle.begin_step, _seconds(now), scale, adam_updates)

    def add(self, gradient: Any, second_moments: Any = None) -> None:
        """The next piece of a microbatch's mean gradient, before clipping: a tensor of PyTorch, an array of numpy, any other
        array of floats or doubles. With Adam also as many second moments, once there are any."""
        self._add("add", gradient, second_moments)

    def add_mean(self, gradient: Any, second_moments: Any = None, scale: float = 1) -> None:
        """The next piece of the mean of all gradients of all replicas, multiplied by `scale`, with mean_given."""
        self._add("add_mean", gradient, second_moments, scale)

    def set_square_of_mean(self, square: float, group: int = 0) -> None:
        """Instead: the squared norm of a group's part of that mean."""
        self._handle.set_square_of_mean(group, square)

    def end_microbatch(self, now: Optional[float] = None) -> None:
        """A microbatch is done, of which more follow."""
        self._handle.end_microbatch(_seconds(now))

    def totals(self) -> "list[float]":
        """What this replica measured in the step, to be summed over the replicas before its end: empty in a step whose
        gradients are not looked at."""
        return self._read("totals", ctypes.c_double, self._groups + 1)

    def set_totals(self, sums: Sequence[float]) -> None:
        """The sums of totals() over all replicas."""
        self._handle.set_totals(array_of(ctypes.c_double, list(sums)), len(sums))

    def running_sum(self) -> "array.array[float]":
        """The sum of this replica's gradients, to be summed likewise; empty where the mean is given."""
        length = ctypes.c_size_t()
        with contextlib.suppress(TooSmall):
            self._handle.running_sum(None, 0, length)
        return array.array("f", self._read("running_sum", ctypes.c_float, length.value))

    def set_running_sum(self, sums: Any) -> None:
        """The sums of running_sum() over all replicas."""
        piece, count, _kept = numbers(sums if isinstance(sums, array.array) else array.array("f", sums))
        self._handle.set_running_sum(piece, count)

    def end_step(self, now: Optional[float] = None, sync_s: float = -1) -> bool:
        """Ends a step; False where gradients are not finite. `sync_s`: seconds of its last microbatch in which nothing was
        computed; below 0: unknown."""
        return self._says(self._handle.end_step, _seconds(now), sync_s)

    def end_step_norms(self, norms: Sequence[Mapping[str, float]], now: Optional[float] = None, sync_s: float = -1) -> bool:
        """The same for who has the norms, by group: the fields of goodput_gradient_norms."""
        given = [make(self._c.goodput_gradient_norms, **group) for group in norms]
        return self._says(self._handle.end_step_norms, _seconds(now), sync_s, array_of(self._c.goodput_gradient_norms, given),
                          len(given), ctypes.sizeof(self._c.goodput_gradient_norms))

    def drop_step(self) -> None:
        """The step that was begun does not count."""
        self._handle.drop_step()

    def retune(self) -> bool:
        """Adopts a plan that is so much better that changing pays; False if there is none."""
        return self._says(self._handle.retune)

    def adopt(self, local_batch: int, accumulation: int) -> bool:
        """Trains with this plan from now on, because somebody else has decided; False where it is the present one."""
        return self._says(self._handle.adopt, local_batch, accumulation)

    def adopt_text(self, plan: str) -> bool:
        """The same by the text of a plan file, {"local_batch": 128, "accumulation": 1}; a blank one changes nothing."""
        return self._says(self._handle.adopt_text, plan.encode())

    @property
    def state(self) -> State:
        """What the agent knows."""
        state = make(self._c.goodput_agent_state)
        self._handle.read(state)
        return State(*(getattr(state, field) for field in State._fields))

    def learning_rate_factor(self, group: int = 0) -> float:
        """By what to multiply the base learning rate of a group now."""
        factor = ctypes.c_double()
        self._handle.learning_rate_factor(group, factor)
        return factor.value

    def report(self) -> Optional[str]:
        """The line for the scheduler, without its end; None until the present plan has been timed."""
        try:
            return text(self._handle.report)
        except NotYet:
            return None

    def save(self) -> str:
        """All that it remembers, to be kept with the checkpoint."""
        return text(self._handle.save)

    def restore(self, saved: str) -> None:
        """Goes on from there; before hold(). A text that is refused changes nothing."""
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
