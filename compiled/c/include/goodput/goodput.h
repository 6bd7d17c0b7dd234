#ifndef GOODPUT_GOODPUT_H
#define GOODPUT_GOODPUT_H

// goodput for C99 and for everything that calls C: allotments, fits of step times, plans of a round, and why
// a job has what it has. Link goodput::c (CMake) or -lgoodput_c.
//
// - Memory is the caller's: arrays and texts are read during the call and not kept, answers are written into
//   arrays of the caller. Only handles are the library's: NAME_create() makes one, NAME_destroy() ends it.
// - A struct of zeros is the default, but for its size: every struct that is passed by itself starts with
//   struct_size, to be set to its sizeof; beside every array of structs stands the size of one. So a program
//   that was compiled with an older header goes on working with a newer library: fields that it does not have
//   are zero. The other way round works as long as the fields that an older library does not know are zero;
//   otherwise it answers GOODPUT_BAD_SIZE.
// - Every function that can fail returns a goodput_status. NAME_error(handle) is the sentence about the last
//   failure: "job 'bert-3': initial_batch is 0, but must be between 1 and 1073741824". No C++ exception
//   leaves the library.
// - Different handles may be used by different threads at the same time; one handle by one thread at a time.
// - The same input gets the same answer, bit for bit, as long as no deadline cuts it off.

#include <stddef.h>
#include <stdint.h>

#ifndef GOODPUT_API
#if defined(_WIN32) && defined(GOODPUT_C_SHARED)
#ifdef GOODPUT_C_BUILD
#define GOODPUT_API __declspec(dllexport)
#else
#define GOODPUT_API __declspec(dllimport)
#endif
#elif defined(__GNUC__)
#define GOODPUT_API __attribute__((visibility("default")))
#else
#define GOODPUT_API
#endif
#endif

