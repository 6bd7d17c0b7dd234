// Every function of the C interface, from C99.

#include <math.h>

#include "check.h"

static void says_its_version(void) {
    CHECK(goodput_abi() == GOODPUT_ABI);
    CHECK(strcmp(goodput_version(), TEST_VERSION) == 0);
    CHECK(strcmp(goodput_status_text(GOODPUT_BAD_INPUT), "bad input") == 0);
    for (goodput_status status = -1; status < 10; ++status) CHECK(goodput_status_text(status)[0] != '\0');
}

// Three jobs want two resources: small enough to be checked by hand.
static void allots(void) {
    const double capacity[] = {4, 2}, value[] = {3, 5, 4, 2.5}, units[] = {2, 4, 2, 1, 1};
    const size_t option_begin[] = {0, 2, 3, 4}, use_begin[] = {0, 1, 2, 4, 5};
    const uint32_t resource[] = {0, 0, 0, 1, 1};
    goodput_allot_problem problem = {.struct_size = sizeof problem,
                                     .resource_count = 2,
                                     .capacity = capacity,
                                     .job_count = 3,
                                     .option_begin = option_begin,
                                     .value = value,
                                     .use_begin = use_begin,
                                     .use_resource = resource,
                                     .use_units = units,
                                     .gap = GOODPUT_GAP_ZERO};
    size_t choice[3];
    double price[2];
    goodput_allot_answer answer = {.struct_size = sizeof answer,
                                   .choice = choice,
                                   .choice_capacity = 3,
                                   .price = price,
                                   .price_capacity = 2};
    goodput_allotter* allotter = goodput_allotter_create();
    CHECK(allotter);
    CHECK(goodput_allot(allotter, &problem, &answer) == GOODPUT_OK);
    CHECK(strcmp(goodput_allotter_error(allotter), "") == 0);
    CHECK(choice[0] == 0 && choice[1] == 0 && choice[2] == 0);  // 3 + 4 + 2.5 takes all of both
    CHECK(answer.objective == 9.5 && answer.bound >= 9.5 && answer.gap <= 1e-9);
    CHECK(answer.proof == GOODPUT_OPTIMAL && answer.stopped == GOODPUT_STOPPED_PROVEN);
    CHECK(price[0] >= 0 && price[1] >= 0);

    const uint8_t must[] = {1, 1, 1};
    const double less[] = {1, 2};
    problem.must = must;
    problem.capacity = less;
    CHECK(goodput_allot(allotter, &problem, &answer) == GOODPUT_OK);
    CHECK(answer.proof == GOODPUT_INFEASIBLE && answer.objective == 0 && choice[0] == GOODPUT_NO_OPTION);

    problem.capacity = capacity;
    problem.must = NULL;
    problem.deadline_ms = 1e-6;  // passed before anything begins: what is there keeps the capacities
    CHECK(goodput_allot(allotter, &problem, &answer) == GOODPUT_OK);
    CHECK(answer.objective <= answer.bound);

    const goodput_allot_problem nothing = {.struct_size = sizeof nothing};
    goodput_allot_answer none = {.struct_size = sizeof none};
    CHECK(goodput_allot(allotter, &nothing, &none) == GOODPUT_OK && none.objective == 0);
    goodput_allotter_destroy(allotter);
}

