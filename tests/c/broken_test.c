// Inputs that make no sense: each is refused with the right status and a sentence that names what is wrong.

#include <math.h>

#include "check.h"

static goodput_scheduler* scheduler;
static int refused;

// The example with one thing broken is refused like that, and mended it is planned.
#define REFUSED_ROUND(status, words, ...)                                                         \
    do {                                                                                          \
        Example example;                                                                          \
        Room room;                                                                                \
        make_example(&example);                                                                   \
        make_room(&room);                                                                         \
        __VA_ARGS__;                                                                              \
        const goodput_status got = goodput_scheduler_plan(scheduler, &example.round, &room.plan); \
        if (got != (status) || !strstr(goodput_scheduler_error(scheduler), words)) {              \
            fprintf(stderr, "line %d: status %d, \"%s\"\n", __LINE__, got,                        \
                    goodput_scheduler_error(scheduler));                                          \
            exit(1);                                                                              \
        }                                                                                         \
        ++refused;                                                                                \
    } while (0)

static void rounds(void) {
    scheduler = goodput_scheduler_create();
    REFUSED_ROUND(GOODPUT_BAD_INPUT, "round: time_s is nan, but must be finite", example.round.time_s = NAN);
    REFUSED_ROUND(GOODPUT_BAD_INPUT, "node: array is null, but must be given", example.round.node = NULL);
    REFUSED_ROUND(GOODPUT_BAD_INPUT, "node[1]: name is null", example.nodes[1].name = NULL);
    REFUSED_ROUND(GOODPUT_BAD_INPUT, "node 'small-0': name is given twice",
                  example.nodes[1].name = "small-0");
    REFUSED_ROUND(GOODPUT_BAD_INPUT, "node 'big-0': gpus is -1, but must be between 1",
                  example.nodes[2].gpus = -1);
    REFUSED_ROUND(GOODPUT_BAD_INPUT, "node 'big-0': gpu_type is 2", example.nodes[2].gpu_type = 2);
    REFUSED_ROUND(GOODPUT_BAD_INPUT, "node 'big-0': cores is inf", example.nodes[2].cores = INFINITY);
    REFUSED_ROUND(GOODPUT_BAD_INPUT, "node 'big-0': flags is 64", example.nodes[2].flags = 64);
    REFUSED_ROUND(GOODPUT_BAD_INPUT, "round: gpu_type[1] is 'T4' again", example.types[1] = "T4");
    REFUSED_ROUND(GOODPUT_BAD_INPUT, "round: gpu_type[0] is null", example.types[0] = NULL);
    REFUSED_ROUND(GOODPUT_BAD_INPUT, "job[0]: name is null", example.jobs[0].name = NULL);
    REFUSED_ROUND(GOODPUT_BAD_INPUT, "job: name is empty", example.jobs[0].name = "");
    REFUSED_ROUND(GOODPUT_BAD_INPUT, "job 'vision': name is given twice", example.jobs[1].name = "vision");
    REFUSED_ROUND(GOODPUT_BAD_INPUT, "job 'vision': adapt is 3", example.jobs[0].adapt = 3);
    REFUSED_ROUND(GOODPUT_BAD_INPUT, "job 'vision': max_gpus is 1, but must be between 2",
                  example.jobs[0].min_gpus = 2;
                  example.jobs[0].max_gpus = 1);
    REFUSED_ROUND(GOODPUT_BAD_INPUT, "job 'vision': min_gpus is -4", example.jobs[0].min_gpus = -4);
    REFUSED_ROUND(GOODPUT_BAD_INPUT, "job 'vision': initial_batch is 0", example.jobs[0].initial_batch = 0);
    REFUSED_ROUND(GOODPUT_BAD_INPUT, "job 'vision': max_batch is 64, but must be between 128",
                  example.jobs[0].max_batch = 64);
    REFUSED_ROUND(GOODPUT_BAD_INPUT, "job 'language': target_batch is 0", example.jobs[1].target_batch = 0);
    REFUSED_ROUND(GOODPUT_BAD_INPUT, "job 'vision': weight is -1", example.jobs[0].weight = -1);
    REFUSED_ROUND(GOODPUT_BAD_INPUT, "job 'vision': gradient.sqr is nan", example.jobs[0].gradient_sqr = NAN);
    REFUSED_ROUND(GOODPUT_BAD_INPUT, "job 'vision': restarts is -1", example.jobs[0].restarts = -1);
    REFUSED_ROUND(GOODPUT_BAD_INPUT, "job 'vision': flags is", example.jobs[0].flags = 1u << 20);
    REFUSED_ROUND(GOODPUT_BAD_INPUT, "job 'vision': checkpoint_s is 0",
                  example.jobs[0].flags = GOODPUT_JOB_HAS_CHECKPOINT);
    REFUSED_ROUND(GOODPUT_BAD_INPUT, "round: limits_count is 3, but must be 4",
                  example.round.limits_count = 3);
    REFUSED_ROUND(GOODPUT_BAD_INPUT, "job 'vision' on A100: max_local_batch is 512, but must be between 1024",
                  example.limits[1].min_local_batch = 1024);
    REFUSED_ROUND(GOODPUT_BAD_INPUT, "job 'vision' on A100: max_local_batch is -5",
                  example.limits[1].max_local_batch = -5);
    REFUSED_ROUND(GOODPUT_BAD_INPUT, "job 'language' on A100: rate is -1", example.limits[3].rate = -1);
    REFUSED_ROUND(GOODPUT_BAD_INPUT, "held[0]: job is 2, but must be below the number of jobs, 2",
                  example.held[0].job = 2);
    REFUSED_ROUND(GOODPUT_BAD_INPUT, "held[0]: node is 9", example.held[0].node = 9);
    REFUSED_ROUND(GOODPUT_BAD_INPUT, "job 'vision': placement.gpus is 5", example.held[0].gpus = 5);
    REFUSED_ROUND(GOODPUT_BAD_INPUT, "job 'vision': held is 'small-0' twice",
                  goodput_share twice[2] = {example.held[0]};
                  twice[1] = twice[0]; example.round.held = twice; example.round.held_count = 2);
    REFUSED_ROUND(GOODPUT_BAD_INPUT, "sample[0]: job is 7", example.samples[0].job = 7);
    REFUSED_ROUND(GOODPUT_BAD_INPUT, "job 'vision': samples.gpu_type is 7", example.samples[0].gpu_type = 7);
    REFUSED_ROUND(GOODPUT_BAD_INPUT, "job 'vision': samples.step_s is -1", example.samples[0].step_s = -1);
    REFUSED_ROUND(GOODPUT_BAD_INPUT, "job 'vision': samples.sync_s is 1", example.samples[0].sync_s = 1);
    REFUSED_ROUND(GOODPUT_BAD_INPUT, "job 'vision': samples.gpus is 1, but must be between 2",
                  example.samples[1].nodes = 2);
    REFUSED_ROUND(GOODPUT_BAD_INPUT, "model[0]: job is 4",
                  goodput_speed_model model = {.job = 4, .beta_c = 1, .gamma = 1};
                  example.round.model = &model; example.round.model_count = 1;
                  example.round.model_size = sizeof model);
    REFUSED_ROUND(GOODPUT_BAD_INPUT, "job 'vision' on T4: model.gamma is 0.5",
                  goodput_speed_model model = {.beta_c = 1, .gamma = 0.5};
                  example.round.model = &model; example.round.model_count = 1;
                  example.round.model_size = sizeof model);
    REFUSED_ROUND(GOODPUT_BAD_INPUT, "team_quota[0]: team is 1", goodput_team_quota quota = {.team = 1};
                  example.round.team_quota = &quota; example.round.team_quota_count = 1;
                  example.round.team_quota_size = sizeof quota);
    REFUSED_ROUND(GOODPUT_BAD_INPUT, "team 'red': gpus is -2",
                  goodput_team team = {.name = "red", .gpus = -2, .flags = GOODPUT_TEAM_HAS_GPUS};
                  example.round.team = &team; example.round.team_count = 1;
                  example.round.team_size = sizeof team);
    REFUSED_ROUND(GOODPUT_BAD_INPUT, "host_speed[0] is given, but must be of a job with GOODPUT_JOB_HAS_HOST",
                  goodput_host_speed speed = {.factor = 1};
                  example.round.host_speed = &speed; example.round.host_speed_count = 1;
                  example.round.host_speed_size = sizeof speed);
    REFUSED_ROUND(GOODPUT_BAD_INPUT, "round: budget_h is -1", example.round.budget_h = -1;
                  example.round.flags = GOODPUT_ROUND_HAS_BUDGET);
    REFUSED_ROUND(GOODPUT_BAD_INPUT, "round: cancelled[0] is null", const char* none[1] = {NULL};
                  example.round.cancelled = none; example.round.cancelled_count = 1);
    REFUSED_ROUND(GOODPUT_BAD_INPUT, "job 'vision': within is 'row'", example.jobs[0].within = "row");
    REFUSED_ROUND(GOODPUT_BAD_INPUT, "job 'vision': wanted_batch is 64, but must be between 128",
                  example.jobs[0].wanted_batch = 64);
    REFUSED_ROUND(GOODPUT_BAD_INPUT, "sample", example.samples[0].flags = 64);
    REFUSED_ROUND(GOODPUT_BAD_INPUT, "round: deadline_ms is -1", example.round.deadline_ms = -1);
    REFUSED_ROUND(GOODPUT_BAD_INPUT, "checkpoint[0]: job is 9",
                  goodput_checkpoint way = {.job = 9, .name = "full"};
                  example.round.checkpoint = &way; example.round.checkpoint_count = 1;
                  example.round.checkpoint_size = sizeof way);
    REFUSED_ROUND(GOODPUT_BAD_INPUT, "checkpoint[0]: name is null", goodput_checkpoint way = {.job = 0};
                  example.round.checkpoint = &way; example.round.checkpoint_count = 1;
                  example.round.checkpoint_size = sizeof way);
    REFUSED_ROUND(GOODPUT_BAD_INPUT, "checkpoint mechanism 'full': pause_s",
                  goodput_checkpoint way = {.job = 0, .name = "full", .pause_s = -1};
                  example.round.checkpoint = &way; example.round.checkpoint_count = 1;
                  example.round.checkpoint_size = sizeof way);
    REFUSED_ROUND(GOODPUT_BAD_INPUT, "node: count is", example.round.node_count = SIZE_MAX);
    REFUSED_ROUND(GOODPUT_BAD_INPUT, "round: gpu_type_count is 5000", example.round.gpu_type_count = 5000);
    REFUSED_ROUND(GOODPUT_BAD_SIZE, "goodput_round: struct_size is 12", example.round.struct_size = 12);
    REFUSED_ROUND(GOODPUT_BAD_SIZE, "job_size is 8", example.round.job_size = 8);
    REFUSED_ROUND(GOODPUT_BAD_SIZE, "goodput_plan: decision_size is 0", room.plan.decision_size = 0);
    REFUSED_ROUND(GOODPUT_BAD_INPUT, "goodput_plan: share is null", room.plan.share = NULL);

    // What was refused has left nothing: the example as it is gets its plan.
    Example example;
    Room room;
    make_example(&example);
    make_room(&room);
    CHECK(goodput_scheduler_plan(scheduler, NULL, &room.plan) == GOODPUT_BAD_INPUT);
    CHECK(strstr(goodput_scheduler_error(scheduler), "goodput_round: pointer is null"));
    CHECK(goodput_scheduler_plan(scheduler, &example.round, NULL) == GOODPUT_BAD_INPUT);
    CHECK(goodput_scheduler_plan(scheduler, &example.round, &room.plan) == GOODPUT_OK);

    // After a round, GPU types keep their names.
    example.types[0] = "V100";
    CHECK(goodput_scheduler_plan(scheduler, &example.round, &room.plan) == GOODPUT_BAD_INPUT);
    CHECK(strstr(goodput_scheduler_error(scheduler),
                 "gpu_type[0] is 'V100', but must be 'T4', as in earlier rounds"));
    example.round.gpu_type_count = 1;
    CHECK(goodput_scheduler_plan(scheduler, &example.round, &room.plan) == GOODPUT_BAD_INPUT);
    CHECK(strstr(goodput_scheduler_error(scheduler), "gpu_type_count is 1, but must be at least 2"));

    make_example(&example);
    CHECK(goodput_scheduler_plan(scheduler, &example.round, &room.plan) == GOODPUT_OK);
    char text[8];
    CHECK(goodput_scheduler_explain(scheduler, GOODPUT_ABOUT_JOB, 2, text, sizeof text, NULL) ==
          GOODPUT_BAD_INPUT);
    CHECK(strstr(goodput_scheduler_error(scheduler), "index is 2, but must be below the number of jobs, 2"));
    CHECK(goodput_scheduler_explain(scheduler, 99, 0, text, sizeof text, NULL) == GOODPUT_BAD_INPUT);
    goodput_scheduler_destroy(scheduler);
}

