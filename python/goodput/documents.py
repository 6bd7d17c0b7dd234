"""Lines and answers of the program as types for checkers and editors: ordinary dictionaries with the fields of the
JSON. help(documents.Job) shows every field with its meaning, unit, range and default.

python/make_documents.py writes this file from docs/goodput.schema.json. Change that file instead.

    command    options        line in            answer
    plan       PlanOptions    Round              Plan or Refusal
    allot      AllotOptions   AllotProblem       Allotment or SplitAllotment or Refusal
    fit        OtherOptions   FitProblem         Fits or Refusal
    share      OtherOptions   ShareProblem       Shares or Refusal
    parallel                  ParallelQuestion   ParallelAnswer or Refusal
    agent                     PlanFile           Report
"""

from __future__ import annotations

from typing import Dict, List, Literal, Mapping, Optional, Sequence, TypedDict, Union


class Gradient(TypedDict, total=False):
    """Noise of a job's gradients: sqr and var at the initial batch, of which only the ratio matters, or
    noise_scale. If sqr and var are both 0, nothing is known.

    sqr (at least 0): Squared norm of the true gradient, in any unit, the same as that of var; if missing, noise_scale
        is required.
    var (at least 0): Trace of the covariance of the gradient at the initial batch, in the unit of sqr; if missing,
        noise_scale is required.
    noise_scale (at least 0): Gradient noise scale, in examples: the initial batch times var over sqr; if missing, sqr
        and var are required, and with one of them it is refused.
    """
    sqr: Optional[float]
    var: Optional[float]
    noise_scale: Optional[float]


class _MeasuredRequired(TypedDict):
    gpu_type: str
    nodes: int
    gpus: int
    local_batch: int


class Measured(_MeasuredRequired, total=False):
    """A measured step time of a job. Either step_s or iteration_s is required.

    gpu_type (required): GPU type on which the step ran.
    nodes (required, 1 to 1048576): Number of nodes over which the job ran.
    gpus (required, 1 to 1048576): Number of GPUs in a line of plan and of replicas in a line of fit, over all nodes; at
        least nodes, and in plan a multiple of the job's gpus_per_replica.
    local_batch (required, 1 to 1073741824): Examples per GPU and step.
    accumulation (0 to 1048576): Number of accumulated steps before the step that synchronises; if missing, 0.
    step_s (1e-12 to 1e12): Seconds of the last step of an iteration, with its synchronisation; if missing, iteration_s
        is required, and both together are refused.
    iteration_s (1e-12 to 1e12): Seconds of a whole iteration, with all its accumulated steps; if missing, step_s is
        required.
    sync_s (at least 0): Seconds of that time spent in synchronising, below that time; if missing, nobody measured them.
    cores_per_gpu (at least 0): CPU cores that the job had per GPU; if missing, cores are not counted.
    memory_gib_per_gpu (at least 0): Host memory that the job had per GPU, in GiB; if missing, memory is not counted.
    """
    accumulation: Optional[int]
    step_s: Optional[float]
    iteration_s: Optional[float]
    sync_s: Optional[float]
    cores_per_gpu: Optional[float]
    memory_gib_per_gpu: Optional[float]


class _NodeRequired(TypedDict):
    name: str
    gpu_type: str
    gpus: int


class Node(_NodeRequired, total=False):
    """A machine with GPUs of one type.

    name (required): Name that no other node has.
    gpu_type (required): Type of all GPUs of the node.
    gpus (required, 1 to 1048576): Number of usable GPUs.
    drained: true: jobs on the node may stay, but no new job is placed there; if missing, false.
    spot: true: the provider may take the node back; if missing, false.
    cores (at least 0): CPU cores of the whole node; if missing or 0, the node has enough for any job.
    memory_gib (at least 0): Host memory of the whole node, in GiB; if missing or 0, the node has enough for any job.
    price_h (at least 0): Dollars per hour of the whole node, which count under a budget only; if missing, 0.
    interruptions_h (0 to 1e15): Expected number of losses of the node per hour; if missing, 0.
    zone: Zone of the node: the nodes of a job are kept within one zone if possible; nodes for which it is missing form
        one zone.
    rack: Rack of the node within its zone: the nodes of a job are kept within one rack if possible; nodes for which it
        is missing form one rack of their zone.
    from_s: Time at which the node is announced to come, in seconds on the clock of time_s, before which it counts as
        drained; if missing, the node is there already.
    until_s: Time at which the node is announced to leave, in seconds on the clock of time_s and after from_s, from
        which on it counts as drained; if missing, the node stays.
    """
    drained: Optional[bool]
    spot: Optional[bool]
    cores: Optional[float]
    memory_gib: Optional[float]
    price_h: Optional[float]
    interruptions_h: Optional[float]
    zone: Optional[str]
    rack: Optional[str]
    from_s: Optional[float]
    until_s: Optional[float]


class _BatchRequired(TypedDict):
    initial: int
    local: Mapping[str, Sequence[int]]


class Batch(_BatchRequired, total=False):
    """Batch sizes of a job, in examples.

    initial (required, 1 to 1073741824): Total batch to which statistical efficiency is relative, in examples.
    max (1 to 1073741824): Largest total batch with which the job can train, in examples; required and at least initial
        if adapt is "batch", otherwise no limit if missing.
    wanted (1 to 1073741824): Largest total batch that the owner wants, in examples, at least initial; if missing, it is
        max.
    target (1 to 1073741824): Total batch that the job keeps, in examples; required if adapt is "gpus" or "none",
        otherwise unused and usually missing.
    local (required): Fewest and most examples per GPU and step, the first number at most the second, by GPU type; the
        job cannot run on types that are missing.
    rate: Examples per second of one replica at its largest local batch, by GPU type, as profiled before the first run;
        if missing or 0, it is not known.
    """
    max: Optional[int]
    wanted: Optional[int]
    target: Optional[int]
    rate: Optional[Mapping[str, float]]


class Host(TypedDict, total=False):
    """CPU cores and host memory that a job needs next to its GPUs. A resource that is missing while the other
    is given is not counted for the job.

    cores_per_gpu: Fewest and most CPU cores per GPU, the first number at most the second; if missing, the job takes
        none and is not slowed.
    memory_gib_per_gpu: Least and most host memory per GPU, in GiB, the first number at most the second; if missing, the
        job takes none and is not slowed.
    speed: Measured points: CPU cores per GPU, GiB per GPU, and the factor on the throughput with them; if missing, the
        factor is always 1.
    """
    cores_per_gpu: Optional[Sequence[float]]
    memory_gib_per_gpu: Optional[Sequence[float]]
    speed: Optional[Sequence[Sequence[float]]]


class _CheckpointRequired(TypedDict):
    name: str


class Checkpoint(_CheckpointRequired, total=False):
    """A way in which a job can save its state. The best of its ways is chosen where nodes are interrupted.

    name (required): Name that answers use for this way.
    pause_s (0 to 1e15): Seconds for which training stands still at each checkpoint; if missing, 0.
    write_s (0 to 1e15): Seconds from the end of the pause until the checkpoint is safe; if missing, 0.
    write_slowdown (0 to 1): Part of its speed that training loses during write_s; if missing, 0.
    restore_s (0 to 1e15): Seconds from the start after an interruption to the first step; if missing, the job's
        restart_cost_s.
    caught (0 to 1): Part of the interruptions at which all work can still be saved; if missing, 0.
    memory_gib_per_gpu (at least 0): Host memory that the checkpoint takes per GPU, in GiB; if missing, 0.
    kept (0 to 1): Part of the interruptions that the checkpoints outlive; if missing, 1.
    stored_every (1 to 64): Every n-th checkpoint goes to storage, which outlives all interruptions, with this n; if
        missing, 1.
    saves: false: there is no checkpoint before the job's end; if missing, true.
    """
    pause_s: Optional[float]
    write_s: Optional[float]
    write_slowdown: Optional[float]
    restore_s: Optional[float]
    caught: Optional[float]
    memory_gib_per_gpu: Optional[float]
    kept: Optional[float]
    stored_every: Optional[int]
    saves: Optional[bool]