static void fits(void) {
    Example example;
    make_example(&example);
    const goodput_fit_input input = {.struct_size = sizeof input,
                                     .gpu_type_count = 2,
                                     .sample = example.samples,
                                     .sample_count = 2,
                                     .sample_size = sizeof(goodput_sample)};
    goodput_question questions[] = {{.gpu_type = 0, .nodes = 1, .gpus = 4, .local_batch = 128},
                                    {.gpu_type = 1,
                                     .nodes = 1,
                                     .gpus = 8,
                                     .local_batch = 128,
                                     .initial_batch = 128,
                                     .gradient_sqr = 1,
                                     .gradient_var = 25}};
    goodput_prediction predictions[2];
    double rmsle[2] = {-1, -1};
    goodput_fitter* fitter = goodput_fitter_create();
    CHECK(fitter);
    CHECK(goodput_fitter_predict(fitter, questions, 2, sizeof *questions, predictions, sizeof *predictions) ==
          GOODPUT_NOT_YET);
    CHECK(goodput_fitter_fit(fitter, &input, rmsle, 2) == GOODPUT_OK);
    CHECK(rmsle[0] >= 0 && rmsle[0] < 0.1 && rmsle[1] == 0);
    CHECK(goodput_fitter_predict(fitter, questions, 2, sizeof *questions, predictions, sizeof *predictions) ==
          GOODPUT_OK);
    CHECK(fabs(predictions[0].iteration_s - 0.34) < 0.05);  // it was measured
    CHECK(predictions[0].low_s <= predictions[0].iteration_s &&
          predictions[0].iteration_s <= predictions[0].high_s);
    CHECK(predictions[0].efficiency == 1 && predictions[0].goodput == predictions[0].examples_s);
    CHECK(fabs(predictions[0].examples_s * predictions[0].iteration_s - 512) < 1e-9);
    // (phi + M0) / (phi + M) with phi = 128 * 25, M0 = 128, M = 1024
    CHECK(fabs(predictions[1].efficiency - 3328.0 / 4224.0) < 1e-12);
    CHECK(goodput_fitter_predict(fitter, NULL, 0, 0, NULL, 0) == GOODPUT_OK);
    goodput_fitter_destroy(fitter);
}

static void plans(void) {
    Example example;
    Room room;
    make_example(&example);
    make_room(&room);
    goodput_scheduler* scheduler = goodput_scheduler_create();
    CHECK(scheduler);
    const goodput_policy_option options[] = {{"p", 0.7}, {"horizon", 3600}};
    const goodput_scheduler_settings settings = {.struct_size = sizeof settings,
                                                 .policy = GOODPUT_POLICY_GOODPUT,
                                                 .option = options,
                                                 .option_count = COUNT(options),
                                                 .option_size = sizeof *options};
    CHECK(goodput_scheduler_configure(scheduler, &settings) == GOODPUT_OK);
    CHECK(goodput_scheduler_last_plan(scheduler, &room.plan) == GOODPUT_NOT_YET);
    CHECK(goodput_scheduler_plan(scheduler, &example.round, &room.plan) == GOODPUT_OK);
    const goodput_plan* plan = &room.plan;
    CHECK(plan->decision_count == 2 && plan->running == 2 && plan->price_count == 2 &&
          plan->limit_count == 0);
    CHECK(plan->objective > 0 && plan->bound >= plan->objective &&
          plan->gap == plan->bound - plan->objective);
    CHECK(plan->proof == GOODPUT_OPTIMAL && plan->fault_count == 0 && plan->conflict_count == 0);
    int gpus = 0;
    for (size_t s = 0; s < plan->share_count; ++s) {
        CHECK(room.shares[s].gpus <= example.nodes[room.shares[s].node].gpus);
        gpus += room.shares[s].gpus;
    }
    CHECK(gpus == room.decisions[0].gpus + room.decisions[1].gpus);
    CHECK(room.decisions[1].action == GOODPUT_START && room.decisions[1].gpu_type == 1);
    CHECK(room.decisions[1].outcome == GOODPUT_RUNS && room.decisions[1].goodput > 0);
    CHECK(room.decisions[0].local_batch >= 16);

    // What a job gets it holds in the next round, and nothing changes.
    example.round.held = room.shares;
    example.round.held_count = plan->share_count;
    example.round.sample_count = 0;
    example.round.time_s = 3660;
    Room next;
    make_room(&next);
    CHECK(goodput_scheduler_plan(scheduler, &example.round, &next.plan) == GOODPUT_OK);
    CHECK(next.decisions[0].action == GOODPUT_STAY && next.decisions[1].action == GOODPUT_STAY);

    // The last plan again, first into too little room.
    Room again;
    make_room(&again);
    again.plan.share_capacity = 1;
    CHECK(goodput_scheduler_last_plan(scheduler, &again.plan) == GOODPUT_TOO_SMALL);
    CHECK(strstr(goodput_scheduler_error(scheduler), "2 decisions, 2 shares, 2 prices and 0 limits"));
    CHECK(again.plan.share_count == next.plan.share_count);
    again.plan.share_capacity = again.plan.share_count;
    CHECK(goodput_scheduler_last_plan(scheduler, &again.plan) == GOODPUT_OK);
    CHECK(memcmp(again.decisions, next.decisions, sizeof again.decisions) == 0);

    // A node is gone: who ran there restarts or stops.
    example.round.held_count = 0;
    example.round.node_count = 2;
    CHECK(goodput_scheduler_plan(scheduler, &example.round, &next.plan) == GOODPUT_OK);
    CHECK(next.decisions[1].outcome == GOODPUT_IMPOSSIBLE && next.decisions[1].action == GOODPUT_WAIT);
    goodput_scheduler_destroy(scheduler);
}