// The example with one job or node broken is planned without it where the round says so, and names it.
#define SET_ASIDE(words, ...)                                                                                \
    do {                                                                                                     \
        Example example;                                                                                     \
        Room room;                                                                                           \
        make_example(&example);                                                                              \
        make_room(&room);                                                                                    \
        example.round.flags = GOODPUT_ROUND_SETS_ASIDE;                                                      \
        __VA_ARGS__;                                                                                         \
        char sentence[400];                                                                                  \
        CHECK(goodput_scheduler_plan(scheduler, &example.round, &room.plan) == GOODPUT_OK);                  \
        CHECK(room.plan.warning_count > 0 && room.plan.decision_count == 2);                                 \
        CHECK(goodput_scheduler_explain(scheduler, GOODPUT_ABOUT_WARNING, 0, sentence, sizeof sentence,      \
                                        NULL) == GOODPUT_OK);                                                \
        if (!strstr(sentence, words)) {                                                                      \
            fprintf(stderr, "line %d: \"%s\"\n", __LINE__, sentence);                                        \
            exit(1);                                                                                         \
        }                                                                                                    \
        CHECK(goodput_scheduler_explain(scheduler, GOODPUT_ABOUT_WARNING, room.plan.warning_count, sentence, \
                                        sizeof sentence, NULL) == GOODPUT_BAD_INPUT);                        \
        /* Job 0 holds GPUs of node 0: set aside, it keeps them. */                                          \
        if (strstr(words, "'vision'")) {                                                                     \
            CHECK(room.decisions[0].action == GOODPUT_STAY && room.decisions[0].share_count == 1);           \
            CHECK(room.shares[0].node == 0);                                                                 \
        }                                                                                                    \
        for (size_t s = 0; s < room.plan.share_count; ++s)                                                   \
            CHECK(!strstr(words, "'big-0'") || room.shares[s].node != 2);                                    \
    } while (0)