class Placement(TypedDict):
    """The GPUs that a job holds.

    nodes (required): Pairs of a node's name and the number of its GPUs, each node once; [] if the job holds nothing.
    """
    nodes: Sequence[Sequence[Union[str, int]]]


class _PartnerRequired(TypedDict):
    job: str


class Partner(_PartnerRequired, total=False):
    """Another job with which a job may have the same GPUs at the same time. Only one of the two jobs needs to
    name the other.

    job (required): Name of the other job.
    gpus (1 to 1048576): Number of GPUs with which rate was measured; if missing, the fewest that both jobs may have.
    rate: Examples per second of this job and of the other while both share GPUs, by GPU type; if missing, part says it,
        and the two do not share types that neither names; without both the program estimates them.
    part: Speeds of this job and of the other while both share GPUs, each as a part of the speed alone, by GPU type; if
        missing, rate says it, and without both the program estimates them from gpu_utilisation and from other pairs of
        the line.
    """
    gpus: Optional[int]
    rate: Optional[Mapping[str, Sequence[float]]]
    part: Optional[Mapping[str, Sequence[float]]]


class _JobRequired(TypedDict):
    name: str
    submitted_s: float
    gpus: Sequence[int]
    batch: Batch


_JobWords = TypedDict("_JobWords", {"with": "Optional[str]"}, total=False)


class Job(_JobRequired, _JobWords, total=False):
    """A training job, running or waiting.

    name (required): Name that no other job has, the same in all lines.
    submitted_s (required): Time of submission, in seconds on the clock of time_s.
    restarts (0 to 2147483647): Number of restarts so far, in which the first start does not count; if missing, 0.
    restart_cost_s (at least 0): Seconds that one more restart or move costs; if missing, estimated from restart_s and
        checkpoint_gib.
    restart_s: Seconds from the start of a run to the end of its first step, of each run that reported them; if missing,
        30 is assumed.
    checkpoint_gib (0 to 1e06): Size of a checkpoint in GiB, of which each costs 2 s in a restart; if missing, 0.
    attained_gpu_s (at least 0): GPU-seconds that the job has held so far; if missing, 0.
    gpus (required): Fewest and most GPUs that the job may have, the first number at most the second.
    adapt: Choices of the plan: GPU type, GPUs and batch ("batch"), GPU type and GPUs ("gpus"), or the GPU type only,
        with the most GPUs ("none"); if missing, "batch".
    batch (required): Batch sizes, in examples.
    gpus_per_replica: GPUs of one replica (pipeline stages), by GPU type; types that are missing have 1.
    max_nodes: Most nodes over which the job may be spread, one number or one by GPU type; if missing, there is no
        limit.
    single_gpu_accumulates: true: on one GPU the job accumulates above its initial batch, because its gradient
        statistics compare two steps; if missing, false.
    within: All nodes of the job have to be in one rack or one zone; if missing, they may be anywhere.
    gradient: Noise of the job's gradients; if missing, it is not known, and the total batch stays at batch.initial.
    remaining_examples (at least 0): Useful examples that the job still has to do; if missing, other jobs of its kind
        say what to expect.
    done_examples (at least 0): Useful examples that the job has done; if missing, predicted goodput is added up.
    kind: Jobs of one kind are runs of one program and share what is known of speed and size; if missing, jobs with the
        same limits and rates are of one kind.
    team: Team in whose quotas the job counts; if missing, none.
    weight (1e-09 to 1e09): Factor on the values of the job, times that of its team; if missing, 1.
    host: CPU cores and host memory that the job needs; if missing, it gets its share of each node.
    checkpoints: Ways in which the job can save its state; if missing, one that pauses for half of restart_cost_s.
    checkpoint_s (at least 1e-09): Seconds of training from one checkpoint to the next; if missing, the plan chooses
        them.
    spot_allowed: false: the job is not placed on spot nodes; if missing, true.
    preemptible: false: the job keeps what it holds; if missing, true.
    restarting: true: the job is in the middle of a restart and keeps what it holds in this round; if missing, false.
    min_run_s (at least 0): Seconds for which the job, once started, keeps what it holds, except for a promise to
        another job; if missing, 0.
    placement: GPUs that the job holds now; if missing, it waits.
    samples: Step times measured since the last line; if missing, there are no new ones.
    gpu_utilisation: Part of the time in which the GPUs are busy while the job runs alone, as the driver says, one
        number or one by GPU type; if missing, the mean of those known is assumed where it is needed.
    shares_with: Jobs with which this job may share GPUs; if missing, none.
    with: Name of the job that has the GPUs of placement together with this job; if missing, it has them alone.
    deadline_s: Time by which the job has to end, in seconds on the clock of time_s; if missing, there is no deadline.
    deadline: "or_never": the job gets nothing unless its end by deadline_s, which is required then, is promised; if
        missing, it runs without a promise.
    promise: The promise of the last answer, after a restart of the program: "kept" and "at_risk" give it again; it
        requires deadline_s; if missing, the program remembers its own promises.
    """
    restarts: Optional[int]
    restart_cost_s: Optional[float]
    restart_s: Optional[Sequence[float]]
    checkpoint_gib: Optional[float]
    attained_gpu_s: Optional[float]
    adapt: Optional[Literal["batch", "gpus", "none"]]
    gpus_per_replica: Optional[Mapping[str, int]]
    max_nodes: Union[Optional[int], Mapping[str, int]]
    single_gpu_accumulates: Optional[bool]
    within: Optional[Literal["rack", "zone"]]
    gradient: Optional[Gradient]
    remaining_examples: Optional[float]
    done_examples: Optional[float]
    kind: Optional[str]
    team: Optional[str]
    weight: Optional[float]
    host: Optional[Host]
    checkpoints: Optional[Sequence[Checkpoint]]
    checkpoint_s: Optional[float]
    spot_allowed: Optional[bool]
    preemptible: Optional[bool]
    restarting: Optional[bool]
    min_run_s: Optional[float]
    placement: Optional[Placement]
    samples: Optional[Sequence[Measured]]
    gpu_utilisation: Union[Optional[float], Mapping[str, float]]
    shares_with: Optional[Sequence[Partner]]
    deadline_s: Optional[float]
    deadline: Optional[Literal["or_never"]]
    promise: Optional[Literal["kept", "refused", "broken", "at_risk"]]


class Team(TypedDict, total=False):
    """Quotas of a team.

    gpus (at least 0): Most GPUs of all types together; if missing, there is no limit.
    gpus_by_type: Most GPUs by GPU type; types that are missing have no limit.
    budget_h (at least 0): Most dollars per hour, by the price_h of nodes; if missing, there is no limit.
    spot_gpus (at least 0): Most GPUs of spot nodes; if missing, there is no limit.
    weight (at least 1e-09): Factor on the weights of the team's jobs, whose products have to stay within 1e-9 and 1e9;
        if missing, 1.
    """
    gpus: Optional[float]
    gpus_by_type: Optional[Mapping[str, float]]
    budget_h: Optional[float]
    spot_gpus: Optional[float]
    weight: Optional[float]


class _OfferRequired(TypedDict):
    name: str
    gpu_type: str
    gpus: int
    most: int
    price_h: float