static void explains(void) {
    Example example;
    Room room;
    make_example(&example);
    make_room(&room);
    const goodput_team teams[] = {{.name = "red", .gpus = 2, .flags = GOODPUT_TEAM_HAS_GPUS}};
    const goodput_team_quota quotas[] = {{.team = 0, .gpu_type = 1, .gpus = 1}};
    example.jobs[1].team = "red";
    example.round.team = teams;
    example.round.team_count = 1;
    example.round.team_size = sizeof *teams;
    example.round.team_quota = quotas;
    example.round.team_quota_count = 1;
    example.round.team_quota_size = sizeof *quotas;
    goodput_scheduler* scheduler = goodput_scheduler_create();
    char text[1000];
    size_t length = 0;
    CHECK(goodput_scheduler_explain(scheduler, GOODPUT_ABOUT_PLAN, 0, text, sizeof text, NULL) ==
          GOODPUT_NOT_YET);
    CHECK(goodput_scheduler_plan(scheduler, &example.round, &room.plan) == GOODPUT_OK);
    CHECK(room.plan.limit_count == 2 && room.limits[0].capacity == 2 && room.limits[0].used == 0);
    CHECK(goodput_scheduler_explain(scheduler, GOODPUT_ABOUT_JOB, 1, text, sizeof text, &length) ==
          GOODPUT_OK);
    CHECK(strlen(text) == length && strstr(text, "quota"));
    CHECK(goodput_scheduler_explain(scheduler, GOODPUT_ABOUT_OUTCOME, 1, text, sizeof text, NULL) ==
          GOODPUT_OK);
    CHECK(text[0] != '\0');
    CHECK(goodput_scheduler_explain(scheduler, GOODPUT_ABOUT_LIMIT_NAME, 0, text, sizeof text, NULL) ==
          GOODPUT_OK);
    CHECK(strcmp(text, "the quota of team red") == 0);
    CHECK(goodput_scheduler_explain(scheduler, GOODPUT_ABOUT_LIMIT, 0, text, sizeof text, NULL) ==
          GOODPUT_OK);
    CHECK(strstr(text, "the quota of team red: 0 of 2 GPUs used"));
    CHECK(goodput_scheduler_explain(scheduler, GOODPUT_ABOUT_PLAN, 0, text, sizeof text, NULL) == GOODPUT_OK);
    CHECK(strstr(text, "1 of 2 jobs run"));
    CHECK(goodput_scheduler_explain(scheduler, GOODPUT_ABOUT_PLAN, 0, NULL, 0, &length) == GOODPUT_OK);
    CHECK(length == strlen(text));
    CHECK(goodput_scheduler_explain(scheduler, GOODPUT_ABOUT_PLAN, 0, text, 5, NULL) == GOODPUT_TOO_SMALL);
    CHECK(strcmp(text, "1 of") == 0);
    CHECK(goodput_scheduler_explain(scheduler, GOODPUT_ABOUT_CHECKPOINT, 0, text, sizeof text, NULL) ==
          GOODPUT_OK);
    CHECK(strcmp(text, "") == 0);

    // A job that keeps more than its team's new quota is a conflict, and said to be one.
    example.jobs[1].flags = GOODPUT_JOB_NOT_PREEMPTIBLE;
    example.held[0] = (goodput_share){.job = 1, .node = 2, .gpus = 4};
    CHECK(goodput_scheduler_plan(scheduler, &example.round, &room.plan) == GOODPUT_OK);
    CHECK(room.plan.conflict_count == 2 && room.decisions[1].action == GOODPUT_STAY);
    CHECK(goodput_scheduler_explain(scheduler, GOODPUT_ABOUT_CONFLICT, 0, text, sizeof text, NULL) ==
          GOODPUT_OK);
    CHECK(strstr(text, "job 'language' keeps 4 GPUs"));
    goodput_scheduler_destroy(scheduler);
}