static void sets_aside(void) {
    scheduler = goodput_scheduler_create();
    SET_ASIDE("job 'vision': gradient.sqr is -0.1", example.jobs[0].gradient_sqr = -0.1);
    SET_ASIDE("job 'vision': adapt is 3", example.jobs[0].adapt = 3);
    SET_ASIDE("job 'vision': initial_batch is 0", example.jobs[0].initial_batch = 0);
    SET_ASIDE("job 'vision': placement.gpus is 5", example.held[0].gpus = 5);
    SET_ASIDE("job 'vision': samples.step_s is -1", example.samples[0].step_s = -1);
    SET_ASIDE("job 'vision' on A100: max_local_batch is -5", example.limits[1].max_local_batch = -5);
    SET_ASIDE("job 'language': target_batch is 0", example.jobs[1].target_batch = 0);
    SET_ASIDE("name is given twice", example.jobs[1].name = "vision");
    SET_ASIDE("held[0]: node is 9", example.held[0].node = 9);
    SET_ASIDE("node 'big-0': gpus is -1", example.nodes[2].gpus = -1);
    SET_ASIDE("node 'big-0': gpu_type is 2", example.nodes[2].gpu_type = 2);
    SET_ASIDE("node 'big-0': flags is 64", example.nodes[2].flags = 64);
    Example example;
    Room room;
    make_example(&example);
    make_room(&room);
    example.round.flags = GOODPUT_ROUND_SETS_ASIDE;
    CHECK(goodput_scheduler_plan(scheduler, &example.round, &room.plan) == GOODPUT_OK);
    CHECK(room.plan.warning_count == 0);
    goodput_scheduler_destroy(scheduler);
}

