// A round planned from C: that of docs/round.json, as `goodput plan --policy goodput` plans it.
//
//     cc -std=c99 plan.c -lgoodput_c && ./a.out

#include <stdio.h>

#include <goodput/goodput.h>

int main(void) {
    const goodput_job language = {.name = "language",
                                  .submitted_s = 3300,
                                  .restart_cost_s = 120,
                                  .min_gpus = 2,
                                  .max_gpus = 8,
                                  .adapt = GOODPUT_ADAPT_GPUS,
                                  .initial_batch = 64,
                                  .target_batch = 64};
    const goodput_job batch_only = {.name = "batch-only",
                                    .submitted_s = 3500,
                                    .min_gpus = 4,
                                    .max_gpus = 4,
                                    .adapt = GOODPUT_ADAPT_NONE,
                                    .flags = GOODPUT_JOB_NOT_PREEMPTIBLE,
                                    .initial_batch = 256,
                                    .target_batch = 256};
    // [plan]
    const char* types[] = {"T4", "A100"};
    const goodput_node nodes[] = {{.name = "small-0", .gpu_type = 0, .gpus = 4, .rack = "r1"},
                                  {.name = "small-1", .gpu_type = 0, .gpus = 4, .rack = "r2"},
                                  {.name = "big-0", .gpu_type = 1, .gpus = 8, .rack = "r2"}};
    const goodput_job jobs[] = {{.name = "vision",
                                 .submitted_s = 400,
                                 .restart_cost_s = 30,
                                 .attained_gpu_s = 9000,
                                 .max_gpus = 16,
                                 .initial_batch = 128,
                                 .max_batch = 4096,
                                 .flags = GOODPUT_JOB_HAS_GRADIENT,
                                 .gradient_sqr = 1,
                                 .gradient_var = 25},
                                language,
                                batch_only};
    const goodput_type_limits limits[] = {// vision on T4, on A100; language; batch-only
                                          {.min_local_batch = 16, .max_local_batch = 128, .rate = 420},
                                          {.min_local_batch = 16, .max_local_batch = 512, .rate = 2600},
                                          {.max_local_batch = 0},
                                          {.max_local_batch = 16, .gpus_per_replica = 2, .rate = 90},
                                          {.max_local_batch = 128},
                                          {.max_local_batch = 0}};
    const goodput_share held[] = {{.job = 0, .node = 0, .gpus = 4}};
    const goodput_sample samples[] = {
        {.job = 0, .gpu_type = 0, .nodes = 1, .gpus = 4, .local_batch = 128, .step_s = 0.34, .sync_s = 0.03}};
    const goodput_round now = {.struct_size = sizeof now,
                               .time_s = 3600,
                               .gpu_type = types,
                               .gpu_type_count = 2,
                               .node = nodes,
                               .node_count = 3,
                               .node_size = sizeof *nodes,
                               .job = jobs,
                               .job_count = 3,
                               .job_size = sizeof *jobs,
                               .limits = limits,
                               .limits_count = 6,
                               .limits_size = sizeof *limits,
                               .held = held,
                               .held_count = 1,
                               .held_size = sizeof *held,
                               .sample = samples,
                               .sample_count = 1,
                               .sample_size = sizeof *samples};

    goodput_decision decisions[3];
    goodput_share shares[16];  // as many as GPUs is always enough
    goodput_plan plan = {.struct_size = sizeof plan,
                         .decision = decisions,
                         .decision_capacity = 3,
                         .decision_size = sizeof *decisions,
                         .share = shares,
                         .share_capacity = 16,
                         .share_size = sizeof *shares};
    goodput_pool_price prices[3];
    plan.price = prices;
    plan.price_capacity = 3;
    plan.price_size = sizeof *prices;

    const goodput_scheduler_settings settings = {.struct_size = sizeof settings,
                                                 .policy = GOODPUT_POLICY_GOODPUT};
    goodput_scheduler* scheduler = goodput_scheduler_create();
    if (goodput_scheduler_configure(scheduler, &settings) != GOODPUT_OK ||
        goodput_scheduler_plan(scheduler, &now, &plan) != GOODPUT_OK) {
        fprintf(stderr, "%s\n", goodput_scheduler_error(scheduler));
        goodput_scheduler_destroy(scheduler);
        return 1;
    }
    // [/plan]

    static const char* const actions[] = {"wait", "start", "stay", "move", "restart", "stop"};
    for (size_t j = 0; j < plan.decision_count; ++j) {
        const goodput_decision* decision = &decisions[j];
        printf("%s: %s", jobs[j].name, actions[decision->action]);
        for (size_t s = decision->first_share; s < decision->first_share + decision->share_count; ++s)
            printf(", %d GPUs of %s", shares[s].gpus, nodes[shares[s].node].name);
        printf(", batch %d, accumulation %d, goodput %.17g\n", decision->local_batch, decision->accumulation,
               decision->goodput);
        char why[1000];
        if (goodput_scheduler_explain(scheduler, GOODPUT_ABOUT_JOB, j, why, sizeof why, NULL) == GOODPUT_OK)
            printf("    %s\n", why);
    }
    printf("objective %.17g, bound %.17g\n", plan.objective, plan.bound);
    goodput_scheduler_destroy(scheduler);
    return 0;
}
