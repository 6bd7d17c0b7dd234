"""goodput in Python: which job gets how many GPUs of which type, on which nodes, with which batch size.

    goodput.plan(round)          the plan of a round: dictionaries as the program's JSON, in and out
    goodput.Scheduler(policy)    the same round after round, with a memory
    goodput.Trainer(optimizer)   a training loop of PyTorch that chooses its batch size and learning rate
    goodput.Agent(...)           the same for other loops
    goodput.Fit(samples)         how long would a step take elsewhere?
    goodput.allot(...)           which option for which job

    goodput.share(problem)       which fraction of time on which GPU type
    goodput.Lines(command=...)   any command of the program, a document in and a document out

docs/python.md is the page; goodput.documents lists every field with its unit. Bad input is a ValueError with subject, field
and value. It needs nothing but the standard library; gradients may be tensors of PyTorch or arrays of numpy.

Threads: Python's other threads run during a call. Different objects may be used at the same time. A Scheduler serves several
threads one after the other; the others are for one thread at a time.
"""

from .agent import Agent, State
from .allotting import allot
from .fitting import Fit, share
from .interface import NotYet, library
from .lines import Lines
from .planning import Scheduler, plan
from .training import Trainer

__all__ = ["Agent", "Fit", "Lines", "NotYet", "Scheduler", "State", "Trainer", "allot", "plan", "share", "version"]


def version() -> str:
    """The version of the library, "1.2.3"."""
    return str(library().goodput_version().decode())