static void settings(void) {
    goodput_scheduler* it = goodput_scheduler_create();
    goodput_policy_option option = {"nonsense", 1};
    goodput_scheduler_settings settings = {.struct_size = sizeof settings, .policy = 77};
    CHECK(goodput_scheduler_configure(it, &settings) == GOODPUT_BAD_INPUT);
    CHECK(strstr(goodput_scheduler_error(it), "policy is 77"));
    settings.policy = GOODPUT_POLICY_SIA;
    settings.option = &option;
    settings.option_count = 1;
    settings.option_size = sizeof option;
    CHECK(goodput_scheduler_configure(it, &settings) == GOODPUT_BAD_INPUT);
    CHECK(strstr(goodput_scheduler_error(it), "is 'nonsense', but must be one of p, lambda"));
    option = (goodput_policy_option){"p", NAN};
    CHECK(goodput_scheduler_configure(it, &settings) == GOODPUT_BAD_INPUT);
    CHECK(strstr(goodput_scheduler_error(it), "policy sia: p is nan"));
    option = (goodput_policy_option){"lambda", 0.5};
    CHECK(goodput_scheduler_configure(it, &settings) == GOODPUT_BAD_INPUT);
    CHECK(strstr(goodput_scheduler_error(it), "lambda is 0.5, but must be above 1"));
    settings.option_count = 0;
    settings.gap = -3;
    CHECK(goodput_scheduler_configure(it, &settings) == GOODPUT_BAD_INPUT);
    CHECK(strstr(goodput_scheduler_error(it), "gap is -3"));
    settings.gap = 0;
    settings.deadline_ms = NAN;
    CHECK(goodput_scheduler_configure(it, &settings) == GOODPUT_BAD_INPUT);
    CHECK(strstr(goodput_scheduler_error(it), "deadline_ms is nan"));
    refused += 6;
    goodput_scheduler_destroy(it);
}