// A job that brings its own model is planned by that, without a sample.
static void takes_models(void) {
    Example example;
    Room room;
    make_example(&example);
    make_room(&room);
    const goodput_speed_model models[] = {{.job = 0,
                                           .gpu_type = 0,
                                           .alpha_c = 0.01,
                                           .beta_c = 0.002,
                                           .alpha_r = 0.01,
                                           .alpha_n = 0.1,
                                           .gamma = 1,
                                           .most_replicas = 8},
                                          {.job = 0,
                                           .gpu_type = 1,
                                           .alpha_c = 0.01,
                                           .beta_c = 0.0002,
                                           .alpha_r = 0.01,
                                           .alpha_n = 0.1,
                                           .gamma = 1,
                                           .most_replicas = 8}};
    example.round.model = models;
    example.round.model_count = COUNT(models);
    example.round.model_size = sizeof *models;
    example.round.sample_count = 0;
    example.round.held_count = 0;
    example.round.job_count = 1;
    example.round.limits_count = 2;
    goodput_scheduler* scheduler = goodput_scheduler_create();
    CHECK(goodput_scheduler_plan(scheduler, &example.round, &room.plan) == GOODPUT_OK);
    const goodput_decision* decision = &room.decisions[0];
    CHECK(decision->gpu_type == 1 && decision->gpus == 8 && decision->knowledge == GOODPUT_MEASURED);
    const double total = 8.0 * decision->local_batch * (decision->accumulation + 1), phi = 128 * 25;
    const double compute = 0.01 + 0.0002 * decision->local_batch;
    const double seconds = compute * (decision->accumulation + 1) + 0.01;
    CHECK(fabs(decision->goodput / (total / seconds * (phi + 128) / (phi + total)) - 1) < 1e-9);
    goodput_scheduler_destroy(scheduler);
}