class Offer(_OfferRequired, total=False):
    """Nodes of one GPU type and size that may be rented. No two offers have the same GPU type, size and spot.

    name (required): Name that no other offer has.
    gpu_type (required): Type of the GPUs.
    gpus (required, 1 to 1048576): Number of GPUs of each node.
    most (required, 0 to 1048576): Most nodes that may be rented at one time.
    price_h (required, at least 0): Dollars per hour of a whole node.
    start_s (at least 0): Seconds from the order of a node, which are paid, to its first job; if missing, 180.
    interruptions_h (0 to 1e15): Expected number of losses of each node per hour; if missing, 0.
    spot: true: the provider may take the nodes back; if missing, false.
    """
    start_s: Optional[float]
    interruptions_h: Optional[float]
    spot: Optional[bool]


class _RoundRequired(TypedDict):
    time_s: float
    nodes: Sequence[Node]
    jobs: Sequence[Job]


class Round(_RoundRequired, total=False):
    """A line of goodput plan: all nodes and jobs at one moment.

    time_s (required): Time of the round, in seconds on a clock of the caller.
    nodes (required): All healthy nodes.
    jobs (required): All jobs that run or wait.
    teams: Quotas by name of the team, which is not empty; jobs of teams that are missing have no quota.
    budget_h (at least 0): Most dollars per hour of all jobs together, by the price_h of nodes; if missing, there is no
        limit.
    spot_gpus (at least 0): Most GPUs of spot nodes of all jobs together; if missing, there is no limit.
    cancelled: Names of jobs that are gone without having ended; if missing, every job that is not named any more counts
        as complete.
    deadline_ms (at least 0): Milliseconds for valuing, allotting and placing together, after which the best plan so far
        is the answer; if missing, there is no limit.
    gap (at least 0): Relative difference of bound and objective at which the plan counts as proven; if missing, 0.0001.
    most_states (0 to 9223372036854775807): States that the search for the allotment may look at; if missing, 8388608,
        and with deadline_ms any number.
    memory_states (0 to 9223372036854775807): States that the search for the allotment may keep at once; if missing,
        4194304.
    sharing: How two jobs share a GPU: "time_slicing", in turns, as drivers do by default, or "mps", at once through
        NVIDIA's Multi-Process Service; if missing, "time_slicing".
    interval_s (at least 1e-09): Seconds until the next line, on which promises count; if missing, 60.
    offers: Nodes that may be rented, for --advise; if missing, none.
    hour_worth (at least 1e-09): Dollars that an hour is worth in which a job is not complete, for --advise; if missing,
        10.
    """
    teams: Optional[Mapping[str, Team]]
    budget_h: Optional[float]
    spot_gpus: Optional[float]
    cancelled: Optional[Sequence[str]]
    deadline_ms: Optional[float]
    gap: Optional[float]
    most_states: Optional[int]
    memory_states: Optional[int]
    sharing: Optional[Literal["time_slicing", "mps"]]
    interval_s: Optional[float]
    offers: Optional[Sequence[Offer]]
    hour_worth: Optional[float]


class _DecisionRequired(TypedDict):
    name: str
    starts: Literal["waits", "start", "stays", "move", "restart", "stops"]
    costs_restart: bool
    nodes: List[List[Union[str, int]]]


_DecisionWords = TypedDict("_DecisionWords", {"with": "str"}, total=False)


class Decision(_DecisionRequired, _DecisionWords, total=False):
    """What a job gets. A job without GPUs has an outcome and no GPU type; a job that is set aside keeps its
    placement and has neither batch nor goodput.

    name (required): Name of the job.
    starts (required): Change from the placement of the line: none ("waits" without GPUs, "stays" with them), a first
        start ("start"), other nodes in the same shape ("move"), other GPUs ("restart"), or no GPUs any more ("stops").
    costs_restart (required): true: the job loses its restart_cost_s, because it has run before and starts anew.
    gpu_type: Type of its GPUs; missing if it has none.
    nodes (required): Pairs of a node's name and the number of its GPUs; [] if it has none.
    cores: CPU cores on each of its nodes, in the order of nodes; missing if no node counts them.
    memory_gib: Host memory on each of its nodes, in GiB and in the order of nodes; missing if no node counts it.
    local_batch (at least 0): Examples per GPU and step; 0 if no known batch fits, so that the job goes on with its own;
        missing if the job has no GPUs or is set aside.
    accumulation (at least 0): Number of accumulated steps before the step that synchronises; missing if local_batch is.
    goodput (at least 0): Useful examples per second that are expected; missing if local_batch is.
    knowledge: Source of goodput: measurements on this GPU type ("measured"), other GPU types ("projected"), or nothing
        ("unknown"); missing if local_batch is.
    availability (0 to 1): Part of its time that interruptions and checkpoints leave, which counts in goodput; missing
        where nodes are not interrupted.
    checkpoint_s (above 0): Seconds of training from one checkpoint to the next; missing if there are none.
    checkpoint: Name of the way in which the job saves its state; missing where nodes are not interrupted.
    outcome: Reason for having no GPUs: others have them ("waits"), or no set of healthy nodes could hold the job
        ("impossible"); missing if it has GPUs.
    why: Why the job has what it has, in words; missing for jobs with GPUs unless --explain asks for it.
    with: Name of the job that has the same GPUs; missing if it has them alone.
    part (0 to 2): Speed as a part of the job's speed alone, which counts in goodput; missing if it does not share its
        GPUs.
    promise: Whether the job ends by its deadline_s: it does ("kept"), that is not promised ("refused"), the promise
        cannot be kept any more ("broken"), or no plan is known that keeps it and none is ruled out ("at_risk"); missing
        without a deadline.
    done_by_s: Time at which the job ends under the promised plan, in seconds on the clock of time_s; missing if there
        is no such plan.
    """
    gpu_type: str
    cores: List[float]
    memory_gib: List[float]
    local_batch: int
    accumulation: int
    goodput: float
    knowledge: Literal["measured", "projected", "unknown"]
    availability: float
    checkpoint_s: float
    checkpoint: str
    outcome: Literal["waits", "impossible"]
    why: str
    part: float
    promise: Literal["kept", "refused", "broken", "at_risk"]
    done_by_s: float


class _LimitRequired(TypedDict):
    name: str
    capacity: float
    used: float
    price: float
    unit: str


class Limit(_LimitRequired, total=False):
    """How much of a quota, a budget or the like is used.

    name (required): Name of the limit in words.
    capacity (required): Most that may be used, in units of the limit.
    used (required): Units that all jobs use together.
    price (required): What one more unit would be worth at the margin, in the policy's values.
    unit (required): What the numbers count, for example "GPUs".
    why: All of that in a sentence; missing without --explain.
    """
    why: str


class Conflict(TypedDict):
    """A limit that is exceeded by what jobs keep.

    limit (required): Name of the limit, as in limits.
    jobs (required): Names of the jobs that keep it exceeded.
    kept (required): Units of the limit that these jobs keep.
    why (required): What would end the conflict, in words.
    """
    limit: str
    jobs: List[str]
    kept: float
    why: str


class _PlanTimesRequired(TypedDict):
    read: float
    fit: float
    value: float
    allot: float
    place: float


class PlanTimes(_PlanTimesRequired, total=False):
    """Milliseconds of the work on a round, without parsing and writing JSON.

    read (required, at least 0): Milliseconds of checking what the line says.
    fit (required, at least 0): Milliseconds of fitting models.
    value (required, at least 0): Milliseconds of listing and valuing options.
    allot (required, at least 0): Milliseconds of allotting.
    place (required, at least 0): Milliseconds of placing on nodes.
    promise (at least 0): Milliseconds of promises; missing if no job has a deadline.
    advise (at least 0): Milliseconds of advice; missing without --advise.
    explain (at least 0): Milliseconds of reasons; missing without --explain.
    """
    promise: float
    advise: float
    explain: float


