"""goodput in Python: the GPUs, nodes and batch size of every job on a cluster.

    goodput.plan(round)          the plan of a round: dictionaries like the program's JSON, in and out
    goodput.Scheduler(policy)    the same for round after round, with a memory
    goodput.Trainer(optimizer)   chooses batch size and learning rate in a training loop of PyTorch
    goodput.Agent(...)           the same for other loops
    goodput.Fit(samples)         predicts how long a step takes elsewhere
    goodput.allot(...)           chooses one option per job

    goodput.share(problem)       the fraction of time of each job on each GPU type
    goodput.Lines(command=...)   any command of the program: a document in, a document out

docs/python.md describes the package, and goodput.documents lists every field with its unit. Bad input raises a ValueError
with subject, field and value. The package needs only the standard library. Gradients may be PyTorch tensors or numpy arrays.

Threads: Python's other threads run during a call. Different objects may be used at the same time. A Scheduler serves several
threads one after the other. Only one thread at a time may use any other object.
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
    """Returns the version of the library, such as "1.2.3"."""
    return str(library().goodput_version().decode())
