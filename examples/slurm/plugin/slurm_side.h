#ifndef GOODPUT_EXAMPLES_SLURM_PLUGIN_SLURM_SIDE_H
#define GOODPUT_EXAMPLES_SLURM_PLUGIN_SLURM_SIDE_H

/*
 * The parts of slurmctld that the plugin needs, in C, because Slurm's own headers are not C++. The texts that a
 * callback receives are valid until it returns.
 */

#include <stdbool.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

struct slurm_side_node {
    const char* name;
    const char* gres; /* "gpu:t4:4" */
    bool up;          /* idle, mixed or allocated */
    bool drained;
    bool answers;
    bool ending; /* a job ends there */
};

struct slurm_side_job {
    uint32_t id;
    const char* state; /* as squeue prints it, e.g. "COMPLETING" */
    const char* reason;
    const char* comment;
    const char* admin_comment;
    const char* folder;
    const char* tres_per_node;  /* "gres:gpu:t4:1" */
    const char* required_nodes; /* "big0,big1" */
    const char* nodes;          /* that it holds, or held while it ended there */
    uint32_t priority;
    int64_t submitted, started;
    int64_t deadline; /* 0: none */
    uint32_t restarts;
    uint32_t held_count;
    const char* const* held_nodes; /* by node that it holds: its name, */
    const char* const* held_gres;  /* and "gpu:t4:2(IDX:0-1)" */
};

/* Calls `node` for every node and `job` for every job, under slurmctld's read locks: they must not wait. */
void slurm_side_read(void* context, void (*node)(void*, const struct slurm_side_node*),
                     void (*job)(void*, const struct slurm_side_job*));

/* Each takes slurmctld's write locks and changes one job. Returns NULL, or why Slurm refuses. */
const char* slurm_side_hold(uint32_t job);
const char* slurm_side_release(uint32_t job);
const char* slurm_side_requeue_held(uint32_t job);
const char* slurm_side_start_now(uint32_t job);
const char* slurm_side_note(uint32_t job, const char* admin_comment);
const char* slurm_side_ask(uint32_t job, const char* nodes, uint32_t count, const char* tres_per_node);

/* Writes the state of all jobs to disk before it returns. */
void slurm_side_save(void);

/* Return the number after NAME= in SchedulerParameters, or `usual`; and the text, or NULL. Call free() on the
 * text. */
double slurm_side_number(const char* name, double usual);
char* slurm_side_text(const char* name);

void slurm_side_log(const char* text);

#ifdef __cplusplus
}
#endif

#endif