class Advised(TypedDict):
    """How many nodes of an offer are worth their price.

    name (required): Name of the offer.
    nodes (required, at least 0): Number of nodes that are worth their price, those that are rented already included.
    gpus_wanted (required, at least 0): Number of GPUs that all jobs together want in these nodes.
    gpu_worth_h (required): Dollars per hour that one more GPU beyond the limit would be worth, its price included.
    why (required): The reason in a sentence.
    """
    name: str
    nodes: int
    gpus_wanted: int
    gpu_worth_h: float
    why: str


class Advice(TypedDict):
    """Which nodes to rent.

    offers (required): Advice by offer, in the order of the line.
    price_h (required, at least 0): Dollars per hour of all these nodes together.
    """
    offers: List[Advised]
    price_h: float


class _ProofRequired(TypedDict):
    file: Optional[str]
    closed: bool
    objective: float
    bound: Optional[float]
    nodes: int
    bytes: int
    milliseconds: float


class Proof(_ProofRequired, total=False):
    """A certificate that --proof has written.

    file (required): Path of the certificate; null if nothing is proven.
    closed (required): true: the certificate proves the bound or the gap of the answer.
    objective (required): Value of the answer in the certificate.
    bound (required): Value that the certificate proves no allotment to exceed; null if it is infinite.
    nodes (required, at least 0): Number of nodes of the search that the certificate closes.
    bytes (required, at least 0): Length of the certificate in bytes.
    with_tolerance: Indices of resources of which the answer takes more than the capacity, within the solver's
        tolerance; missing if there are none.
    milliseconds (required, at least 0): Milliseconds of proving and writing.
    """
    with_tolerance: List[int]


class EstimatedPair(TypedDict):
    """Two jobs that may share GPUs and of whose speeds then the line says nothing.

    jobs (required): Names of both jobs.
    part (required): Expected speeds of both, each as a part of the speed alone, by GPU type that both can use.
    offered (required): GPU types on which a gain is likely, so that the plan may let them share, or on which they share
        already.
    why (required): What they are expected to do together, how sure that is, and what was assumed, in words.
    """
    jobs: List[str]
    part: Dict[str, List[float]]
    offered: List[str]
    why: str


class _PlanRequired(TypedDict):
    plan: List[Decision]
    objective: float
    bound: float
    status: Literal["optimal", "feasible", "infeasible", "unknown"]
    prices: Dict[str, float]
    milliseconds: PlanTimes


class Plan(_PlanRequired, total=False):
    """An answer of goodput plan.

    plan (required): What each job gets, in the order of the line.
    objective (required): Sum of the values of what jobs get, in the policy's values.
    bound (required): Value that no plan exceeds, in the policy's values.
    status (required): Proof of the plan: proven to the gap ("optimal"), cut off ("feasible"), proven that jobs that
        must run do not fit ("infeasible"), or cut off before a plan was found ("unknown").
    prices (required): What one more GPU is worth at the margin, by GPU type, the highest of its node sizes, in the
        policy's values.
    limits: Use of quotas, budgets and the like; missing if there are none.
    conflicts: Limits that are exceeded by what jobs keep; missing if there are none.
    faults: Faults of the policy or a limit, in words; missing if there are none.
    milliseconds (required): Milliseconds of each step of the work.
    warnings: What in the line has no effect or probably is a slip, in words; missing if there is nothing.
    pairs: Pairs whose speeds were estimated; missing if there are none.
    advice: Which nodes to rent; missing without --advise.
    proof: The certificate of the allotment before placement; missing without --proof.
    """
    limits: List[Limit]
    conflicts: List[Conflict]
    faults: List[str]
    warnings: List[str]
    pairs: List[EstimatedPair]
    advice: Advice
    proof: Proof


class Refusal(TypedDict):
    """The answer to a line that cannot be used.

    line (required, at least 1): Number of the line in the input, from 1.
    error (required): Subject, field and value, and what was expected, in words.
    """
    line: int
    error: str


class Option(TypedDict):
    """One of the options of a job.

    value (required, -1e150 to 1e150): What the option is worth, in any unit.
    use (required): Pairs of a resource (an index into capacity) and the units that the option takes.
    """
    value: float
    use: Sequence[Sequence[float]]


class _AllotJobRequired(TypedDict):
    options: Sequence[Option]


class AllotJob(_AllotJobRequired, total=False):
    """A job of an allotment problem, which gets at most one of its options.

    options (required): Options of the job.
    must: true: the job has to get one of its options; if missing, false.
    """
    must: Optional[bool]


class _AllotProblemRequired(TypedDict):
    capacity: Sequence[float]
    jobs: Sequence[AllotJob]


class AllotProblem(_AllotProblemRequired, total=False):
    """A line of goodput allot: resources and jobs with options.

    capacity (required): Units of each resource.
    jobs (required): Jobs with their options.
    gap (at least 0): Relative difference of bound and objective at which the answer counts as proven; if missing,
        0.0001.
    deadline_ms (at least 0): Milliseconds after which the best allotment so far is the answer; if missing, there is no
        limit.
    most_states (0 to 9223372036854775807): States that the search may look at; if missing, 8388608, and with
        deadline_ms any number.
    memory_states (0 to 9223372036854775807): States that the search may keep at once; if missing, 4194304.
    """
    gap: Optional[float]
    deadline_ms: Optional[float]
    most_states: Optional[int]
    memory_states: Optional[int]


class AllotConflict(TypedDict):
    """Jobs that must run and do not fit together. Both lists are empty if the deadline came first.

    jobs (required): Indices of jobs that do not fit together as whole jobs, although all but any one of them do.
    resources (required): Indices of the resources that they lack.
    """
    jobs: List[int]
    resources: List[int]


class JobExplanation(TypedDict):
    """Why a job got what it got.

    reason (required): Reason: it got what it wanted, prices were against that, too little is left, the gap allows it,
        every option exceeds a capacity, or it has no option.
    got (required, at least 0): Index of the option that it got; null if none.
    pays (required): Price of what it got, in the unit of values.
    wanted (required, at least 0): Index of the option of largest value that fits the capacities; null if nothing is
        best.
    wanted_value (required): What that option is worth.
    wanted_price (required): What that option costs at the prices of the answer.
    worth_needed (required): Worth from which on no other option would be better at these prices.
    resource (required, at least 0): Index of the resource in the way; null if there is none.
    short_of (required): Units of that resource that the option lacks.
    options_too_large (required, at least 0): Number of its options that exceed a capacity alone.
    """
    reason: Literal["got_wanted", "priced_out", "no_room", "within_gap", "too_large", "nothing_offered"]
    got: Optional[int]
    pays: float
    wanted: Optional[int]
    wanted_value: float
    wanted_price: float
    worth_needed: float
    resource: Optional[int]
    short_of: float
    options_too_large: int


class ResourceExplanation(TypedDict):
    """What a unit of a resource is worth.

    price (required): Price of a unit, in the unit of values.
    idle (required): Units that no job got.
    worth_of_more (required): What the relaxation gains by one more unit; null if there was no time to find out.
    loss_of_fewer (required): What the relaxation loses by one unit fewer; null if jobs that must run need all, there is
        none, or there was no time to find out.
    """
    price: float
    idle: float
    worth_of_more: Optional[float]
    loss_of_fewer: Optional[float]


class Explanations(TypedDict):
    """Reasons for an allotment.

    jobs (required): Reasons by job.
    resources (required): Worth of a unit by resource.
    """
    jobs: List[JobExplanation]
    resources: List[ResourceExplanation]


class _AllotmentRequired(TypedDict):
    choice: List[Optional[int]]
    objective: float
    bound: float
    status: Literal["optimal", "feasible", "infeasible", "unknown"]
    stopped: Literal["proven", "deadline", "memory", "states"]
    prices: List[float]
    milliseconds: float
    nodes: int


