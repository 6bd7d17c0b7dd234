#ifndef GOODPUT_GOODPUT_H
#define GOODPUT_GOODPUT_H

// goodput for C99 and for every language that calls C: the lines of the program goodput (plans, allotments,
// fits, shares), and the agent of a training run. Link goodput::c (CMake) or -lgoodput_c.
//
// - The caller owns its memory: the library reads texts and arrays during the call and does not keep them.
//   Texts that the library returns live until the handle's next call.
// - No C++ exception leaves the library.
// - Different threads may use different handles at the same time. Only one thread at a time may use a
//   handle.
// - The same input gets the same answer, bit for bit, unless a deadline stops the search.
//
// Every function of the agent returns a goodput_status, and goodput_agent_error() explains the last failure
// in a sentence. A struct of zeros is the default, except for its size. Set struct_size, the first field of
// every struct that is passed by itself, to the struct's sizeof. Arrays of structs come with the size of
// one struct. So a program compiled with an older header works with a newer library: the fields that the
// program does not have count as zero. A program with a newer header works with an older library if the
// fields that this library does not know are zero. Otherwise the library returns GOODPUT_BAD_SIZE.

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

/// The binary interface that this header describes. The number grows only with changes that break compiled
/// programs. New functions, enum values and fields at the end of a struct do not change it. The shared
/// library has it in its name.
#define GOODPUT_ABI 1

/// Returns the binary interface that the library was built with. If it is not GOODPUT_ABI, call nothing
/// else.
GOODPUT_API uint32_t goodput_abi(void);

/// Returns the version of the library, "1.2.3". Never null; the text lives as long as the program.
GOODPUT_API const char* goodput_version(void);

/// The outcome of a call. New values may be added at the end: treat an unknown value as a failure.
typedef int32_t goodput_status;
enum {
    GOODPUT_OK = 0,         ///< done
    GOODPUT_BAD_INPUT = 1,  ///< the input is invalid; the sentence names subject, field and value
    GOODPUT_TOO_SMALL = 2,  ///< an array for the answer is too small; the counts say what is needed
    GOODPUT_BAD_SIZE = 3,   ///< struct_size, or the size of an element, is not one that this library can read
    GOODPUT_NOT_YET = 4,    ///< there are no settings or no report yet
    GOODPUT_NO_MEMORY = 5,  ///< out of memory
    GOODPUT_INTERNAL = 6    ///< a fault of the library: please report it with the sentence
};

/// Returns the name of a status in words, such as "bad input"; "unknown status" for others. Never null.
GOODPUT_API const char* goodput_status_text(goodput_status status);

// ---- Lines: what the program answers -------------------------------------------------------------------

/// Answers the lines of one command of the program goodput: a line of JSON in, a line of JSON out.
/// Remembers what a running program remembers of earlier lines. docs/program.md describes the lines and
/// answers, and goodput.schema.json lists all fields.
typedef struct goodput_lines goodput_lines;

/// Opens a command. `options` is a JSON document with the options of the program's command line:
///
///     {"command": "plan", "policy": "goodput", "policy_options": {"p": 0.5}, "explain": true,
///      "advise": true, "memory": "FILE", "proof": "FILE", "strict": true}
///     {"command": "allot", "warm": true, "relax": true, "explain": true, "proof": "FILE", "strict": true}
///     {"command": "fit", "strict": true}
///     {"command": "share", "strict": true}
///
/// Every option except the command may be left out. The default policy is "sia", as on the command line.
/// Returns null only if there is no memory. If the options cannot be used, goodput_open_error() says why.
GOODPUT_API goodput_lines* goodput_open(const char* options);
/// Returns why the options of goodput_open() cannot be used, "" if they can. Never null. Lives as long as the
/// handle.
GOODPUT_API const char* goodput_open_error(const goodput_lines* lines);
/// Returns the answer to a line: a JSON document, without the end of the line. A line that cannot be used
/// gets {"line": N, "error": "..."}, and so does every line if the options could not be used. The answer's
/// "warnings" name unknown fields and the like. Never null. The text lives until the handle's next call.
GOODPUT_API const char* goodput_answer(goodput_lines* lines, const char* line);
/// Closes a command. Does nothing for null.
GOODPUT_API void goodput_close(goodput_lines* lines);