// What a line of the program can say: within a rack, a batch that is wanted, ways of saving, whole
// iterations.
static void says_what_lines_say(void) {
    Example example;
    Room room;
    char text[1000];
    make_example(&example);
    make_room(&room);
    goodput_scheduler* scheduler = goodput_scheduler_create();
    example.nodes[0].rack = "r1";
    example.nodes[1].rack = "r2";
    example.nodes[2].gpu_type = 0;  // of one pool with no other
    example.nodes[2].rack = "r3";
    for (int n = 0; n < 3; ++n) example.nodes[n].interruptions_h = 0.1;
    example.jobs[0].within = "rack";
    example.jobs[0].min_gpus = 8;
    example.limits[0].max_local_batch = 4096;
    example.nodes[2].gpus = 4;  // no rack has eight GPUs
    example.round.held_count = 0;
    example.round.job_count = 1;
    example.round.limits_count = 2;
    CHECK(goodput_scheduler_plan(scheduler, &example.round, &room.plan) == GOODPUT_OK);
    CHECK(room.decisions[0].outcome == GOODPUT_IMPOSSIBLE);
    example.jobs[0].within = NULL;
    CHECK(goodput_scheduler_plan(scheduler, &example.round, &room.plan) == GOODPUT_OK);
    CHECK(room.decisions[0].outcome == GOODPUT_RUNS && room.decisions[0].gpus >= 8);
    const int free =
        room.decisions[0].local_batch * room.decisions[0].gpus * (room.decisions[0].accumulation + 1);
    CHECK(free > 512);

    // Never more than is wanted, or than it was seen to use.
    example.jobs[0].wanted_batch = 256;
    example.round.sample_count = 0;
    CHECK(goodput_scheduler_plan(scheduler, &example.round, &room.plan) == GOODPUT_OK);
    CHECK(room.decisions[0].local_batch * room.decisions[0].gpus * (room.decisions[0].accumulation + 1) <=
          512);

    const goodput_checkpoint ways[] = {
        {.job = 0, .name = "full", .pause_s = 40},
        {.job = 0, .name = "quick", .pause_s = 1, .restore_s = 2, .flags = GOODPUT_CHECKPOINT_HAS_RESTORE}};
    example.round.checkpoint = ways;
    example.round.checkpoint_count = COUNT(ways);
    example.round.checkpoint_size = sizeof *ways;
    CHECK(goodput_scheduler_plan(scheduler, &example.round, &room.plan) == GOODPUT_OK);
    CHECK(goodput_scheduler_explain(scheduler, GOODPUT_ABOUT_CHECKPOINT, 0, text, sizeof text, NULL) ==
          GOODPUT_OK);
    CHECK(strcmp(text, "quick") == 0);
    CHECK(room.decisions[0].availability > 0.9 && room.decisions[0].availability < 1);

    // What is probably a slip is said, and the plan is the same.
    example.round.budget_h = 1000;
    example.round.flags = GOODPUT_ROUND_HAS_BUDGET;
    CHECK(room.plan.warning_count == 0);
    CHECK(goodput_scheduler_plan(scheduler, &example.round, &room.plan) == GOODPUT_OK);
    CHECK(room.plan.warning_count == 1);
    CHECK(goodput_scheduler_explain(scheduler, GOODPUT_ABOUT_WARNING, 0, text, sizeof text, NULL) ==
          GOODPUT_OK);
    CHECK(strcmp(text, "the budget: no node has a price, so it limits nothing") == 0);
    CHECK(goodput_scheduler_explain(scheduler, GOODPUT_ABOUT_LIMIT_UNIT, 0, text, sizeof text, NULL) ==
          GOODPUT_OK);
    CHECK(strcmp(text, "dollars an hour") == 0);
    goodput_scheduler_destroy(scheduler);

    // An iteration of two microbatches takes twice a step.
    goodput_sample sample = {.nodes = 1, .gpus = 1, .local_batch = 64, .accumulation = 1, .step_s = 0.4};
    sample.flags = GOODPUT_SAMPLE_WHOLE_ITERATION;
    const goodput_fit_input input = {.struct_size = sizeof input,
                                     .gpu_type_count = 1,
                                     .sample = &sample,
                                     .sample_count = 1,
                                     .sample_size = sizeof sample};
    const goodput_question question = {.nodes = 1, .gpus = 1, .local_batch = 64};
    goodput_prediction prediction;
    goodput_fitter* fitter = goodput_fitter_create();
    CHECK(goodput_fitter_fit(fitter, &input, NULL, 0) == GOODPUT_OK);
    CHECK(goodput_fitter_predict(fitter, &question, 1, sizeof question, &prediction, sizeof prediction) ==
          GOODPUT_OK);
    CHECK(fabs(prediction.iteration_s - 0.2) < 0.03);
    goodput_fitter_destroy(fitter);
}