class Allotment(_AllotmentRequired, total=False):
    """An answer of goodput allot.

    choice (required): Index of the option of each job; null if it gets none.
    objective (required): Sum of the values of the chosen options.
    bound (required): Value that no allotment exceeds.
    status (required): Proof of the allotment: proven to the gap ("optimal"), cut off ("feasible"), proven that jobs
        that must run do not fit ("infeasible"), or cut off before an allotment was found ("unknown").
    stopped (required): What ended the search.
    prices (required): What one more unit is worth at the margin, by resource.
    milliseconds (required, at least 0): Milliseconds of the search.
    nodes (required, at least 0): Number of states that the search looked at.
    conflict: Who does not fit together; missing unless status is "infeasible".
    explanations: Reasons; missing without --explain and without an allotment.
    proof: The certificate; missing without --proof.
    warnings: What in the line has no effect or probably is a slip, in words; missing if there is nothing, and in
        answers of the program, which writes warnings to standard error.
    """
    conflict: AllotConflict
    explanations: Explanations
    proof: Proof
    warnings: List[str]


class _SplitAllotmentRequired(TypedDict):
    choice: List[List[List[float]]]
    objective: float
    bound: float
    status: Literal["optimal", "feasible", "infeasible", "unknown"]
    stopped: Literal["proven", "deadline", "memory", "states"]
    prices: List[float]
    milliseconds: float
    nodes: Literal[0]


class SplitAllotment(_SplitAllotmentRequired, total=False):
    """An answer of goodput allot --relax, in which jobs may be split.

    choice (required): Pairs of an option's index and the part of it that the job gets, by job.
    objective (required): Sum of the values of the chosen parts.
    bound (required): Value that no allotment exceeds.
    status (required): Proof of the allotment: proven ("optimal"), cut off ("feasible"), proven that jobs that must run
        do not fit ("infeasible"), or cut off before an allotment was found ("unknown").
    stopped (required): What ended the search.
    prices (required): What one more unit is worth at the margin, by resource.
    milliseconds (required, at least 0): Milliseconds of the search.
    nodes (required): Always 0: nothing is searched.
    conflict: Who does not fit together; missing unless status is "infeasible".
    warnings: What in the line has no effect or probably is a slip, in words; missing if there is nothing, and in
        answers of the program, which writes warnings to standard error.
    """
    conflict: AllotConflict
    warnings: List[str]


class _QuestionRequired(TypedDict):
    gpu_type: str
    nodes: int
    gpus: int
    local_batch: int


class Question(_QuestionRequired, total=False):
    """A shape and a batch whose step time a fit predicts.

    gpu_type (required): GPU type, measured or not.
    nodes (required, 1 to 1048576): Number of nodes.
    gpus (required, 1 to 1048576): Number of replicas over all nodes, at least nodes.
    local_batch (required, 1 to 1073741824): Examples per replica and step.
    accumulation (0 to 1048576): Number of accumulated steps before the step that synchronises; if missing, 0.
    """
    accumulation: Optional[int]


class HostQuestion(TypedDict):
    """Measured speeds of a job by CPU cores and host memory, and the shares that it may be given.

    samples (required): CPU cores per GPU, GiB per GPU, and the speed with them in any unit, all on the same GPUs and
        batch.
    cores_per_gpu (required): Numbers of CPU cores per GPU that the job may be given; at most 1024 shares together with
        memory_gib_per_gpu.
    memory_gib_per_gpu (required): Amounts of host memory per GPU that the job may be given, in GiB.
    reference (required): CPU cores per GPU and GiB per GPU of the share whose factor is 1.
    """
    samples: Sequence[Sequence[float]]
    cores_per_gpu: Sequence[float]
    memory_gib_per_gpu: Sequence[float]
    reference: Sequence[float]


class _FitProblemRequired(TypedDict):
    samples: Sequence[Measured]


class FitProblem(_FitProblemRequired, total=False):
    """A line of goodput fit: the measurements of one job.

    samples (required): Measured step times, in which gpus counts replicas.
    predict: Shapes and batches to predict; if missing, none.
    host: Speeds by CPU cores and host memory; if missing, nothing is said of them.
    initial_batch (1 to 1073741824): Total batch to which efficiency is relative, in examples; if missing, predictions
        have neither efficiency nor goodput, and gradient is refused.
    gradient: Noise of the job's gradients; if missing, an example is worth the same at any batch.
    gradients: Noise of the gradients as measured at several total batches, instead of gradient; if missing, gradient
        counts.
    memory: Measured GPU memory; if missing, nothing is said of it.
    interruptions: Log of nodes of one kind; if missing, nothing is said of interruptions.
    convergence: Whole trainings to one target at several total batches, from which the noise scale is estimated; if
        empty, from initial_batch alone; if missing, it is not.
    convergence_batches: Total batches at which to predict the examples to the target; if missing, none. Refused without
        convergence.
    """
    predict: Optional[Sequence[Question]]
    host: Optional[HostQuestion]
    initial_batch: Optional[int]
    gradient: Optional[Gradient]
    gradients: Optional[Sequence[GradientAtBatch]]
    memory: Optional[MemoryQuestion]
    interruptions: Optional[InterruptionLog]
    convergence: Optional[Sequence[Training]]
    convergence_batches: Optional[Sequence[int]]


class GradientAtBatch(TypedDict):
    """Noise of a job's gradients, measured in a training at a total batch.

    total_batch (required, 1 to 1073741824): Examples of all replicas per step.
    sqr (required, at least 0): Squared norm of the true gradient, in any unit, the same as that of var.
    var (required, above 0): Trace of the covariance of the gradient at the initial batch, in the unit of sqr.
    """
    total_batch: int
    sqr: float
    var: float


class MeasuredMemory(TypedDict):
    """The peak memory of a training on one GPU.

    gpu_type (required): GPU type on which the step ran.
    local_batch (required, 1 to 1073741824): Examples per GPU and step.
    gib (required, 1e-09 to 1e08): Peak memory of the GPU, in GiB.
    """
    gpu_type: str
    local_batch: int
    gib: float


class _MemoryQuestionRequired(TypedDict):
    samples: Sequence[MeasuredMemory]


class MemoryQuestion(_MemoryQuestionRequired, total=False):
    """Measured GPU memory by batch.

    samples (required): Measured peaks.
    fixed_gib (at least 0): GiB that any batch certainly needs (parameters, gradients, optimizer), at most the smallest
        sample; if missing, 0.
    gpu_gib: Memory of a GPU in GiB, by GPU type that has samples; if missing, largest_local_batch is missing.
    """
    fixed_gib: Optional[float]
    gpu_gib: Optional[Mapping[str, float]]


class InterruptionLog(TypedDict, total=False):
    """How long nodes of one kind lived and were away. If there is nothing, the answer is what is believed
    without a log.

    live_s: Seconds of each period that an interruption ended; if missing, there are none.
    running_s: Seconds of each period that goes on or ended otherwise; if missing, there are none.
    off_s: Seconds from each interruption until work could begin again; if missing, there are none.
    """
    live_s: Optional[Sequence[float]]
    running_s: Optional[Sequence[float]]
    off_s: Optional[Sequence[float]]


class _TrainingRequired(TypedDict):
    batch: int
    examples: float


class Training(_TrainingRequired, total=False):
    """What trainings to a target needed at one total batch.

    batch (required, 1 to 1073741824): Total batch, in examples.
    examples (required, 1e-18 to 1e18): Examples to the target, the mean or median of the runs, in any unit (epochs, for
        example) that is the same in all trainings.
    runs (1 to 1073741824): Number of runs; if missing, 1.
    std (at least 0): Standard deviation between runs, in the unit of examples; if missing, 0.
    """
    runs: Optional[int]
    std: Optional[float]


class BatchFactor(TypedDict):
    """How computing at a batch differs from the model's straight line.

    local_batch (required, above 0): Examples per replica and step.
    factor (required, above 0): Factor on the seconds of computing.
    """
    local_batch: float
    factor: float


