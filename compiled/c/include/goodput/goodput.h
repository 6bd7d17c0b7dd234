#ifndef GOODPUT_GOODPUT_H
#define GOODPUT_GOODPUT_H

// goodput for C99 and for every language that calls C: the lines of the program goodput (plans, allotments,
// fits, shares), and the agent of a training. Link goodput::c (CMake) or -lgoodput_c.
//
// - The caller owns its memory: the library reads texts and arrays during the call and does not keep them.
//   Texts that the library returns live until the handle's next call.
// - No C++ exception leaves the library.
// - Different handles may be used by different threads at the same time; one handle by one thread at a time.
// - The same input gets the same answer, bit for bit, unless a deadline cuts the search off.
//
// Of the agent, every function returns a goodput_status, and goodput_agent_error() is the sentence about the
// last failure. A struct of zeros is the default, except for its size: every struct that is passed by itself
// starts with struct_size, to be set to its sizeof; next to an array of structs stands the size of one. So a
// program that was compiled with an older header works with a newer library: fields that it does not have are
// zero. A program with a newer header works with an older library if the fields that this library does not
// know are zero; otherwise the library answers GOODPUT_BAD_SIZE.

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
    GOODPUT_NOT_YET = 4,    ///< there are no settings or no report yet
    GOODPUT_NO_MEMORY = 5,  ///< no memory
    GOODPUT_INTERNAL = 6    ///< a fault of the library: please report it with the sentence
};

/// The name of a status in words, "bad input"; "unknown status" for others. Never null.
GOODPUT_API const char* goodput_status_text(goodput_status status);

// ---- Lines: what the program answers
// --------------------------------------------------------------------------------

/// Answers the lines of one command of the program goodput: a line of JSON in, a line of JSON out. It
/// remembers what a running program remembers of the lines before. docs/program.md says what lines and
/// answers look like, and goodput.schema.json lists all fields.
typedef struct goodput_lines goodput_lines;

/// Opens a command. `options` is a JSON document with the options of the program's command line:
///
///     {"command": "plan", "policy": "goodput", "policy_options": {"p": 0.5}, "explain": true, "advise":
///     true,
///      "memory": "FILE", "proof": "FILE", "strict": true}
///     {"command": "allot", "warm": true, "relax": true, "explain": true, "proof": "FILE", "strict": true}
///     {"command": "fit", "strict": true}
///     {"command": "share", "strict": true}
///
/// Every option but the command may be left out. The default policy is "sia", as on the command line. Returns
/// null only if there is no memory. If the options cannot be used, goodput_open_error() says why.
GOODPUT_API goodput_lines* goodput_open(const char* options);
/// Returns why the options of goodput_open() cannot be used, "" if they can. Never null. Lives as long as the
/// handle.
GOODPUT_API const char* goodput_open_error(const goodput_lines* lines);
/// Returns the answer to a line: a JSON document, without the end of the line. A line that cannot be used
/// gets
/// {"line": N, "error": "..."}, and so does every line if the options could not be used. The answer's
/// "warnings" name unknown fields and the like. Never null. The text lives until the handle's next call.
GOODPUT_API const char* goodput_answer(goodput_lines* lines, const char* line);
/// Closes a command. Null does nothing.
GOODPUT_API void goodput_close(goodput_lines* lines);

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
/// Writes the line for the scheduler, without its end. `length`, where not null, gets the length of the whole
/// text. Where `text` is not null, it gets at most capacity - 1 characters of it and a zero;
/// GOODPUT_TOO_SMALL says that there are more. GOODPUT_NOT_YET until the present plan has been timed.
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