static void advises(void) {
    Example example;
    Room room;
    char text[1000];
    make_example(&example);
    make_room(&room);
    const goodput_offer offers[] = {
        {.name = "cheap", .gpu_type = 1, .gpus = 8, .most = 2, .price_h = 0.01},
        {.name = "dear", .gpu_type = 0, .gpus = 4, .most = 2, .price_h = 1e6, .flags = GOODPUT_OFFER_SPOT}};
    const goodput_rent_question question = {.struct_size = sizeof question,
                                            .offer = offers,
                                            .offer_count = COUNT(offers),
                                            .offer_size = sizeof *offers};
    goodput_offer_advice said[2];
    goodput_rent_advice advice = {
        .struct_size = sizeof advice, .advice = said, .advice_capacity = 2, .advice_size = sizeof *said};
    goodput_scheduler* scheduler = goodput_scheduler_create();
    CHECK(goodput_scheduler_advise(scheduler, &question, &advice) == GOODPUT_NOT_YET);
    example.round.node_count = 2;  // the A100s are to be rented
    CHECK(goodput_scheduler_plan(scheduler, &example.round, &room.plan) == GOODPUT_OK);
    CHECK(goodput_scheduler_explain(scheduler, GOODPUT_ABOUT_OFFER, 0, text, sizeof text, NULL) ==
          GOODPUT_BAD_INPUT);
    CHECK(goodput_scheduler_advise(scheduler, &question, &advice) == GOODPUT_OK);
    CHECK(said[0].nodes >= 1 && said[0].gpus_wanted > 0 && said[1].nodes == 0);
    CHECK(fabs(advice.price_h - 0.01 * said[0].nodes) < 1e-12);
    CHECK(goodput_scheduler_explain(scheduler, GOODPUT_ABOUT_OFFER, 1, text, sizeof text, NULL) ==
          GOODPUT_OK);
    CHECK(strstr(text, "no job is worth"));
    advice.advice_capacity = 1;
    CHECK(goodput_scheduler_advise(scheduler, &question, &advice) == GOODPUT_TOO_SMALL);
    goodput_scheduler_destroy(scheduler);
}

// Structs of programs that were compiled with an older or a newer header.
static void reads_other_versions(void) {
    struct {
        goodput_round round;
        double unknown;
    } newer;
    struct {
        goodput_node node;
        double unknown;
    } nodes[3];
    Example example;
    Room room, same;
    make_example(&example);
    make_room(&room);
    make_room(&same);
    memset(&newer, 0, sizeof newer);
    memset(nodes, 0, sizeof nodes);
    newer.round = example.round;
    newer.round.struct_size = sizeof newer;
    for (int n = 0; n < 3; ++n) nodes[n].node = example.nodes[n];
    newer.round.node = &nodes[0].node;
    newer.round.node_size = sizeof *nodes;
    goodput_scheduler* scheduler = goodput_scheduler_create();
    CHECK(goodput_scheduler_plan(scheduler, &newer.round, &room.plan) == GOODPUT_OK);
    goodput_scheduler* other = goodput_scheduler_create();
    CHECK(goodput_scheduler_plan(other, &example.round, &same.plan) == GOODPUT_OK);
    CHECK(memcmp(room.decisions, same.decisions, sizeof room.decisions) == 0);

    // As the first version of the interface had them: what came later counts as zero, whatever lies there.
    const size_t job_size = offsetof(goodput_job, within), sample_size = offsetof(goodput_sample, flags);
    double jobs[2 * sizeof(goodput_job) / sizeof(double)],
        samples[2 * sizeof(goodput_sample) / sizeof(double)];
    for (int i = 0; i < 2; ++i) {
        memcpy((char*)jobs + i * job_size, &example.jobs[i], job_size);
        memcpy((char*)samples + i * sample_size, &example.samples[i], sample_size);
    }
    goodput_round older = example.round;
    older.struct_size = offsetof(goodput_round, checkpoint);
    older.checkpoint_count = 7;
    older.job = (const goodput_job*)jobs;
    older.job_size = job_size;
    older.sample = (const goodput_sample*)samples;
    older.sample_size = sample_size;
    goodput_scheduler* third = goodput_scheduler_create();
    CHECK(goodput_scheduler_plan(third, &older, &room.plan) == GOODPUT_OK);
    CHECK(memcmp(room.decisions, same.decisions, sizeof room.decisions) == 0);
    goodput_scheduler_destroy(third);

    nodes[1].unknown = 1;
    CHECK(goodput_scheduler_plan(scheduler, &newer.round, &room.plan) == GOODPUT_BAD_SIZE);
    CHECK(strstr(goodput_scheduler_error(scheduler), "is not zero"));
    goodput_scheduler_destroy(scheduler);
    goodput_scheduler_destroy(other);
}