// ---- Agents: the training's half -----------------------------------------------------------------------

/// Measures one training from within, and chooses its batch plan and learning rate. In the training's loop,
/// call goodput_agent_begin_step(), add the gradient of each microbatch, and call goodput_agent_end_step()
/// before the optimiser's update. Call goodput_agent_retune() from time to time.
typedef struct goodput_agent goodput_agent;

/// The optimiser that updates the parameters. New values may be added at the end.
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
        1,  ///< the averaged gradient comes from goodput_agent_add_mean_floats() and the like
    GOODPUT_AGENT_NO_TRIALS = 2,  ///< never tries larger batches whose times are unknown
    GOODPUT_AGENT_NO_WARMUP = 4   ///< also times the first steps of a plan
};

/// The properties of a training, and what it may do.
typedef struct goodput_agent_settings {
    size_t struct_size;        ///< sizeof(goodput_agent_settings)
    size_t parameters;         ///< numbers of one gradient, all groups together, at least 1
    const size_t* group_size;  ///< by group with its own learning rate: numbers of its gradient; null for one
                               ///< group
    size_t group_count;        ///< number of groups
    int32_t optimizer;         ///< GOODPUT_OPTIMIZER_SGD and the like
    int32_t scaling;           ///< GOODPUT_SCALING_BY_OPTIMIZER and the like
    double adam_beta2;         ///< beta2 of Adam, below 1; 0: 0.999
    double adam_epsilon;       ///< epsilon of Adam; 0: 1e-8
    int32_t initial_batch;  ///< total batch that script and learning rate were written for; also the smallest
    int32_t max_batch;      ///< largest total batch to train with
    int32_t min_atomic_batch;  ///< fewest examples per GPU and microbatch; 0: 1
    int32_t max_atomic_batch;  ///< most examples per GPU and microbatch
    uint32_t flags;            ///< GOODPUT_AGENT_MEAN_GIVEN and the like, added up
    int32_t measure_every;     ///< of every n steps with several gradients, one is measured; 0: as for single
                               ///< gradients
    double smoothing;          ///< part of the noise's averages that remains after a step, below 1; 0: 0.996,
                               ///< and 0.994 with Adam
    int32_t warmup_steps;      ///< steps of a plan that are not timed; 0: 3
    int32_t least_steps;       ///< steps timed before a plan's time is believed; 0: 5
    int32_t least_measured_steps;  ///< steps with gradients before a plan is chosen; 0: 20
    int32_t spare;                 ///< zero
    double retune_gain;            ///< a plan pays above this many times the present goodput; 0: 1.05
    double retune_seconds;         ///< seconds that a change of plan costs
    double retune_horizon_s;       ///< seconds within which that must be won back; 0: 600
    double largest_growth;  ///< most that a plan's total batch may exceed the largest timed so far, as a
                            ///< factor; 0: 2
    int32_t split_every;    ///< a single gradient is halved in one of every n steps (8 is good); 0: never
    int32_t spare2;         ///< zero
} goodput_agent_settings;

/// The GPUs that a training holds now, all of one type.
typedef struct goodput_holding {
    size_t struct_size;        ///< sizeof(goodput_holding)
    const char* gpu_type;      ///< as the scheduler names it
    int32_t nodes;             ///< from 1
    int32_t gpus;              ///< replicas in all, at least `nodes`
    int32_t max_atomic_batch;  ///< most examples that fit one of these GPUs; 0: as in the settings
    int32_t spare;             ///< zero
} goodput_holding;

/// Norms of the gradients of one parameter group in one step, for callers that compute them.
typedef struct goodput_gradient_norms {
    double mean_of_squares;  ///< mean of the squared norms of the single gradients of all replicas
    double square_of_mean;   ///< squared norm of their mean
    double count;            ///< number of gradients, at least 2
    double scale;            ///< examples of the step over the initial batch; 0: as in the present plan
} goodput_gradient_norms;