static void problems(void) {
    const double capacity[] = {4}, value[] = {3};
    const size_t begin[] = {0, 1};
    const uint32_t resource[] = {0};
    const double units[] = {2};
    size_t choice[1];
    const goodput_allot_problem good = {.struct_size = sizeof good,
                                        .resource_count = 1,
                                        .capacity = capacity,
                                        .job_count = 1,
                                        .option_begin = begin,
                                        .value = value,
                                        .use_begin = begin,
                                        .use_resource = resource,
                                        .use_units = units};
    const goodput_allot_answer room = {.struct_size = sizeof room, .choice = choice, .choice_capacity = 1};
    goodput_allotter* allotter = goodput_allotter_create();

#define REFUSED_PROBLEM(status, words, ...)                            \
    do {                                                               \
        goodput_allot_problem problem = good;                          \
        goodput_allot_answer answer = room;                            \
        __VA_ARGS__;                                                   \
        CHECK(goodput_allot(allotter, &problem, &answer) == (status)); \
        CHECK(strstr(goodput_allotter_error(allotter), words));        \
        ++refused;                                                     \
    } while (0)

    const double negative[] = {-1}, not_a_number[] = {NAN};
    const size_t descending[] = {1, 0}, from_one[] = {1, 1}, sinking[] = {0, 2, 1};
    const uint32_t unknown[] = {3};
    REFUSED_PROBLEM(GOODPUT_BAD_INPUT, "allotment problem: capacity[0] is -1", problem.capacity = negative);
    REFUSED_PROBLEM(GOODPUT_BAD_INPUT, "job 0, option 0: value is nan", problem.value = not_a_number);
    REFUSED_PROBLEM(GOODPUT_BAD_INPUT, "job 0, option 0: units is -1", problem.use_units = negative);
    REFUSED_PROBLEM(GOODPUT_BAD_INPUT, "job 0, option 0: resource is 3", problem.use_resource = unknown);
    REFUSED_PROBLEM(GOODPUT_BAD_INPUT, "option_begin[0] is 1, but must be 0",
                    problem.option_begin = descending);
    REFUSED_PROBLEM(GOODPUT_BAD_INPUT, "use_begin[0] is 1, but must be 0", problem.use_begin = from_one);
    REFUSED_PROBLEM(GOODPUT_BAD_INPUT, "option_begin[2] is 1, but must be at least",
                    problem.option_begin = sinking;
                    problem.job_count = 2; answer.choice = NULL);
    REFUSED_PROBLEM(GOODPUT_BAD_INPUT, "capacity is null", problem.capacity = NULL);
    REFUSED_PROBLEM(GOODPUT_BAD_INPUT, "value is null", problem.value = NULL);
    REFUSED_PROBLEM(GOODPUT_BAD_INPUT, "use_units is null", problem.use_units = NULL);
    REFUSED_PROBLEM(GOODPUT_BAD_INPUT, "option_begin is null", problem.option_begin = NULL);
    REFUSED_PROBLEM(GOODPUT_BAD_INPUT, "deadline_ms is -1", problem.deadline_ms = -1);
    REFUSED_PROBLEM(GOODPUT_BAD_INPUT, "gap is inf", problem.gap = INFINITY);
    REFUSED_PROBLEM(GOODPUT_BAD_INPUT, "warm_start is 2", problem.warm_start = 2);
    REFUSED_PROBLEM(GOODPUT_BAD_INPUT, "job_count is", problem.job_count = SIZE_MAX; answer.choice = NULL);
    REFUSED_PROBLEM(GOODPUT_TOO_SMALL, "choice_capacity is 0, but must be at least 1",
                    answer.choice_capacity = 0);
    REFUSED_PROBLEM(GOODPUT_BAD_SIZE, "goodput_allot_problem: struct_size is 0", problem.struct_size = 0);
    REFUSED_PROBLEM(GOODPUT_BAD_SIZE, "goodput_allot_answer: struct_size is 100000",
                    answer.struct_size = 100000);
    goodput_allot_problem problem = good;
    goodput_allot_answer answer = room;
    CHECK(goodput_allot(allotter, &problem, &answer) == GOODPUT_OK && choice[0] == 0);
    goodput_allotter_destroy(allotter);
}