class ShapeFactor(TypedDict):
    """How a shape differs from the model's laws.

    nodes (required, at least 1): Number of nodes.
    gpus (required, at least 1): Number of replicas over all nodes.
    compute (required, above 0): Factor on the seconds of computing.
    sync (required, above 0): Factor on the seconds of synchronising.
    """
    nodes: int
    gpus: int
    compute: float
    sync: float


class _ModelRequired(TypedDict):
    alpha_c: float
    beta_c: float
    alpha_n: float
    beta_n: float
    alpha_r: float
    beta_r: float
    gamma: float
    alone: float
    straggling: float
    node_seconds: float
    node_gpus: float
    network_seconds: float
    network_gpus: float
    network_nodes: float
    network_ring: float
    batches: List[BatchFactor]
    shapes: List[ShapeFactor]
    from_prior: List[str]


class Model(_ModelRequired, total=False):
    """The fitted model of one GPU type: the nearest parameters of Pollux's form (alpha_c to gamma), and those
    of the refined model.

    alpha_c (required): Seconds of computing that do not depend on the batch.
    beta_c (required): Seconds of computing per example.
    alpha_n (required): Seconds of synchronising two replicas on several nodes.
    beta_n (required): Further seconds of synchronising per replica beyond two, on several nodes.
    alpha_r (required): Seconds of synchronising two replicas on one node.
    beta_r (required): Further seconds of synchronising per replica beyond two, on one node.
    gamma (required): Overlap of computing and synchronising, from 1 (none) to 10.
    launch_seconds (above 0): The least seconds of computing, because the host launches kernels one by one; missing
        where only the line counts.
    alone (required): Factor on computing of a single replica, compared with one of several.
    straggling (required): Growth of computing with the number of replicas, because each step waits for the slowest.
    node_seconds (required): Seconds of synchronising within a node.
    node_gpus (required): Growth of node_seconds with the number of replicas on the node.
    network_seconds (required): Seconds of synchronising between nodes.
    network_gpus (required): Growth of network_seconds with the number of replicas per node.
    network_nodes (required): Growth of network_seconds with the number of nodes.
    network_ring (required): Growth of network_seconds along a ring of all replicas.
    batches (required): Factors of single batches.
    shapes (required): Factors of single shapes.
    from_prior (required): Names of the parameters that the samples do not settle.
    """
    launch_seconds: float


class _PredictionRequired(TypedDict):
    iteration_s: float
    low_s: float
    high_s: float


class Prediction(_PredictionRequired, total=False):
    """The predicted time of an iteration.

    iteration_s (required, at least 0): Seconds of a whole iteration: the median.
    low_s (required, at least 0): Seconds at the lower end of the central interval of probability 0.9.
    high_s (required, at least 0): Seconds at the upper end of the central interval of probability 0.9.
    examples_s (at least 0): Examples per second at the median; missing without initial_batch.
    efficiency (at least 0): What an example is worth compared with one at the initial batch; missing without
        initial_batch.
    goodput (at least 0): Useful examples per second, the product of both; missing without initial_batch.
    """
    examples_s: float
    efficiency: float
    goodput: float


class HostAnswer(TypedDict):
    """Speeds by CPU cores and host memory, in the form that the field host of a job takes.

    speed (required): Points: CPU cores per GPU, GiB per GPU, and the factor on the throughput.
    expected_error (required, at least 0): Expected relative error of the factor with the worst of the shares.
    next (required): CPU cores per GPU and GiB per GPU of the share to measure next; null if 3 % is reached.
    """
    speed: List[List[float]]
    expected_error: float
    next: Optional[List[float]]


class _MemoryAnswerRequired(TypedDict):
    fixed_gib: float
    example_gib: float
    knowledge: Literal["measured", "fixed_assumed", "no_growth"]


class MemoryAnswer(_MemoryAnswerRequired, total=False):
    """GPU memory of a batch: fixed_gib and example_gib per example. It lies at most 1 % below a sample.

    fixed_gib (required, at least 0): GiB that any batch needs.
    example_gib (required, at least 0): GiB per example on the GPU.
    knowledge (required): Basis of both numbers: several batches ("measured"), one batch, so that they are only careful
        for larger ones ("fixed_assumed"), or samples that do not grow, so that nothing is known of larger batches
        ("no_growth").
    largest_local_batch (at least 0): Largest number of examples per GPU that leaves 5 % of its memory free, 0 if none
        does; missing if gpu_gib does not name the type.
    """
    largest_local_batch: int


class Estimate(TypedDict):
    """An estimated number, with the central interval of probability 0.9.

    median (required, at least 0): The number to use.
    low (required, at least 0): Lower end of the interval.
    high (required, at least 0): Upper end of the interval.
    """
    median: float
    low: float
    high: float


class InterruptionAnswer(TypedDict):
    """How often a node is interrupted, and for how long.

    interruptions_h (required): Interruptions per hour, for the node's interruptions_h.
    off_s (required): Seconds from an interruption until work can begin again.
    shape (required): Weibull shape of the periods: below 1 most interruptions come early; median is 1 unless evidence
        is above 3.
    evidence (required): ln of how much better another shape than 1 explains the log.
    """
    interruptions_h: Estimate
    off_s: Estimate
    shape: Estimate
    evidence: float


class _FitsRequired(TypedDict):
    models: Dict[str, Model]
    predictions: List[Prediction]
    rmsle: Dict[str, float]
    milliseconds: float


class Fits(_FitsRequired, total=False):
    """An answer of goodput fit.

    models (required): Fitted models by GPU type that has samples.
    predictions (required): Answers to the entries of predict, in their order.
    rmsle (required): Root mean square of the logarithm of modelled over measured step time, by GPU type that has
        samples.
    host: Speeds by CPU cores and host memory; missing if the line asks for none.
    memory: GPU memory by GPU type that has samples of it; missing if the line has no memory.
    interruptions: Interruptions of a node; missing if the line has no log.
    noise_scale: The gradient noise scale by the trainings of convergence; missing without them.
    milliseconds (required, at least 0): Milliseconds of the fit.
    warnings: What in the line has no effect or probably is a slip, in words; missing if there is nothing, and in
        answers of the program, which writes warnings to standard error.
    """
    host: HostAnswer
    memory: Dict[str, MemoryAnswer]
    interruptions: InterruptionAnswer
    noise_scale: NoiseScale
    warnings: List[str]


class NoiseScale(TypedDict):
    """The gradient noise scale that whole trainings suggest, and what they predict for other total batches.

    median (required, above 0): Gradient noise scale, in examples, as noise_scale of a gradient takes it.
    low (required, above 0): Lower end of its central interval of probability 0.9.
    high (required, above 0): Upper end of its central interval of probability 0.9.
    from_prior (required): Ends of the interval that the trainings do not settle.
    predictions (required): Answers to the entries of convergence_batches, in their order.
    """
    median: float
    low: float
    high: float
    from_prior: List[Literal["low", "high"]]
    predictions: List[TrainingPrediction]


class TrainingPrediction(TypedDict):
    """The examples that one more training needs.

    batch (required, 1 to 1073741824): Total batch, in examples.
    examples (required, at least 0): Examples to the target: the median, in the unit of the trainings.
    low (required, at least 0): Lower end of the central interval of probability 0.9.
    high (required, at least 0): Upper end of the central interval of probability 0.9.
    """
    batch: int
    examples: float
    low: float
    high: float


class _ShareJobRequired(TypedDict):
    rate: Mapping[str, float]


