#ifndef GOODPUT_TESTS_C_CHECK_H
#define GOODPUT_TESTS_C_CHECK_H

// What the C tests are made of. A failed claim ends the program with its line.

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <goodput/goodput.h>

#define CHECK(claim)                                                            \
    do {                                                                        \
        if (!(claim)) {                                                         \
            fprintf(stderr, "%s:%d: not so: %s\n", __FILE__, __LINE__, #claim); \
            exit(1);                                                            \
        }                                                                       \
    } while (0)

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

// A cluster with a job that waits and one that runs: what the tests change a field of.
typedef struct {
    const char* types[2];
    goodput_node nodes[3];
    goodput_job jobs[2];
    goodput_type_limits limits[4];
    goodput_share held[1];
    goodput_sample samples[2];
    goodput_round round;
} Example;

static inline void make_example(Example* it) {
    memset(it, 0, sizeof *it);
    it->types[0] = "T4";
    it->types[1] = "A100";
    it->nodes[0] = (goodput_node){.name = "small-0", .gpu_type = 0, .gpus = 4};
    it->nodes[1] = (goodput_node){.name = "small-1", .gpu_type = 0, .gpus = 4};
    it->nodes[2] = (goodput_node){.name = "big-0", .gpu_type = 1, .gpus = 8};
    it->jobs[0] = (goodput_job){.name = "vision",
                                .submitted_s = 400,
                                .max_gpus = 16,
                                .initial_batch = 128,
                                .max_batch = 4096,
                                .flags = GOODPUT_JOB_HAS_GRADIENT,
                                .restart_cost_s = 30,
                                .attained_gpu_s = 9000,
                                .gradient_sqr = 1,
                                .gradient_var = 25};
    it->jobs[1] = (goodput_job){.name = "language",
                                .submitted_s = 3300,
                                .min_gpus = 2,
                                .max_gpus = 8,
                                .adapt = GOODPUT_ADAPT_GPUS,
                                .initial_batch = 64,
                                .target_batch = 64,
                                .restart_cost_s = 120};
    it->limits[0] = (goodput_type_limits){.min_local_batch = 16, .max_local_batch = 128, .rate = 420};
    it->limits[1] = (goodput_type_limits){.min_local_batch = 16, .max_local_batch = 512, .rate = 2600};
    it->limits[3] = (goodput_type_limits){.max_local_batch = 16, .gpus_per_replica = 2, .rate = 90};
    it->held[0] = (goodput_share){.job = 0, .node = 0, .gpus = 4};
    for (int i = 0; i < 2; ++i)
        it->samples[i] = (goodput_sample){.job = 0,
                                          .gpu_type = 0,
                                          .nodes = 1,
                                          .gpus = i == 0 ? 4 : 1,
                                          .local_batch = 128,
                                          .step_s = i == 0 ? 0.34 : 0.31,
                                          .sync_s = i == 0 ? 0.03 : 0};
    it->round = (goodput_round){.struct_size = sizeof(goodput_round),
                                .time_s = 3600,
                                .gpu_type = it->types,
                                .gpu_type_count = COUNT(it->types),
                                .node = it->nodes,
                                .node_count = COUNT(it->nodes),
                                .node_size = sizeof(goodput_node),
                                .job = it->jobs,
                                .job_count = COUNT(it->jobs),
                                .job_size = sizeof(goodput_job),
                                .limits = it->limits,
                                .limits_count = COUNT(it->limits),
                                .limits_size = sizeof(goodput_type_limits),
                                .held = it->held,
                                .held_count = COUNT(it->held),
                                .held_size = sizeof(goodput_share),
                                .sample = it->samples,
                                .sample_count = COUNT(it->samples),
                                .sample_size = sizeof(goodput_sample)};
}

// Room for the plan of the example.
typedef struct {
    goodput_decision decisions[2];
    goodput_share shares[16];
    goodput_pool_price prices[3];
    goodput_limit_use limits[8];
    goodput_plan plan;
} Room;

static inline void make_room(Room* it) {
    memset(it, 0, sizeof *it);
    it->plan = (goodput_plan){.struct_size = sizeof(goodput_plan),
                              .decision = it->decisions,
                              .decision_capacity = COUNT(it->decisions),
                              .decision_size = sizeof(goodput_decision),
                              .share = it->shares,
                              .share_capacity = COUNT(it->shares),
                              .share_size = sizeof(goodput_share),
                              .price = it->prices,
                              .price_capacity = COUNT(it->prices),
                              .price_size = sizeof(goodput_pool_price),
                              .limit = it->limits,
                              .limit_capacity = COUNT(it->limits),
                              .limit_size = sizeof(goodput_limit_use)};
}

#endif
