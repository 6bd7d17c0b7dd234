"""What goes in and what comes out, as types for checkers and editors: ordinary dictionaries with the fields that the
program's JSON has. docs/program.md says what each field means, its unit and its default."""

from __future__ import annotations

from typing import Dict, List, Optional, Sequence, Tuple, TypedDict

Pair = Tuple[float, float]


class Gradient(TypedDict):
    sqr: float
    var: float


class Measured(TypedDict, total=False):
    """A step time: gpu_type, nodes, gpus, local_batch, and step_s or iteration_s, are required."""
    gpu_type: str
    nodes: int
    gpus: int
    local_batch: int
    accumulation: int
    step_s: float
    iteration_s: float
    sync_s: float
    cores_per_gpu: float
    memory_gib_per_gpu: float


class Node(TypedDict, total=False):
    """name, gpu_type and gpus are required."""
    name: str
    gpu_type: str
    gpus: int
    drained: bool
    spot: bool
    cores: float
    memory_gib: float
    price_h: float
    interruptions_h: float
    zone: str
    rack: str


class Batch(TypedDict, total=False):
    """initial and local are required; max for jobs that adapt their batch, target for the others."""
    initial: int
    max: int
    wanted: int
    target: int
    local: Dict[str, Sequence[int]]
    rate: Dict[str, float]


class Host(TypedDict, total=False):
    cores_per_gpu: Pair
    memory_gib_per_gpu: Pair
    speed: Sequence[Tuple[float, float, float]]


class Checkpoint(TypedDict, total=False):
    """A way to save a job's state: name is required."""
    name: str
    pause_s: float
    write_s: float
    write_slowdown: float
    restore_s: float
    caught: float
    memory_gib_per_gpu: float
    kept: float
    stored_every: int
    saves: bool


class Placement(TypedDict):
    nodes: Sequence[Tuple[str, int]]


class Job(TypedDict, total=False):
    """name, submitted_s, gpus and batch are required."""
    name: str
    submitted_s: float
    gpus: Sequence[int]
    adapt: str
    batch: Batch
    kind: str
    team: str
    weight: float
    restarts: int
    restart_cost_s: float
    attained_gpu_s: float
    gpus_per_replica: Dict[str, int]
    max_nodes: object
    single_gpu_accumulates: bool
    gradient: Optional[Gradient]
    remaining_examples: float
    done_examples: float
    checkpoint_s: float
    checkpoints: Sequence[Checkpoint]
    within: str
    host: Host
    preemptible: bool
    restarting: bool
    spot_allowed: bool
    samples: Sequence[Measured]
    placement: Optional[Placement]


class Team(TypedDict, total=False):
    gpus: float
    gpus_by_type: Dict[str, float]
    budget_h: float
    spot_gpus: float
    weight: float


class Offer(TypedDict, total=False):
    """Nodes that may be rented: name, gpu_type, gpus, most and price_h are required."""
    name: str
    gpu_type: str
    gpus: int
    most: int
    price_h: float
    start_s: float
    interruptions_h: float
    spot: bool


class Round(TypedDict, total=False):
    """time_s, nodes and jobs are required."""
    time_s: float
    nodes: Sequence[Node]
    jobs: Sequence[Job]
    teams: Dict[str, Team]
    budget_h: float
    spot_gpus: float
    cancelled: Sequence[str]
    deadline_ms: float
    offers: Sequence[Offer]
    hour_worth: float


class Decision(TypedDict, total=False):
    """What a job gets; a job without GPUs has no gpu_type, batch and goodput, but an outcome."""
    name: str
    starts: str
    gpu_type: str
    nodes: List[List[object]]
    local_batch: int
    accumulation: int
    goodput: float
    knowledge: str
    availability: float
    checkpoint_s: float
    checkpoint: str
    cores_per_gpu: float
    memory_gib_per_gpu: float
    outcome: str
    why: str


class Limit(TypedDict):
    name: str
    unit: str
    capacity: float
    used: float
    price: float
    why: str


class Advised(TypedDict):
    name: str
    nodes: int
    gpus_wanted: int
    gpu_worth_h: float
    why: str


class Advice(TypedDict):
    offers: List[Advised]
    price_h: float


class Plan(TypedDict, total=False):
    """advice where there are offers; limits, conflicts, faults and warnings only where there are any: the last three are
    sentences."""
    plan: List[Decision]
    objective: float
    bound: float
    status: str
    prices: Dict[str, float]
    limits: List[Limit]
    conflicts: List[str]
    faults: List[str]
    warnings: List[str]
    advice: Advice


class Question(TypedDict, total=False):
    """gpu_type, nodes, gpus and local_batch are required."""
    gpu_type: str
    nodes: int
    gpus: int
    local_batch: int
    accumulation: int


class Prediction(TypedDict):
    """Seconds of an iteration, with the interval of probability 0.9; examples a second; what an example is worth of one at
    the initial batch size, and the product of both."""
    iteration_s: float
    low_s: float
    high_s: float
    examples_s: float
    efficiency: float
    goodput: float


class Option(TypedDict):
    value: float
    use: Sequence[Tuple[int, float]]


class AllotJob(TypedDict, total=False):
    options: Sequence[Option]
    must: bool


class Allotment(TypedDict):
    choice: List[Optional[int]]
    objective: float
    bound: float
    status: str
    stopped: str
    prices: List[float]
    nodes: int