static void fits(void) {
    goodput_sample sample = {.nodes = 1, .gpus = 1, .local_batch = 8, .step_s = 1};
    goodput_fit_input input = {.struct_size = sizeof input,
                               .gpu_type_count = 1,
                               .sample = &sample,
                               .sample_count = 1,
                               .sample_size = sizeof sample};
    goodput_fitter* fitter = goodput_fitter_create();
    double rmsle[1];
    CHECK(goodput_fitter_fit(fitter, &input, rmsle, 0) == GOODPUT_TOO_SMALL);
    sample.gpu_type = 1;
    CHECK(goodput_fitter_fit(fitter, &input, rmsle, 1) == GOODPUT_BAD_INPUT);
    CHECK(strstr(goodput_fitter_error(fitter), "samples.gpu_type is 1"));
    sample.gpu_type = 0;
    sample.local_batch = 0;
    CHECK(goodput_fitter_fit(fitter, &input, rmsle, 1) == GOODPUT_BAD_INPUT);
    CHECK(strstr(goodput_fitter_error(fitter), "samples.local_batch is 0"));
    sample.local_batch = 8;
    input.sample_count = 0;
    CHECK(goodput_fitter_fit(fitter, &input, NULL, 0) == GOODPUT_BAD_INPUT);
    CHECK(strstr(goodput_fitter_error(fitter), "sample_count is 0"));
    input.sample_count = 1;
    input.gpu_type_count = 0;
    CHECK(goodput_fitter_fit(fitter, &input, NULL, 0) == GOODPUT_BAD_INPUT);
    input.gpu_type_count = 1;
    CHECK(goodput_fitter_fit(fitter, &input, NULL, 0) == GOODPUT_OK);
    goodput_question question = {.nodes = 4, .gpus = 2, .local_batch = 8};
    goodput_prediction prediction;
    CHECK(goodput_fitter_predict(fitter, &question, 1, sizeof question, &prediction, sizeof prediction) ==
          GOODPUT_BAD_INPUT);
    CHECK(strstr(goodput_fitter_error(fitter), "gpus is 2, but must be between 4"));
    question.gpus = 4;
    question.gpu_type = 1;
    CHECK(goodput_fitter_predict(fitter, &question, 1, sizeof question, &prediction, sizeof prediction) ==
          GOODPUT_BAD_INPUT);
    question.gpu_type = 0;
    CHECK(goodput_fitter_predict(fitter, &question, 1, sizeof question, &prediction, 3) == GOODPUT_BAD_SIZE);
    CHECK(goodput_fitter_predict(fitter, &question, 1, sizeof question, &prediction, sizeof prediction) ==
          GOODPUT_OK);
    refused += 8;
    goodput_fitter_destroy(fitter);
}

int main(void) {
    rounds();
    sets_aside();
    settings();
    problems();
    fits();
    printf("%d broken inputs refused\n", refused);
    return 0;
}