/// What an agent knows.
typedef struct goodput_agent_state {
    size_t struct_size;           ///< sizeof(goodput_agent_state)
    int32_t local_batch;          ///< written: examples per GPU and microbatch to train with
    int32_t accumulation;         ///< written: microbatches before the one that synchronises
    double total_batch;           ///< written: examples per step on all replicas
    double learning_rate_factor;  ///< written: factor on the base learning rate of the first group
    double gradient_sqr;          ///< written: squared norm of the gradient at the initial batch; 0: unknown
    double gradient_var;          ///< written: variance of the gradient, in the same unit
    double noise_scale;           ///< written: in examples; infinite if unknown
    double efficiency;            ///< written: worth of an example, relative to one at the initial batch
    double goodput;               ///< written: useful examples per second; 0: unknown
    double progress_steps;        ///< written: steps at the initial batch that would give the same progress
    double useful_examples;       ///< written: useful examples so far
} goodput_agent_state;

/// Creates an agent that knows nothing. Returns null if there is no memory.
GOODPUT_API goodput_agent* goodput_agent_create(void);
/// Destroys an agent. Does nothing for null.
GOODPUT_API void goodput_agent_destroy(goodput_agent* agent);
/// Returns a sentence about the failure of the last call, or "" if it succeeded. Lives until the handle's
/// next call.
GOODPUT_API const char* goodput_agent_error(const goodput_agent* agent);
/// Tells an agent about its training, and makes it forget everything else. Rejected settings change
/// nothing. Until this call succeeds, all calls below return GOODPUT_NOT_YET.
GOODPUT_API goodput_status goodput_agent_configure(goodput_agent* agent,
                                                   const goodput_agent_settings* settings);
/// Tells the agent what the training holds, at the start and after each restart. Chooses the plan for it.
GOODPUT_API goodput_status goodput_agent_hold(goodput_agent* agent, const goodput_holding* holding);
/// Tells the agent when the training was started, by the clock of goodput_agent_begin_step(), so that reports
/// say how long starts take (start_s). Call it after goodput_agent_hold() and before the first step.
GOODPUT_API goodput_status goodput_agent_started(goodput_agent* agent, double started_s);
/// Begins a step at a time of the caller's clock, in seconds. The gradients are multiplied by
/// `gradient_scale` (1: not scaled). `adam_updates` is the number of updates that Adam's second moments
/// have seen. Unless `wanted` is null, it gets 1 if this step's gradients are measured. Otherwise the calls
/// that pass them do nothing. With goodput_agent_settings::split_every, read the step's plan after this
/// call.
GOODPUT_API goodput_status goodput_agent_begin_step(goodput_agent* agent, double now_s, double gradient_scale,
                                                    uint64_t adam_updates, int32_t* wanted);
/// Passes the next piece of a microbatch's mean gradient, before clipping: the whole gradient, or one
/// tensor after the other. With Adam, `second_moments` has as many numbers; otherwise it is null.
GOODPUT_API goodput_status goodput_agent_add_floats(goodput_agent* agent, const float* piece,
                                                    const float* second_moments, size_t count);
/// The same in double precision.
GOODPUT_API goodput_status goodput_agent_add_doubles(goodput_agent* agent, const double* piece,
                                                     const double* second_moments, size_t count);
/// Ends a microbatch that is not the last of its step.
GOODPUT_API goodput_status goodput_agent_end_microbatch(goodput_agent* agent, double now_s);
/// Passes the next piece of the mean of all gradients of all replicas, multiplied by `scale`. Only with
/// GOODPUT_AGENT_MEAN_GIVEN.
GOODPUT_API goodput_status goodput_agent_add_mean_floats(goodput_agent* agent, const float* piece,
                                                         const float* second_moments, size_t count,
                                                         double scale);
/// The same in double precision.
GOODPUT_API goodput_status goodput_agent_add_mean_doubles(goodput_agent* agent, const double* piece,
                                                          const double* second_moments, size_t count,
                                                          double scale);
/// Passes the squared norm of a group's part of that mean instead.
GOODPUT_API goodput_status goodput_agent_set_square_of_mean(goodput_agent* agent, size_t group,
                                                            double square);