// A refused round leaves no trace: the same round, mended, gets the plan of a scheduler that never saw it.
static void forgets_what_it_refuses(void) {
    Example example;
    Room room, same;
    make_example(&example);
    make_room(&room);
    make_room(&same);
    goodput_scheduler *scheduler = goodput_scheduler_create(), *other = goodput_scheduler_create();
    example.samples[0].step_s = 99;
    example.held[0].gpus = 5;
    CHECK(goodput_scheduler_plan(scheduler, &example.round, &room.plan) == GOODPUT_BAD_INPUT);
    CHECK(goodput_scheduler_last_plan(scheduler, &room.plan) == GOODPUT_NOT_YET);
    make_example(&example);
    CHECK(goodput_scheduler_plan(scheduler, &example.round, &room.plan) == GOODPUT_OK);
    CHECK(goodput_scheduler_plan(other, &example.round, &same.plan) == GOODPUT_OK);
    CHECK(memcmp(room.decisions, same.decisions, sizeof room.decisions) == 0);
    CHECK(room.plan.objective == same.plan.objective);
    goodput_scheduler_destroy(scheduler);
    goodput_scheduler_destroy(other);
}

static void takes_null_handles(void) {
    goodput_allotter_destroy(NULL);
    goodput_fitter_destroy(NULL);
    goodput_scheduler_destroy(NULL);
    CHECK(goodput_allot(NULL, NULL, NULL) == GOODPUT_BAD_INPUT);
    CHECK(goodput_fitter_fit(NULL, NULL, NULL, 0) == GOODPUT_BAD_INPUT);
    CHECK(goodput_fitter_predict(NULL, NULL, 0, 0, NULL, 0) == GOODPUT_BAD_INPUT);
    CHECK(goodput_scheduler_configure(NULL, NULL) == GOODPUT_BAD_INPUT);
    CHECK(goodput_scheduler_plan(NULL, NULL, NULL) == GOODPUT_BAD_INPUT);
    CHECK(goodput_scheduler_last_plan(NULL, NULL) == GOODPUT_BAD_INPUT);
    CHECK(goodput_scheduler_advise(NULL, NULL, NULL) == GOODPUT_BAD_INPUT);
    CHECK(goodput_scheduler_explain(NULL, 0, 0, NULL, 0, NULL) == GOODPUT_BAD_INPUT);
    CHECK(strcmp(goodput_scheduler_error(NULL), "the handle is null") == 0);
    CHECK(strcmp(goodput_fitter_error(NULL), "the handle is null") == 0);
    CHECK(strcmp(goodput_allotter_error(NULL), "the handle is null") == 0);
}

int main(void) {
    says_its_version();
    allots();
    fits();
    plans();
    explains();
    takes_models();
    says_what_lines_say();
    advises();
    reads_other_versions();
    forgets_what_it_refuses();
    takes_null_handles();
    return 0;
}
