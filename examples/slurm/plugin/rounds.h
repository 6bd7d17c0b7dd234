#ifndef GOODPUT_EXAMPLES_SLURM_PLUGIN_ROUNDS_H
#define GOODPUT_EXAMPLES_SLURM_PLUGIN_ROUNDS_H

/* The plugin's thread, which reads slurmctld's jobs and nodes, and plans. It is implemented in C++. */

#ifdef __cplusplus
extern "C" {
#endif

/* Starts the thread. Returns 0, or 1 if no thread can be started. */
int rounds_start(void);
/* Stops the thread. Returns when it has ended. */
void rounds_stop(void);

#ifdef __cplusplus
}
#endif

#endif