/// Writes this replica's sums of squares by group, and its number of gradients. Sum them over the replicas
/// between the last gradient and the end of a step. `totals` gets them if it has room. `count` gets their
/// number, which is 0 in steps whose gradients are not wanted.
GOODPUT_API goodput_status goodput_agent_totals(goodput_agent* agent, double* totals, size_t capacity,
                                                size_t* count);
/// Passes their sums over all replicas, as many as goodput_agent_totals() counted.
GOODPUT_API goodput_status goodput_agent_set_totals(goodput_agent* agent, const double* totals, size_t count);
/// Writes the sum of this replica's gradients, to be summed in the same way. It is empty if the mean is
/// given.
GOODPUT_API goodput_status goodput_agent_running_sum(goodput_agent* agent, float* sum, size_t capacity,
                                                     size_t* count);
/// Passes that sum over all replicas.
GOODPUT_API goodput_status goodput_agent_set_running_sum(goodput_agent* agent, const float* sum,
                                                         size_t count);
/// Ends a step. `sync_s` is the time of its last microbatch in which nothing was computed, in seconds;
/// below 0 means unknown. Unless `counted` is null, it gets 0 if gradients are not finite: skip the update
/// then.
GOODPUT_API goodput_status goodput_agent_end_step(goodput_agent* agent, double now_s, double sync_s,
                                                  int32_t* counted);
/// The same for callers that have the norms, with one struct per parameter group.
GOODPUT_API goodput_status goodput_agent_end_step_norms(goodput_agent* agent, double now_s, double sync_s,
                                                        const goodput_gradient_norms* norms, size_t count,
                                                        size_t norms_size, int32_t* counted);
/// Drops the step that was begun, so it does not count.
GOODPUT_API goodput_status goodput_agent_drop_step(goodput_agent* agent);
/// Adopts a better plan if the change pays. Then `changed` gets 1.
GOODPUT_API goodput_status goodput_agent_retune(goodput_agent* agent, int32_t* changed);
/// Trains with this plan from now on, because the caller has decided so. Unless `changed` is null, it gets
/// 0 if this is the present plan.
GOODPUT_API goodput_status goodput_agent_adopt(goodput_agent* agent, int32_t local_batch,
                                               int32_t accumulation, int32_t* changed);
/// The same with the text of a plan file, {"local_batch": 128, "accumulation": 1}. A blank text changes
/// nothing.
GOODPUT_API goodput_status goodput_agent_adopt_text(goodput_agent* agent, const char* text, int32_t* changed);
/// Reads what the agent knows.
GOODPUT_API goodput_status goodput_agent_read(goodput_agent* agent, goodput_agent_state* state);
/// Returns the factor on the base learning rate of a group now.
GOODPUT_API goodput_status goodput_agent_learning_rate_factor(goodput_agent* agent, size_t group,
                                                              double* factor);
/// Tells the agent which part of the time, 0 to 1, the GPU was busy while no other process used it, as its
/// driver says (NVML: utilization.gpu / 100). The report has the mean under the present plan.
GOODPUT_API goodput_status goodput_agent_add_gpu_utilisation(goodput_agent* agent, double busy);
/// Writes the line for the scheduler, without its end. Unless `length` is null, it gets the length of the
/// whole text. Unless `text` is null, it gets at most capacity - 1 characters and a zero; GOODPUT_TOO_SMALL
/// means that there are more. Returns GOODPUT_NOT_YET until the present plan has been timed.
GOODPUT_API goodput_status goodput_agent_report(goodput_agent* agent, char* text, size_t capacity,
                                                size_t* length);
/// Writes everything that the agent remembers, to be kept with the checkpoint, in the same way.
GOODPUT_API goodput_status goodput_agent_save(goodput_agent* agent, char* text, size_t capacity,
                                              size_t* length);
/// Restores a saved agent, after goodput_agent_configure() and before goodput_agent_hold(). A rejected text
/// changes nothing.
GOODPUT_API goodput_status goodput_agent_restore(goodput_agent* agent, const char* text, size_t length);

#ifdef __cplusplus
}
#endif

#endif
