#ifndef GOODPUT_EXAMPLES_SLURM_PLUGIN_ROUNDS_H
#define GOODPUT_EXAMPLES_SLURM_PLUGIN_ROUNDS_H

/* The plugin's thread, which looks at slurmctld's jobs and nodes and plans; implemented in C++. */

#ifdef __cplusplus
extern "C" {
#endif

/* 0, or 1 where no thread can be had. */
int rounds_start(void);
/* Returns when the thread has ended. */
void rounds_stop(void);

#ifdef __cplusplus
}
#endif

#endif