#ifdef __cplusplus
extern "C" {
#endif

/// The binary interface that this header describes. It is raised only by what breaks compiled programs;
/// functions, enum values and fields at the end of a struct may come without. The shared library carries it
/// in its name.
#define GOODPUT_ABI 1

/// The binary interface that the library was built with; a program that finds another number than GOODPUT_ABI
/// must not call anything else.
GOODPUT_API uint32_t goodput_abi(void);

/// The version of the library, "1.2.3". Never null, lives as long as the program.
GOODPUT_API const char* goodput_version(void);

/// What came of a call. New values may be added at the end: treat an unknown one as a failure.
typedef int32_t goodput_status;
enum {
    GOODPUT_OK = 0,         ///< done
    GOODPUT_BAD_INPUT = 1,  ///< the input makes no sense; the sentence names subject, field and value
    GOODPUT_TOO_SMALL = 2,  ///< an array of the answer is too small; the counts say what is needed
    GOODPUT_BAD_SIZE = 3,   ///< struct_size or the size of an element is none that this library can read
    GOODPUT_NOT_YET = 4,    ///< there is no plan or no fit to be asked about
    GOODPUT_NO_MEMORY = 5,  ///< no memory
    GOODPUT_INTERNAL = 6    ///< a fault of the library: please report it with the sentence
};

/// The name of a status in words, "bad input"; "unknown status" for others. Never null.
GOODPUT_API const char* goodput_status_text(goodput_status status);

/// What is proven of an allotment or a plan. New values may be added at the end.
enum {
    GOODPUT_OPTIMAL = 0,     ///< proven to the gap asked for
    GOODPUT_FEASIBLE = 1,    ///< keeps all capacities; `gap` says how far from the best it can be at most
    GOODPUT_INFEASIBLE = 2,  ///< proven: jobs that must run do not fit together; nothing is chosen
    GOODPUT_UNKNOWN = 3      ///< cut off before an allotment was found; nothing is chosen
};

/// Why a search ended. New values may be added at the end.
enum {
    GOODPUT_STOPPED_PROVEN = 0,    ///< the gap is proven
    GOODPUT_STOPPED_DEADLINE = 1,  ///< the deadline has passed
    GOODPUT_STOPPED_MEMORY = 2,    ///< as many states are kept as allowed
    GOODPUT_STOPPED_STATES = 3     ///< as many states have been looked at as allowed
};

/// A job that gets no option (goodput_allot_answer::choice).
#define GOODPUT_NO_OPTION SIZE_MAX
/// A gap of zero, where a gap of 0 means the default.
#define GOODPUT_GAP_ZERO (-1.0)

// ---- Allotments: which option for which job
// ---------------------------------------------------------------------

/// The solver with its memory.
typedef struct goodput_allotter goodput_allotter;

/// Resources with capacities, jobs with options: choose at most one option a job (exactly one where it must
/// run), so that the sum of the values is largest and no capacity is exceeded (the multiple-choice knapsack
/// problem of several dimensions).
typedef struct goodput_allot_problem {
    size_t struct_size;            ///< sizeof(goodput_allot_problem)
    size_t resource_count;         ///< number of resources
    const double* capacity;        ///< by resource: units that there are, 0 to 1e150
    size_t job_count;              ///< number of jobs
    const size_t* option_begin;    ///< by job: its first option; job_count + 1 of them, from 0, ascending
    const uint8_t* must;           ///< by job: 1 where one of its options has to be chosen; null: nowhere
    const double* value;           ///< by option: what it is worth, -1e150 to 1e150
    const size_t* use_begin;       ///< by option: its first use; one more than options, from 0, ascending
    const uint32_t* use_resource;  ///< by use: index of the resource
    const double* use_units;       ///< by use: units that the option takes of it, 0 to 1e150
    double gap;                    ///< proven when bound - objective <= gap * |bound|; 0: 1e-4;
                                   ///< GOODPUT_GAP_ZERO: proven to the end
    double deadline_ms;            ///< milliseconds after which the best so far is the answer; 0: none
    uint64_t most_states;          ///< states of the search looked at; 0: 2^23, a second or two
    uint64_t memory_states;        ///< states kept at once; 0: 2^22, at most 400 MB for up to 4 resources
    int32_t warm_start;  ///< 1: the search for prices starts from those of the handle's last problem
} goodput_allot_problem;

/// The best allotment found, with its certificate. The arrays are the caller's.
typedef struct goodput_allot_answer {
    size_t struct_size;  ///< sizeof(goodput_allot_answer)
    size_t* choice;      ///< written, by job: index among its options, or GOODPUT_NO_OPTION; null: not wanted
    size_t choice_capacity;  ///< elements of `choice`: at least job_count
    double* price;           ///< written, by resource: what a unit is worth at the margin; null: not wanted
    size_t price_capacity;   ///< elements of `price`: at least resource_count
    double objective;        ///< written: sum of the chosen values
    double bound;            ///< written: no allotment is worth more
    double gap;              ///< written: bound - objective
    int32_t proof;           ///< written: GOODPUT_OPTIMAL and the like
    int32_t stopped;         ///< written: GOODPUT_STOPPED_PROVEN and the like
    uint64_t states;         ///< written: states that the search looked at
} goodput_allot_answer;

/// A solver; null where there is no memory.
GOODPUT_API goodput_allotter* goodput_allotter_create(void);
/// Ends a solver; null does nothing.
GOODPUT_API void goodput_allotter_destroy(goodput_allotter* allotter);
/// The sentence about the last call's failure, "" where there was none. Lives until the handle's next call.
GOODPUT_API const char* goodput_allotter_error(const goodput_allotter* allotter);
/// Solves a problem. Bad numbers get GOODPUT_BAD_INPUT; a hard problem gets the best allotment found, with
/// proof, bound and why it stopped. GOODPUT_TOO_SMALL, before anything is solved, where an array of the
/// answer is too small.
GOODPUT_API goodput_status goodput_allot(goodput_allotter* allotter, const goodput_allot_problem* problem,
                                         goodput_allot_answer* answer);

// ---- Samples of step times
// --------------------------------------------------------------------------------------

/// goodput_sample::flags.
enum {
    GOODPUT_SAMPLE_WHOLE_ITERATION = 1,  ///< step_s is of the whole iteration, with all that it accumulates
    GOODPUT_SAMPLE_COUNTS_CORES = 2,     ///< cores_per_gpu is given, also where it is 0
    GOODPUT_SAMPLE_COUNTS_MEMORY = 4     ///< memory_gib_per_gpu is given, also where it is 0
};

/// How long a step took.
typedef struct goodput_sample {
    size_t job;            ///< index of the job (goodput_round); not looked at by goodput_fitter_fit()
    size_t gpu_type;       ///< index of the GPU type
    int32_t nodes;         ///< nodes that it ran on, from 1
    int32_t gpus;          ///< GPUs in all, at least as many
    int32_t local_batch;   ///< examples a GPU and step, from 1
    int32_t accumulation;  ///< steps before the one that synchronises, from 0
    double step_s;         ///< seconds of the step that synchronises, 1e-12 to 1e12
    double sync_s;         ///< the part of them spent in synchronising: less than step_s; below 0: unknown
    double cores_per_gpu;  ///< CPU cores that went with each GPU; 0: not counted
    double memory_gib_per_gpu;  ///< host memory that went with each GPU; 0: not counted
    uint32_t flags;             ///< GOODPUT_SAMPLE_WHOLE_ITERATION and the like, added up
    uint32_t spare;             ///< zero
} goodput_sample;

// ---- Fits: how long would a step take?
// --------------------------------------------------------------------------

/// The models of one job on all GPU types, fitted together.
typedef struct goodput_fitter goodput_fitter;

/// What a fit is made from.
typedef struct goodput_fit_input {
    size_t struct_size;     ///< sizeof(goodput_fit_input)
    size_t gpu_type_count;  ///< number of GPU types, 1 to 1024; those without samples are guessed from others
    const goodput_sample* sample;  ///< measurements in any order, at least one
    size_t sample_count;           ///< their number
    size_t sample_size;            ///< sizeof(goodput_sample)
} goodput_fit_input;

/// A question to a fit.
typedef struct goodput_question {
    size_t gpu_type;       ///< index of the GPU type
    int32_t nodes;         ///< from 1
    int32_t gpus;          ///< GPUs in all, at least as many as nodes
    int32_t local_batch;   ///< examples a GPU and step, from 1
    int32_t accumulation;  ///< steps before the one that synchronises, from 0
    int32_t
        initial_batch;    ///< total batch size that efficiency is relative to; 0: no efficiency is asked for
    double gradient_sqr;  ///< squared norm of the gradient at the initial batch size, in any unit
    double
        gradient_var;  ///< its variance, in the same unit; both 0: an example is worth the same at any batch
} goodput_question;

/// The answer to a question.
typedef struct goodput_prediction {
    double iteration_s;  ///< seconds of an iteration, accumulation included: as likely more as less
    double low_s;        ///< with iteration_s and high_s the central interval of probability 0.9
    double high_s;       ///< see low_s
    double examples_s;   ///< examples a second at iteration_s
    double efficiency;   ///< what an example is worth of one at the initial batch size; 1 where not asked for
    double goodput;      ///< examples_s times efficiency
} goodput_prediction;

/// A fit without measurements; null where there is no memory.
GOODPUT_API goodput_fitter* goodput_fitter_create(void);
/// Ends a fit; null does nothing.
GOODPUT_API void goodput_fitter_destroy(goodput_fitter* fitter);
/// The sentence about the last call's failure, "" where there was none. Lives until the handle's next call.
GOODPUT_API const char* goodput_fitter_error(const goodput_fitter* fitter);
/// Fits models of all GPU types to the samples, in place of those that the handle had. `rmsle`, where not
/// null, gets by GPU type the root mean square of ln(modelled / measured step), 0 where there are no samples;
/// it has room for `rmsle_capacity` numbers. A refused input leaves the handle's models as they are.
GOODPUT_API goodput_status goodput_fitter_fit(goodput_fitter* fitter, const goodput_fit_input* input,
                                              double* rmsle, size_t rmsle_capacity);
/// Answers `count` questions, of `question_size` bytes each, into as many predictions of `prediction_size`
/// bytes. GOODPUT_NOT_YET before the first fit.
GOODPUT_API goodput_status goodput_fitter_predict(goodput_fitter* fitter, const goodput_question* question,
                                                  size_t count, size_t question_size,
                                                  goodput_prediction* prediction, size_t prediction_size);

// ---- Plans: who gets what, where
// --------------------------------------------------------------------------------

/// Makes plans round after round, and remembers what jobs have measured.
typedef struct goodput_scheduler goodput_scheduler;

/// Which policy values the options. New values may be added at the end.
enum {
    GOODPUT_POLICY_SIA = 0,     ///< Sia's (`goodput plan --policy sia`)
    GOODPUT_POLICY_GOODPUT = 1  ///< goodput's own (`goodput plan --policy goodput`)
};

/// A number that a policy can be told, by the name that `--policy-option` has for it.
typedef struct goodput_policy_option {
    const char* name;  ///< sia: p, lambda, rounding, largest; goodput: p, order, sharpness, patience,
                       ///< restart, horizon, usual, noise, wait
    double value;      ///< its value
} goodput_policy_option;

/// How a scheduler works.
typedef struct goodput_scheduler_settings {
    size_t struct_size;      ///< sizeof(goodput_scheduler_settings)
    int32_t policy;          ///< GOODPUT_POLICY_SIA and the like
    double gap;              ///< of the allotment, as in goodput_allot_problem
    double deadline_ms;      ///< milliseconds for the allotment of a round; 0: none. What does not
                             ///< depend on it takes some microseconds a job.
    uint64_t most_states;    ///< states of the search looked at; 0: 2^23
    uint64_t memory_states;  ///< states kept at once; 0: 2^22
    const goodput_policy_option* option;  ///< numbers of the policy that are not its defaults
    size_t option_count;                  ///< their number
    size_t option_size;                   ///< sizeof(goodput_policy_option)
} goodput_scheduler_settings;

/// goodput_node::flags.
enum {
    GOODPUT_NODE_DRAINED = 1,  ///< keeps what runs on it but takes nothing new
    GOODPUT_NODE_SPOT = 2      ///< the provider may take it back
};

/// One machine with GPUs of one type. One that is lost stays, drained, and no placement names it: to leave it
/// out gives all machines behind it other indices, which placements of the same round must use.
typedef struct goodput_node {
    const char* name;        ///< its own among the nodes
    size_t gpu_type;         ///< index of its GPU type
    int32_t gpus;            ///< GPUs that may be used now, from 1
    uint32_t flags;          ///< GOODPUT_NODE_DRAINED and the like, added up
    double cores;            ///< CPU cores of the node; 0: not counted
    double memory_gib;       ///< host memory of the node; 0: not counted
    double price_h;          ///< dollars an hour of the whole node
    double interruptions_h;  ///< expected interruptions an hour
    const char* zone;        ///< jobs are kept within a zone where they can be; null: none
    const char* rack;        ///< likewise within a rack of the zone; null: none
} goodput_node;

/// goodput_job::adapt: what a plan may change about a job.
enum {
    GOODPUT_ADAPT_BATCH = 0,  ///< GPU type, number of GPUs and batch size
    GOODPUT_ADAPT_GPUS = 1,   ///< GPU type and number of GPUs
    GOODPUT_ADAPT_NONE = 2    ///< only the GPU type: the number of GPUs is max_gpus
};

/// goodput_job::flags.
enum {
    GOODPUT_JOB_NOT_PREEMPTIBLE = 1,           ///< keeps what it holds
    GOODPUT_JOB_RESTARTING = 2,                ///< in the middle of a restart: keeps what it holds this round
    GOODPUT_JOB_NOT_ON_SPOT = 4,               ///< is offered nothing on spot nodes
    GOODPUT_JOB_HAS_GRADIENT = 8,              ///< gradient_sqr and gradient_var are given
    GOODPUT_JOB_HAS_REMAINING = 16,            ///< remaining_examples is given
    GOODPUT_JOB_HAS_DONE = 32,                 ///< done_examples is given
    GOODPUT_JOB_HAS_HOST = 64,                 ///< the four numbers from least_cores_per_gpu on are given
    GOODPUT_JOB_HAS_CHECKPOINT = 128,          ///< checkpoint_s is given
    GOODPUT_JOB_SINGLE_GPU_ACCUMULATES = 256,  ///< above the initial batch size a single GPU must accumulate
    GOODPUT_JOB_COUNTS_CORES = 512,   ///< with GOODPUT_JOB_HAS_HOST: the cores are given, also where 0
    GOODPUT_JOB_COUNTS_MEMORY = 1024  ///< the same of the host memory
};

/// A training job, running or waiting. What it holds is in goodput_round::held.
typedef struct goodput_job {
    const char* name;       ///< its own among the jobs
    const char* kind;       ///< jobs of one kind are runs of one program; null: those with the same limits
    const char* team;       ///< whose quota it counts in; null: none
    double submitted_s;     ///< on the clock of goodput_round::time_s
    int32_t restarts;       ///< so far; the first start is none
    int32_t min_gpus;       ///< fewest that it may hold, from 1; 0: 1
    int32_t max_gpus;       ///< most that it may hold; 0: as min_gpus
    int32_t adapt;          ///< GOODPUT_ADAPT_BATCH and the like
    int32_t initial_batch;  ///< total batch size that efficiency is relative to, from 1
    int32_t max_batch;      ///< largest total batch size; 0: no limit (but with GOODPUT_ADAPT_BATCH)
    int32_t target_batch;   ///< total batch size (the others)
    uint32_t flags;         ///< GOODPUT_JOB_NOT_PREEMPTIBLE and the like, added up
    double restart_cost_s;  ///< seconds that one more restart would cost
    double attained_gpu_s;  ///< GPU-seconds that it has held so far
    double weight;          ///< factor on its values, 1e-9 to 1e9; 0: 1
    double gradient_sqr;    ///< squared norm of the gradient at the initial batch size
    double gradient_var;    ///< its variance, in the same unit; both 0: not measured
    double remaining_examples;        ///< useful examples still to do
    double done_examples;             ///< useful examples done
    double checkpoint_s;              ///< seconds of training between two checkpoints, above 0
    double least_cores_per_gpu;       ///< CPU cores a GPU that it needs at least
    double most_cores_per_gpu;        ///< and that it has use for at most
    double least_memory_gib_per_gpu;  ///< host memory a GPU that it needs at least
    double most_memory_gib_per_gpu;   ///< and that it has use for at most
    const char* within;               ///< "rack" or "zone": all its nodes are in one; null: anywhere
    int32_t wanted_batch;  ///< largest total batch that the owner wants, from initial_batch: what its samples
                           ///< show counts for more; 0: max_batch
    int32_t spare;         ///< zero
} goodput_job;

/// What a job may use on one GPU type.
typedef struct goodput_type_limits {
    int32_t min_local_batch;   ///< least examples a GPU and step; 0: 1
    int32_t max_local_batch;   ///< most examples a GPU and step; 0: the job cannot run on this type
    int32_t gpus_per_replica;  ///< pipeline stages; 0: 1
    int32_t max_nodes;         ///< over which it may be spread; 0: any number
    double rate;               ///< examples a second of one replica at its largest batch; 0: unknown
} goodput_type_limits;

/// GPUs of one node that a job holds, or gets.
typedef struct goodput_share {
    size_t job;     ///< index of the job
    size_t node;    ///< index of the node
    int32_t gpus;   ///< GPUs of it, from 1
    int32_t spare;  ///< zero
} goodput_share;

/// The seven parameters of Pollux's throughput model on one GPU type, of a job that brings its own. With b
/// examples a GPU and step a step computes alpha_c + beta_c b seconds; k > 1 replicas synchronise in alpha_r
/// + beta_r (k - 2) seconds on one node, alpha_n + beta_n (k - 2) on several; both overlap by the power
/// gamma, 1 (not at all) to 10.
typedef struct goodput_speed_model {
    size_t job;             ///< index of the job
    size_t gpu_type;        ///< index of the GPU type
    double alpha_c;         ///< all at least 0
    double beta_c;          ///< see alpha_c
    double alpha_n;         ///< see alpha_c
    double beta_n;          ///< see alpha_c
    double alpha_r;         ///< see alpha_c
    double beta_r;          ///< see alpha_c
    double gamma;           ///< from 1
    int32_t most_replicas;  ///< largest number of replicas that it was seen on; 0: 1
    int32_t spare;          ///< zero
} goodput_speed_model;

/// A measured speed of a job by what goes with each GPU on its host.
typedef struct goodput_host_speed {
    size_t job;                 ///< index of the job, one with GOODPUT_JOB_HAS_HOST
    double cores_per_gpu;       ///< with so many CPU cores a GPU
    double memory_gib_per_gpu;  ///< and so much host memory
    double factor;              ///< on the throughput, at least 0
} goodput_host_speed;

/// goodput_checkpoint::flags.
enum {
    GOODPUT_CHECKPOINT_HAS_RESTORE = 1,   ///< restore_s is given; else it is the job's restart_cost_s
    GOODPUT_CHECKPOINT_HAS_KEPT = 2,      ///< kept is given; else it is 1
    GOODPUT_CHECKPOINT_SAVES_NOTHING = 4  ///< there is no checkpoint before the job's end
};

/// A way in which a job can save its state; the best of its ways is chosen where nodes are interrupted. A job
/// without any pauses for half of its restart_cost_s.
typedef struct goodput_checkpoint {
    size_t job;                 ///< index of the job
    const char* name;           ///< what explanations call it
    double pause_s;             ///< training stands still for so long at every checkpoint
    double write_s;             ///< from the end of the pause until the checkpoint is safe
    double write_slowdown;      ///< part of its speed that training loses meanwhile, 0 to 1
    double restore_s;           ///< from the start after an interruption to the first step
    double caught;              ///< part of the interruptions at which all work can still be saved, 0 to 1
    double memory_gib_per_gpu;  ///< host memory that it takes beside each GPU
    double kept;                ///< part of the interruptions that its checkpoints outlive, 0 to 1
    int32_t stored_every;       ///< every so many one goes to storage, which keeps it, 1 to 64; 0: 1
    uint32_t flags;             ///< GOODPUT_CHECKPOINT_HAS_RESTORE and the like, added up
} goodput_checkpoint;

/// goodput_team::flags.
enum {
    GOODPUT_TEAM_HAS_GPUS = 1,      ///< gpus is given
    GOODPUT_TEAM_HAS_BUDGET = 2,    ///< budget_h is given
    GOODPUT_TEAM_HAS_SPOT_GPUS = 4  ///< spot_gpus is given
};

/// A team with its quotas.
typedef struct goodput_team {
    const char* name;  ///< as in goodput_job::team
    double gpus;       ///< most GPUs of all types
    double budget_h;   ///< most dollars an hour
    double spot_gpus;  ///< most GPUs of spot nodes
    double weight;     ///< factor on the values of its jobs; 0: 1
    uint32_t flags;    ///< GOODPUT_TEAM_HAS_GPUS and the like, added up
    uint32_t spare;    ///< zero
} goodput_team;

/// A team's quota of one GPU type.
typedef struct goodput_team_quota {
    size_t team;      ///< index of the team
    size_t gpu_type;  ///< index of the GPU type
    double gpus;      ///< most GPUs of that type
} goodput_team_quota;

/// goodput_round::flags.
enum {
    GOODPUT_ROUND_HAS_BUDGET = 1,     ///< budget_h is given
    GOODPUT_ROUND_HAS_SPOT_GPUS = 2,  ///< spot_gpus is given
    /// A job or a node that makes no sense does not refuse the round: it is set aside and named
    /// (goodput_plan::warning_count), and the rest is planned. Such a job keeps what it holds, or waits;
    /// nobody new comes to such a node.
    GOODPUT_ROUND_SETS_ASIDE = 4
};

/// Everything at one moment.
typedef struct goodput_round {
    size_t struct_size;           ///< sizeof(goodput_round)
    double time_s;                ///< now, on the clock of goodput_job::submitted_s
    const char* const* gpu_type;  ///< names; in later rounds of a handle more may follow, none may change
    size_t gpu_type_count;        ///< their number, at most 1024
    const goodput_node* node;     ///< the healthy nodes
    size_t node_count;            ///< their number
    size_t node_size;             ///< sizeof(goodput_node)
    const goodput_job* job;       ///< those that run and those that wait; who is not named has ended
    size_t job_count;             ///< their number
    size_t job_size;              ///< sizeof(goodput_job)
    const goodput_type_limits* limits;  ///< of job j on type t: element j * gpu_type_count + t
    size_t limits_count;                ///< job_count * gpu_type_count
    size_t limits_size;                 ///< sizeof(goodput_type_limits)
    const goodput_share* held;          ///< what jobs hold now, in any order
    size_t held_count;                  ///< their number
    size_t held_size;                   ///< sizeof(goodput_share)
    const goodput_sample* sample;       ///< measurements since the last round; earlier ones are remembered
    size_t sample_count;                ///< their number
    size_t sample_size;                 ///< sizeof(goodput_sample)
    const goodput_speed_model*
        model;           ///< of jobs that bring their own, in every round: their samples do not count
    size_t model_count;  ///< their number
    size_t model_size;   ///< sizeof(goodput_speed_model)
    const goodput_host_speed* host_speed;  ///< speeds by cores and memory, in any order
    size_t host_speed_count;               ///< their number
    size_t host_speed_size;                ///< sizeof(goodput_host_speed)
    const goodput_team* team;              ///< teams with quotas
    size_t team_count;                     ///< their number
    size_t team_size;                      ///< sizeof(goodput_team)
    const goodput_team_quota* team_quota;  ///< quotas of single GPU types
    size_t team_quota_count;               ///< their number
    size_t team_quota_size;                ///< sizeof(goodput_team_quota)
    const char* const* cancelled;          ///< names of jobs that are gone without having ended
    size_t cancelled_count;                ///< their number
    double budget_h;                       ///< most dollars an hour of everybody together
    double spot_gpus;                      ///< most GPUs on spot nodes of everybody together
    uint32_t flags;                        ///< GOODPUT_ROUND_HAS_BUDGET and the like, added up
    const goodput_checkpoint* checkpoint;  ///< ways in which jobs save their state; those of a job in order
    size_t checkpoint_count;               ///< their number
    size_t checkpoint_size;                ///< sizeof(goodput_checkpoint)
    double deadline_ms;  ///< milliseconds for the allotment of this round; 0: as the settings say
} goodput_round;

/// goodput_decision::action: what the caller has to do. New values may be added at the end.
enum {
    GOODPUT_WAIT = 0,     ///< it holds nothing and gets nothing
    GOODPUT_START = 1,    ///< it held nothing: start it
    GOODPUT_STAY = 2,     ///< it goes on with the GPUs that it holds; its batch may be another one
    GOODPUT_MOVE = 3,     ///< stop it and start it with as many GPUs of its type, on other nodes
    GOODPUT_RESTART = 4,  ///< stop it and start it with other GPUs
    GOODPUT_STOP = 5      ///< stop it: it gets nothing this round
};

/// goodput_decision::outcome.
enum {
    GOODPUT_RUNS = 0,       ///< has GPUs this round
    GOODPUT_WAITS = 1,      ///< could run on this cluster, but lost to others
    GOODPUT_IMPOSSIBLE = 2  ///< no set of healthy nodes could hold it
};

/// goodput_decision::knowledge: where its goodput comes from.
enum {
    GOODPUT_MEASURED = 0,      ///< the job's own model of this GPU type
    GOODPUT_PROJECTED = 1,     ///< another GPU type's model, scaled to this one
    GOODPUT_NOTHING_KNOWN = 2  ///< no measurement of the job at all: 1 a replica
};

/// What one job gets.
typedef struct goodput_decision {
    int32_t action;             ///< GOODPUT_START and the like
    int32_t outcome;            ///< GOODPUT_RUNS and the like
    size_t first_share;         ///< where in goodput_plan::share its nodes begin
    size_t share_count;         ///< number of its nodes
    size_t gpu_type;            ///< index of its GPU type; 0 where it gets nothing
    int32_t gpus;               ///< GPUs in all
    int32_t local_batch;        ///< examples a GPU and step
    int32_t accumulation;       ///< steps before the one that synchronises
    int32_t knowledge;          ///< GOODPUT_MEASURED and the like
    double goodput;             ///< useful examples a second that are expected
    double value;               ///< of what it gets, under the policy
    double cores_per_gpu;       ///< CPU cores that go with each GPU; 0: not counted, or its part of the node
    double memory_gib_per_gpu;  ///< host memory, likewise
    double availability;        ///< part of its time that interruptions and checkpoints leave; 1 without any
    double checkpoint_s;        ///< seconds of training between two checkpoints; 0: none is needed; infinite:
                                ///< it saves nothing before its end
} goodput_decision;

/// What a GPU of a pool (nodes of one GPU type and size, spot or not) is worth at the margin.
typedef struct goodput_pool_price {
    size_t gpu_type;        ///< index of the GPU type
    int32_t gpus_per_node;  ///< size of its nodes
    int32_t spot;           ///< 1: spot nodes
    double price;           ///< in units of the policy's values, at least 0
} goodput_pool_price;

/// How much of a quota, a budget or the like is used.
typedef struct goodput_limit_use {
    double capacity;  ///< what there is
    double used;      ///< by all jobs together
    double price;     ///< what a unit is worth
} goodput_limit_use;

/// Who gets what, where, and how good that is. The arrays are the caller's; one that is null with a capacity
/// of 0 and too small is not written, and its count says what it would take.
typedef struct goodput_plan {
    size_t struct_size;          ///< sizeof(goodput_plan)
    goodput_decision* decision;  ///< written, by job
    size_t decision_capacity;    ///< elements of it
    size_t decision_size;        ///< sizeof(goodput_decision)
    size_t decision_count;       ///< written: number of jobs
    goodput_share* share;        ///< written: GPUs of nodes, job by job, nodes ascending
    size_t share_capacity;       ///< elements of it; GPUs of the cluster are always enough
    size_t share_size;           ///< sizeof(goodput_share)
    size_t share_count;          ///< written: number of them
    goodput_pool_price* price;   ///< written, by pool: GPU type, size, spot
    size_t price_capacity;       ///< elements of it; nodes are always enough
    size_t price_size;           ///< sizeof(goodput_pool_price)
    size_t price_count;          ///< written: number of pools
    goodput_limit_use* limit;    ///< written, by limit: GOODPUT_ABOUT_LIMIT_NAME says which
    size_t limit_capacity;       ///< elements of it
    size_t limit_size;           ///< sizeof(goodput_limit_use)
    size_t limit_count;          ///< written: number of limits
    double objective;            ///< written: sum of the values of what is given
    double bound;                ///< written: no plan is worth more
    double gap;                  ///< written: bound - objective
    double move_cost_s;          ///< written: seconds lost by jobs that move although they keep their shape
    int32_t proof;               ///< written: GOODPUT_OPTIMAL and the like
    int32_t spare;               ///< zero
    size_t running;              ///< written: jobs that run
    size_t starting;             ///< written: jobs that start, move or restart
    size_t conflict_count;       ///< written: limits that are exceeded by what jobs keep
    size_t fault_count;          ///< written: options that were left out for a fault of the policy
    size_t warning_count;        ///< written: jobs and nodes that are set aside (GOODPUT_ROUND_SETS_ASIDE),
                                 ///< and what in the round probably is a slip
} goodput_plan;

/// What goodput_scheduler_explain() is asked about. New values may be added at the end.
enum {
    GOODPUT_ABOUT_JOB = 0,         ///< index of a job: why it has what it has, and what would change that
    GOODPUT_ABOUT_OUTCOME = 1,     ///< index of a job: why it waits or is impossible; "" for one that runs
    GOODPUT_ABOUT_LIMIT = 2,       ///< index of a limit: how much is used, and what one more would be worth
    GOODPUT_ABOUT_LIMIT_NAME = 3,  ///< index of a limit: its name
    GOODPUT_ABOUT_CONFLICT = 4,    ///< index of a conflict: which limit, which jobs, and what would end it
    GOODPUT_ABOUT_FAULT = 5,       ///< index of a fault: what failed
    GOODPUT_ABOUT_PLAN = 6,        ///< the whole plan in one line; the index is not looked at
    GOODPUT_ABOUT_CHECKPOINT = 7,  ///< index of a job: how it saves its state; "" where it need not
    GOODPUT_ABOUT_WARNING = 8,     ///< index of a warning: which job or node is set aside and why, or what in
                                   ///< the round probably is a slip
    GOODPUT_ABOUT_LIMIT_UNIT = 9,  ///< index of a limit: what its numbers count, "GPUs"
    GOODPUT_ABOUT_OFFER = 10       ///< index of an offer of the last goodput_scheduler_advise(): why so many
};

/// A scheduler with default settings; null where there is no memory.
GOODPUT_API goodput_scheduler* goodput_scheduler_create(void);
/// Ends a scheduler; null does nothing.
GOODPUT_API void goodput_scheduler_destroy(goodput_scheduler* scheduler);
/// The sentence about the last call's failure, "" where there was none. Lives until the handle's next call.
GOODPUT_API const char* goodput_scheduler_error(const goodput_scheduler* scheduler);
/// Gives a scheduler other settings, and has it forget all rounds. Refused settings change nothing.
GOODPUT_API goodput_status goodput_scheduler_configure(goodput_scheduler* scheduler,
                                                       const goodput_scheduler_settings* settings);
/// The plan of a round. A round that is refused is forgotten with all its samples: send it again, mended.
/// GOODPUT_TOO_SMALL: the round counts, the counts of the plan say what is needed, and
/// goodput_scheduler_last_plan() writes it into larger arrays.
GOODPUT_API goodput_status goodput_scheduler_plan(goodput_scheduler* scheduler, const goodput_round* round,
                                                  goodput_plan* plan);
/// The last plan once more. GOODPUT_NOT_YET before the first, and after a round that was refused.
GOODPUT_API goodput_status goodput_scheduler_last_plan(goodput_scheduler* scheduler, goodput_plan* plan);
/// A sentence about the last plan: `about` is GOODPUT_ABOUT_JOB and the like. Writes it, ended by a zero,
/// into `text` with room for `capacity` bytes, and its length without the zero to `length` (either may be
/// null). GOODPUT_TOO_SMALL: `text` holds the beginning.
GOODPUT_API goodput_status goodput_scheduler_explain(goodput_scheduler* scheduler, int32_t about,
                                                     size_t index, char* text, size_t capacity,
                                                     size_t* length);

/// goodput_offer::flags.
enum {
    GOODPUT_OFFER_SPOT = 1,      ///< the provider may take the nodes back
    GOODPUT_OFFER_HAS_START = 2  ///< start_s is given; else it is 180
};

/// Nodes of one GPU type and size, spot or not, that can be rented. Nodes of the round that match an offer
/// count as rented ones; all others are there anyway and cost nothing.
typedef struct goodput_offer {
    const char* name;        ///< its own among the offers
    size_t gpu_type;         ///< index of the GPU type, among those of the last round
    int32_t gpus;            ///< of a node, from 1
    int32_t most;            ///< nodes that may be rented at one time, rented ones included
    double price_h;          ///< dollars an hour of the whole node
    double start_s;          ///< seconds from the order, which is paid for, to the first job
    double interruptions_h;  ///< how often each node is expected to be lost, an hour
    uint32_t flags;          ///< GOODPUT_OFFER_SPOT and the like, added up
    uint32_t spare;          ///< zero
} goodput_offer;

/// What is said of one offer.
typedef struct goodput_offer_advice {
    int32_t nodes;        ///< that are worth their price, rented ones included
    int32_t gpus_wanted;  ///< by all jobs together, in these nodes
    double gpu_worth_h;   ///< dollars an hour that one more GPU would be worth
} goodput_offer_advice;

/// Which nodes are worth their price?
typedef struct goodput_rent_question {
    size_t struct_size;          ///< sizeof(goodput_rent_question)
    const goodput_offer* offer;  ///< what may be rented
    size_t offer_count;          ///< their number
    size_t offer_size;           ///< sizeof(goodput_offer)
    double hour_worth;           ///< dollars that an hour is worth in which a job is not complete; 0: 10
} goodput_rent_question;

/// The answer; the array is the caller's.
typedef struct goodput_rent_advice {
    size_t struct_size;            ///< sizeof(goodput_rent_advice)
    goodput_offer_advice* advice;  ///< written, by offer
    size_t advice_capacity;        ///< elements of it: at least offer_count
    size_t advice_size;            ///< sizeof(goodput_offer_advice)
    double price_h;                ///< written: dollars an hour of all these nodes
} goodput_rent_advice;

/// Which nodes are worth their price for the jobs of the last round, within the quotas of its teams.
/// GOODPUT_NOT_YET before the first plan, and after a round that was refused; GOODPUT_TOO_SMALL where the
/// array has no room for an answer to each offer. The plan stays as it is.
GOODPUT_API goodput_status goodput_scheduler_advise(goodput_scheduler* scheduler,
                                                    const goodput_rent_question* question,
                                                    goodput_rent_advice* advice);

// ---- Agents: the training's half
// --------------------------------------------------------------------------------

/// Measures one training from within, and chooses its batch plan and learning rate. In the training's loop:
/// goodput_agent_begin_step(), a gradient of each microbatch, goodput_agent_end_step() before the optimiser's
/// update; from time to time goodput_agent_retune().
typedef struct goodput_agent goodput_agent;

/// Which optimiser updates the parameters. New values may be added at the end.
enum {
    GOODPUT_OPTIMIZER_SGD = 0,       ///< gradients as they are
    GOODPUT_OPTIMIZER_MOMENTUM = 1,  ///< the same
    GOODPUT_OPTIMIZER_ADAM = 2       ///< Adam and AdamW
};

/// How the learning rate follows the batch. New values may be added at the end.
enum {
    GOODPUT_SCALING_BY_OPTIMIZER = 0,  ///< AdaScale; for Adam its square root
    GOODPUT_SCALING_ADA_SCALE = 1,     ///< from the gradient's noise, whatever the optimiser
    GOODPUT_SCALING_SQUARE_ROOT = 2,   ///< square root of the total batch over the initial one
    GOODPUT_SCALING_LINEAR = 3         ///< the total batch over the initial one
};

/// goodput_agent_settings::flags.
enum {
    GOODPUT_AGENT_MEAN_GIVEN =
        1,  ///< the averaged gradient comes by goodput_agent_add_mean_floats() and the like
    GOODPUT_AGENT_NO_TRIALS = 2,  ///< larger batches whose times nobody knows are not tried
    GOODPUT_AGENT_NO_WARMUP = 4   ///< the first steps of a plan are timed like all others
};

/// What a training is and may do.
typedef struct goodput_agent_settings {
    size_t struct_size;            ///< sizeof(goodput_agent_settings)
    size_t parameters;             ///< numbers of one gradient, all groups together, at least 1
    const size_t* group_size;      ///< by group with a learning rate of its own: its numbers; null: one group
    size_t group_count;            ///< number of groups
    int32_t optimizer;             ///< GOODPUT_OPTIMIZER_SGD and the like
    int32_t scaling;               ///< GOODPUT_SCALING_BY_OPTIMIZER and the like
    double adam_beta2;             ///< of Adam, below 1; 0: 0.999
    double adam_epsilon;           ///< of Adam; 0: 1e-8
    int32_t initial_batch;         ///< total batch that script and learning rate were written for: the least
    int32_t max_batch;             ///< largest total batch to train with
    int32_t min_atomic_batch;      ///< least examples a GPU and microbatch; 0: 1
    int32_t max_atomic_batch;      ///< most of them
    uint32_t flags;                ///< GOODPUT_AGENT_MEAN_GIVEN and the like, added up
    int32_t measure_every;         ///< of several gradients, one step in so many is looked at; 0: as of one
    double smoothing;              ///< what a step leaves of the noise's averages, below 1; 0: 0.996
    int32_t warmup_steps;          ///< steps of a plan that are not timed; 0: 3
    int32_t least_steps;           ///< steps timed before a plan's time is believed; 0: 5
    int32_t least_measured_steps;  ///< steps with gradients before a plan is chosen; 0: 20
    int32_t spare;                 ///< zero
    double retune_gain;            ///< a plan pays above so many times the present goodput; 0: 1.05
    double retune_seconds;         ///< what changing the plan costs
    double retune_horizon_s;       ///< within which that must be won back; 0: 600
    double largest_growth;         ///< a plan's total batch over the largest timed so far; 0: 2
    int32_t split_every;           ///< a lone gradient is halved in one step of so many (8 is good); 0: never
    int32_t spare2;                ///< zero
} goodput_agent_settings;

/// What a training holds now: GPUs of one type.
typedef struct goodput_holding {
    size_t struct_size;        ///< sizeof(goodput_holding)
    const char* gpu_type;      ///< as the scheduler names it
    int32_t nodes;             ///< from 1
    int32_t gpus;              ///< replicas in all, at least as many
    int32_t max_atomic_batch;  ///< most examples that fit one of these GPUs; 0: as the settings say
    int32_t spare;             ///< zero
} goodput_holding;

/// Norms of the gradients of one parameter group in one step, for who computes them.
typedef struct goodput_gradient_norms {
    double mean_of_squares;  ///< mean of the squared norms of the single gradients of all replicas
    double square_of_mean;   ///< squared norm of their mean
    double count;            ///< number of gradients, from 2
    double scale;            ///< examples of the step over the initial batch; 0: by the present plan
} goodput_gradient_norms;

/// What an agent knows.
typedef struct goodput_agent_state {
    size_t struct_size;           ///< sizeof(goodput_agent_state)
    int32_t local_batch;          ///< written: examples a GPU and microbatch to train with
    int32_t accumulation;         ///< written: microbatches before the one that synchronises
    double total_batch;           ///< written: examples of a step on all replicas
    double learning_rate_factor;  ///< written: on the base rate, of the first group
    double gradient_sqr;     ///< written: squared norm of the gradient at the initial batch; 0: not known
    double gradient_var;     ///< written: its variance, in the same unit
    double noise_scale;      ///< written: in examples; infinite while nothing is known
    double efficiency;       ///< written: what an example is worth of one at the initial batch
    double goodput;          ///< written: useful examples a second; 0: not known
    double progress_steps;   ///< written: steps at the initial batch that the training is worth
    double useful_examples;  ///< written: useful examples so far
} goodput_agent_state;

/// An agent that knows nothing; null where there is no memory.
GOODPUT_API goodput_agent* goodput_agent_create(void);
/// Ends an agent; null does nothing.
GOODPUT_API void goodput_agent_destroy(goodput_agent* agent);
/// The sentence about the last call's failure, "" where there was none. Lives until the handle's next call.
GOODPUT_API const char* goodput_agent_error(const goodput_agent* agent);
/// Tells an agent about its training, and has it forget what it knew. Refused settings change nothing. All
/// calls below get GOODPUT_NOT_YET before.
GOODPUT_API goodput_status goodput_agent_configure(goodput_agent* agent,
                                                   const goodput_agent_settings* settings);
/// At the start and after each restart: what is held now. Chooses the plan for it.
GOODPUT_API goodput_status goodput_agent_hold(goodput_agent* agent, const goodput_holding* holding);
/// Begins a step at a time of the caller's clock, in seconds. Gradients come multiplied by
/// `gradient_scale` (1: as they are); `adam_updates` are those that Adam's second moments have seen.
/// `wanted`, where not null, gets 1 where this step's gradients are looked at; in others the calls that give
/// them do nothing. With goodput_agent_settings::split_every read the step's plan after this call.
GOODPUT_API goodput_status goodput_agent_begin_step(goodput_agent* agent, double now_s, double gradient_scale,
                                                    uint64_t adam_updates, int32_t* wanted);
/// The next piece of a microbatch's mean gradient, before clipping: all of it, or a tensor after the other.
/// `second_moments`: with Adam, as many of them; else null.
GOODPUT_API goodput_status goodput_agent_add_floats(goodput_agent* agent, const float* piece,
                                                    const float* second_moments, size_t count);
/// The same in double precision.
GOODPUT_API goodput_status goodput_agent_add_doubles(goodput_agent* agent, const double* piece,
                                                     const double* second_moments, size_t count);
/// A microbatch is done, of which more follow.
GOODPUT_API goodput_status goodput_agent_end_microbatch(goodput_agent* agent, double now_s);
/// The next piece of the mean of all gradients of all replicas, multiplied by `scale`, with
/// GOODPUT_AGENT_MEAN_GIVEN.
GOODPUT_API goodput_status goodput_agent_add_mean_floats(goodput_agent* agent, const float* piece,
                                                         const float* second_moments, size_t count,
                                                         double scale);
/// The same in double precision.
GOODPUT_API goodput_status goodput_agent_add_mean_doubles(goodput_agent* agent, const double* piece,
                                                          const double* second_moments, size_t count,
                                                          double scale);
/// Instead: the squared norm of a group's part of that mean.
GOODPUT_API goodput_status goodput_agent_set_square_of_mean(goodput_agent* agent, size_t group,
                                                            double square);
/// This replica's sums of squares by group and its number of gradients, to be summed over the replicas
/// between the last gradient and the end of a step. Writes them where `totals` has room, and how many there
/// are, 0 in steps whose gradients are not wanted, to `count`.
GOODPUT_API goodput_status goodput_agent_totals(goodput_agent* agent, double* totals, size_t capacity,
                                                size_t* count);
/// Their sums over all replicas: as many as goodput_agent_totals() counted.
GOODPUT_API goodput_status goodput_agent_set_totals(goodput_agent* agent, const double* totals, size_t count);
/// The sum of this replica's gradients, to be summed likewise; none where the mean is given.
GOODPUT_API goodput_status goodput_agent_running_sum(goodput_agent* agent, float* sum, size_t capacity,
                                                     size_t* count);
/// Its sum over all replicas.
GOODPUT_API goodput_status goodput_agent_set_running_sum(goodput_agent* agent, const float* sum,
                                                         size_t count);
/// Ends a step. `sync_s`: seconds of its last microbatch in which nothing was computed; below 0: unknown.
/// `counted`, where not null, gets 0 where gradients are not finite: leave out the update.
GOODPUT_API goodput_status goodput_agent_end_step(goodput_agent* agent, double now_s, double sync_s,
                                                  int32_t* counted);
/// The same for who has the norms, one struct a parameter group.
GOODPUT_API goodput_status goodput_agent_end_step_norms(goodput_agent* agent, double now_s, double sync_s,
                                                        const goodput_gradient_norms* norms, size_t count,
                                                        size_t norms_size, int32_t* counted);
/// The step that was begun does not count.
GOODPUT_API goodput_status goodput_agent_drop_step(goodput_agent* agent);
/// Adopts a plan that is so much better that changing pays, if there is one: `changed` gets 1 then.
GOODPUT_API goodput_status goodput_agent_retune(goodput_agent* agent, int32_t* changed);
/// Trains with this plan from now on, because somebody else has decided; `changed`, where not null, gets 0
/// where it is the present one.
GOODPUT_API goodput_status goodput_agent_adopt(goodput_agent* agent, int32_t local_batch,
                                               int32_t accumulation, int32_t* changed);
/// The same by the text of a plan file, {"local_batch": 128, "accumulation": 1}; a blank one changes nothing.
GOODPUT_API goodput_status goodput_agent_adopt_text(goodput_agent* agent, const char* text, int32_t* changed);
/// What the agent knows.
GOODPUT_API goodput_status goodput_agent_read(goodput_agent* agent, goodput_agent_state* state);
/// By what to multiply the base learning rate of a group now.
GOODPUT_API goodput_status goodput_agent_learning_rate_factor(goodput_agent* agent, size_t group,
                                                              double* factor);
/// The line for the scheduler, without its end, written as by goodput_scheduler_explain(). GOODPUT_NOT_YET
/// until the present plan has been timed.
GOODPUT_API goodput_status goodput_agent_report(goodput_agent* agent, char* text, size_t capacity,
                                                size_t* length);
/// All that it remembers, to be kept with the checkpoint; written likewise.
GOODPUT_API goodput_status goodput_agent_save(goodput_agent* agent, char* text, size_t capacity,
                                              size_t* length);
/// Goes on from there, after goodput_agent_configure() and before goodput_agent_hold(). A refused text
/// changes nothing.
GOODPUT_API goodput_status goodput_agent_restore(goodput_agent* agent, const char* text, size_t length);

#ifdef __cplusplus
}
#endif

#endif