class ShareJob(_ShareJobRequired, total=False):
    """A job with a fixed number of GPUs that gets a share of time.

    name: Name that messages use; if missing, the job's index.
    gpus (1 to 1048576): Number of GPUs that the job takes at once; if missing, 1.
    weight (1e-09 to 1e09): Weight of the job in objectives of fairness; if missing, 1.
    rate (required): Steps per second with all its GPUs, by GPU type, 0 or at least 1e-12; the job cannot run on types
        that are 0 or missing.
    left (0 to 1e15): Steps that the job still has to do; if missing, 0.
    age_s (0 to 1e15): Seconds since the job was submitted; if missing, 0.
    isolated_s (0 to 1e15): Work that the job has done, as seconds with an equal part of the cluster; if missing, 0.
    deadline_s (above 0): Seconds from now by which the job has to end, under the objectives sum and sum_per_dollar; if
        missing, there is no deadline.
    entity: Name of the job's entity; required where the line has entities, otherwise usually missing.
    """
    name: Optional[str]
    gpus: Optional[int]
    weight: Optional[float]
    left: Optional[float]
    age_s: Optional[float]
    isolated_s: Optional[float]
    deadline_s: Optional[float]
    entity: Optional[str]


class _EntityRequired(TypedDict):
    name: str


class Entity(_EntityRequired, total=False):
    """A group of jobs with a common share under the objective water_filling.

    name (required): Name that no other entity has.
    weight (above 0): Weight of the entity; if missing, 1.
    inside: How its jobs share: by weight ("fairness") or in order ("fifo"); if missing, "fairness".
    """
    weight: Optional[float]
    inside: Optional[Literal["fairness", "fifo"]]


class SharePair(TypedDict):
    """Two jobs with as many GPUs that can run on the same GPUs at the same time.

    jobs (required): Indices of the two jobs.
    rate (required): Steps per second of the first and of the second job while they share GPUs, by GPU type, each 0 or
        at least 1e-12; types that are missing are not shared.
    """
    jobs: Sequence[int]
    rate: Mapping[str, Sequence[float]]


class _ShareProblemRequired(TypedDict):
    objective: Literal["max_min", "max_min_blind", "water_filling", "finish_time_fairness", "sum", "sum_per_dollar",
        "makespan", "nash", "isolated", "proportional", "fifo", "allox"]
    gpus: Mapping[str, float]
    jobs: Sequence[ShareJob]


class ShareProblem(_ShareProblemRequired, total=False):
    """A line of goodput share: GPU types and jobs of a fixed size.

    objective (required): What the shares are best at, or the rule by which they are given.
    gpus (required): Number of GPUs by GPU type, 0 or at least 1e-12.
    price_h: Dollars per hour of one GPU, by every GPU type of gpus; required for sum_per_dollar, otherwise unused if
        missing.
    jobs (required): Jobs that share the GPUs.
    entities: Groups of jobs, for water_filling; if missing, every job stands for itself.
    pairs: Pairs of jobs that can share GPUs; if missing, none.
    gap (above 0): Relative difference of objective and bound at which shares count as proven; if missing, 1e-07.
    """
    price_h: Optional[Mapping[str, float]]
    entities: Optional[Sequence[Entity]]
    pairs: Optional[Sequence[SharePair]]
    gap: Optional[float]


class CannotRun(TypedDict):
    """A job that never gets anything.

    job (required): Name of the job.
    why (required): The reason in words.
    """
    job: str
    why: str


class _SharesRequired(TypedDict):
    shares: List[Dict[str, float]]
    rates: List[float]
    objective: Optional[float]
    bound: Optional[float]
    status: Literal["optimal", "feasible", "infeasible"]
    prices: Dict[str, float]
    milliseconds: float


class Shares(_SharesRequired, total=False):
    """An answer of goodput share.

    shares (required): Parts of the time on each GPU type, by job; types that are missing have 0.
    pair_shares: Parts of the time on each GPU type that both jobs run together, by pair; missing if the line has no
        pairs or the objective does not look at them.
    rates (required): Steps per second, by job.
    objective (required): Value of the shares under the objective; null if no job can run.
    bound (required): Value that no shares can be better than; null if no job can run.
    status (required): Proof of the shares: proven to the gap ("optimal"), cut off ("feasible"), or no job can run
        ("infeasible").
    prices (required): What one more GPU is worth at the margin, by GPU type.
    levels: Level of each job; missing unless the objective is water_filling.
    deadlines_met: false: not all deadlines can be met, so all were dropped; missing otherwise.
    cannot_run: Jobs that never get anything; missing if there are none.
    milliseconds (required, at least 0): Milliseconds of the search.
    warnings: What in the line has no effect or probably is a slip, in words; missing if there is nothing, and in
        answers of the program, which writes warnings to standard error.
    """
    pair_shares: List[Dict[str, float]]
    levels: List[float]
    deadlines_met: Literal[False]
    cannot_run: List[CannotRun]
    warnings: List[str]


class ReplicaGroup(TypedDict):
    """Replicas of a stage that are alike.

    gpu_type (required): GPU type of the replicas, one of the profiles'.
    tensor_parallel (required, 1 to 1024): Number of GPUs of each replica.
    zone (required): Zone of the replicas, one of the profiles'.
    count (required, 1 to 1048576): Number of replicas.
    """
    gpu_type: str
    tensor_parallel: int
    zone: str
    count: int


class Stage(TypedDict):
    """Consecutive layers of a model, and the replicas that compute them.

    layers (required): Index of the first and of the last layer, from 0.
    replicas (required): Groups of replicas; replica j hands on to replica j of the next stage.
    """
    layers: Sequence[int]
    replicas: Sequence[ReplicaGroup]


class _ParallelPlanRequired(TypedDict):
    microbatch: int
    stages: Sequence[Stage]


class ParallelPlan(_ParallelPlanRequired, total=False):
    """A model cut into stages. Answers contain it, and a line may give it back to be evaluated.

    microbatch (required, 1 to 1048576): Samples of one micro-batch.
    global_batch (1 to 1073741824): Samples per iteration; if missing, those of the line; an answer always has them.
    stages (required): Stages in the order of the layers.
    """
    global_batch: Optional[int]


class _ParallelQuestionRequired(TypedDict):
    model: str


class ParallelQuestion(_ParallelQuestionRequired, total=False):
    """A line of goodput parallel: a model and GPUs by zone, or a plan to evaluate.

    model (required): Name of the model, one of the profiles'.
    optimizer: Optimizer of the training, for its memory: 24 bytes per parameter ("Adam") or 20 ("SGD"); if missing,
        "Adam".
    prices: Dollars per hour of a GPU, by GPU type; types that are missing have Sailor's prices, or 0.
    plan: Plan to evaluate; if missing, the best one is looked for.
    gpus: Number of GPUs by zone and GPU type; required unless plan is given; if missing then, there are enough.
    global_batch (1 to 1073741824): Samples per iteration; required unless plan has its own, and then usually missing.
    objective: What is best: most iterations per second ("throughput") or fewest dollars per iteration ("cost");
        required unless plan is given, and then usually missing.
    most_usd (at least 0): Most dollars per iteration; if missing, there is no limit.
    least_throughput (at least 0): Fewest iterations per second; if missing, there is no limit.
    mixed_stages: true: replicas of a stage may differ in GPU type and degree, which takes far longer; if missing,
        false.
    gap (at least 0): Relative difference of objective and bound at which a plan counts as proven; if missing, 0.
    deadline_ms (at least 0): Milliseconds after which the best plan so far is the answer; if missing, there is no
        limit.
    measured: Measured runs of this model, to which the constants of time and memory are fitted; if missing, they are
        those of --time-model.
    estimate_times: true: layer times that were not measured are estimated from those that were, where that is certain
        to 15 %; if missing, false.
    """
    optimizer: Optional[Literal["Adam", "SGD"]]
    prices: Optional[Mapping[str, float]]
    plan: Optional[ParallelPlan]
    gpus: Optional[Mapping[str, Mapping[str, int]]]
    global_batch: Optional[int]
    objective: Optional[Literal["throughput", "cost"]]
    most_usd: Optional[float]
    least_throughput: Optional[float]
    mixed_stages: Optional[bool]
    gap: Optional[float]
    deadline_ms: Optional[float]
    measured: Optional[Sequence[MeasuredPlan]]
    estimate_times: Optional[bool]


class _MeasuredPlanRequired(TypedDict):
    plan: ParallelPlan


class MeasuredPlan(_MeasuredPlanRequired, total=False):
    """A measured training run of a model.

    plan (required): Plan with which the model was trained.
    iteration_s (above 0): Seconds of an iteration; missing if not measured.
    memory_gib (above 0): Peak memory of the fullest GPU, in GiB; missing if not measured.
    """
    iteration_s: Optional[float]
    memory_gib: Optional[float]


class EstimatedTimes(TypedDict):
    """Layer times of a plan that were estimated, not measured.

    gpu_type (required): GPU type of the layers.
    microbatch (required, 1 to 1048576): Samples of one micro-batch.
    tensor_parallel (required, 1 to 1024): GPUs that compute each layer together.
    deviation (required, at least 0): Standard deviation of the logarithm of the time of all layers: about the relative
        error.
    """
    gpu_type: str
    microbatch: int
    tensor_parallel: int
    deviation: float


class RunErrors(TypedDict):
    """How far off predictions of a measured run are: predicted / measured - 1.

    iteration (required): Error of the iteration's seconds; null if not measured.
    memory (required): Error of the fullest GPU's memory; null if not measured.
    """
    iteration: Optional[float]
    memory: Optional[float]


class _ParallelAnswerRequired(TypedDict):
    plan: Optional[ParallelPlan]
    iteration_s: Optional[float]
    throughput: Optional[float]
    usd: Optional[float]
    compute_usd: Optional[float]
    traffic_usd: Optional[float]
    memory_gib: List[Optional[float]]
    fits: bool
    objective: Optional[float]
    bound: Optional[float]
    gap: Optional[float]
    status: Literal["optimal", "feasible", "none", "unknown", "evaluated"]
    searched: int
    why: List[str]
    milliseconds: float


class ParallelAnswer(_ParallelAnswerRequired, total=False):
    """An answer of goodput parallel. Numbers that cannot be told are null.

    plan (required): The plan; null if none fits or none was found.
    iteration_s (required, at least 0): Seconds of an iteration.
    throughput (required, at least 0): Iterations per second.
    usd (required, at least 0): Dollars per iteration, for GPUs and traffic together.
    compute_usd (required, at least 0): Dollars per iteration for GPUs.
    traffic_usd (required, at least 0): Dollars per iteration for bytes between zones.
    memory_gib (required): Memory of the fullest GPU of each stage, in GiB.
    fits (required): true: every stage fits into the memory of its GPUs; why says whether the plan can run.
    objective (required): Value of the plan, in iterations per second or dollars per iteration; null if a plan is
        evaluated.
    bound (required): Value that no plan is better than, within the model; null if a plan is evaluated or none fits.
    gap (required, at least 0): Relative difference of objective and bound; null if a plan is evaluated or there is
        none.
    status (required): Proof of the plan: proven to the gap ("optimal"), cut off ("feasible"), no plan within the limits
        ("none"), cut off before a plan was found ("unknown"), or the plan of the line ("evaluated").
    searched (required, at least 0): Number of partial plans that were looked at.
    why (required): What prevents any plan, or speaks against the evaluated one, in words.
    milliseconds (required, at least 0): Milliseconds of the search.
    errors: How far off the fitted constants are, by measured run; missing if the line has no measured runs.
    estimated: Layer times of the plan that were estimated; missing unless the line has estimate_times.
    """
    errors: List[RunErrors]
    estimated: List[EstimatedTimes]


class _ReportRequired(TypedDict):
    gpu_type: str
    nodes: int
    gpus: int
    local_batch: int
    accumulation: int


class Report(_ReportRequired, total=False):
    """A line that a training's agent writes for the scheduler: the step time of its present plan, as an entry
    of samples, the noise of its gradients, and how busy they keep the GPU.

    gpu_type (required): GPU type on which the training runs.
    nodes (required, 1 to 1048576): Number of its nodes.
    gpus (required, 1 to 1048576): Number of its GPUs over all nodes.
    local_batch (required, 1 to 1073741824): Examples per GPU and step.
    accumulation (required, 0 to 1048576): Number of accumulated steps before the step that synchronises.
    step_s (1e-12 to 1e12): Seconds of the last step of an iteration, with its synchronisation; missing if iteration_s
        is given.
    iteration_s (1e-12 to 1e12): Seconds of a whole iteration; missing if step_s is given.
    sync_s (at least 0): Seconds of that time spent in synchronising; missing if nobody measured them.
    gradient: Noise of the gradients at the initial batch; missing until it is known.
    gpu_utilisation (0 to 1): Part of the time in which the GPU was busy under the present plan while nothing else used
        it; missing if the driver does not say it.
    """
    step_s: float
    iteration_s: float
    sync_s: float
    gradient: Gradient
    gpu_utilisation: float


class _PlanFileRequired(TypedDict):
    local_batch: int


class PlanFile(_PlanFileRequired, total=False):
    """The batch that a scheduler tells a training's agent.

    local_batch (required, 1 to 1073741824): Examples per GPU and step.
    accumulation (0 to 1048576): Number of accumulated steps before the step that synchronises; if missing, 0.
    """
    accumulation: int


class _PlanOptionsRequired(TypedDict):
    command: Literal['plan']


class PlanOptions(_PlanOptionsRequired, total=False):
    """Options with which the plan command is opened from C or Python: those of the program's command line.

    command (required): Always "plan".
    policy: Policy that values options; if missing, "sia".
    policy_options: Settings of the policy by name, for example {"p": 0.5}; settings that are missing have their
        defaults.
    explain: true: every job of a plan has why; if missing, false.
    advise: true: plans have advice on the offers of the line; if missing, false.
    memory: Path of a file that keeps what is remembered of jobs; if missing, there is none.
    proof: Path of a file for the certificate of the bound; if missing, none is written.
    strict: true: lines with unknown fields or GPU types, or with jobs or nodes that make no sense, are refused; if
        missing, false.
    """
    policy: Optional[Literal["sia", "goodput", "goodput-declared", "pollux", "optimus", "tiresias", "las", "fifo",
        "srtf"]]
    policy_options: Optional[Mapping[str, Union[float, bool, str]]]
    explain: Optional[bool]
    advise: Optional[bool]
    memory: Optional[str]
    proof: Optional[str]
    strict: Optional[bool]


class _AllotOptionsRequired(TypedDict):
    command: Literal['allot']


class AllotOptions(_AllotOptionsRequired, total=False):
    """Options with which the allot command is opened from C or Python.

    command (required): Always "allot".
    warm: true: every line starts from the prices of the line before; if missing, false.
    relax: true: the linear relaxation, in which jobs may be split; if missing, false.
    explain: true: answers have explanations; if missing, false.
    proof: Path of a file for the certificate of the bound; if missing, none is written.
    strict: true: lines with unknown fields are refused; if missing, false.
    """
    warm: Optional[bool]
    relax: Optional[bool]
    explain: Optional[bool]
    proof: Optional[str]
    strict: Optional[bool]


class _OtherOptionsRequired(TypedDict):
    command: Literal["fit", "share"]


class OtherOptions(_OtherOptionsRequired, total=False):
    """Options with which the commands fit and share are opened from C or Python.

    command (required): Name of the command.
    strict: true: lines with unknown fields or GPU types are refused; if missing, false.
    """
    strict: Optional[bool]
