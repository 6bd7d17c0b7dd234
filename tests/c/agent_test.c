// A training reports its steps to its agent, in C99.

#include <math.h>

#include "check.h"

enum { SIZE = 4 };

static goodput_agent_settings settings_of_example(void) {
    return (goodput_agent_settings){.struct_size = sizeof(goodput_agent_settings),
                                    .parameters = SIZE,
                                    .initial_batch = 16,
                                    .max_batch = 256,
                                    .max_atomic_batch = 64};
}

static goodput_agent* make_agent(int replicas) {
    const goodput_agent_settings settings = settings_of_example();
    const goodput_holding holding = {
        .struct_size = sizeof holding, .gpu_type = "cpu", .nodes = 1, .gpus = replicas};
    goodput_agent* agent = goodput_agent_create();
    CHECK(agent);
    CHECK(goodput_agent_drop_step(agent) == GOODPUT_NOT_YET);
    CHECK(goodput_agent_configure(agent, &settings) == GOODPUT_OK);
    CHECK(goodput_agent_hold(agent, &holding) == GOODPUT_OK);
    return agent;
}

static goodput_agent_state read_state(goodput_agent* agent) {
    goodput_agent_state state = {.struct_size = sizeof state};
    CHECK(goodput_agent_read(agent, &state) == GOODPUT_OK);
    return state;
}

// Gradients with a mean of 1 and a deviation whose sign alternates from step to step.
static void train(goodput_agent* agent, int steps) {
    double now = 0;
    for (int step = 0; step < steps; ++step) {
        int32_t wanted = 0, counted = 0;
        CHECK(goodput_agent_begin_step(agent, now, 1, 0, &wanted) == GOODPUT_OK);
        CHECK(wanted == 1);
        float piece[SIZE];
        for (int i = 0; i < SIZE; ++i) piece[i] = step % 2 == 0 ? 1.5f : 0.5f;
        CHECK(goodput_agent_add_floats(agent, piece, NULL, 1) == GOODPUT_OK);  // a tensor after the other
        CHECK(goodput_agent_add_floats(agent, piece + 1, NULL, SIZE - 1) == GOODPUT_OK);
        CHECK(goodput_agent_end_step(agent, now += 0.25, -1, &counted) == GOODPUT_OK);
        CHECK(counted == 1);
    }
}

static void measures_and_reports(void) {
    goodput_agent* agent = make_agent(1);
    CHECK(goodput_agent_started(agent, NAN) == GOODPUT_BAD_INPUT);
    CHECK(goodput_agent_started(agent, -21) == GOODPUT_OK);
    CHECK(read_state(agent).local_batch == 16 && read_state(agent).accumulation == 0);
    CHECK(goodput_agent_report(agent, NULL, 0, &(size_t){0}) == GOODPUT_NOT_YET);
    train(agent, 40);
    const goodput_agent_state state = read_state(agent);
    CHECK(state.gradient_sqr > 0 && state.gradient_var > 0 && isfinite(state.noise_scale));
    CHECK(state.goodput > 0 && state.useful_examples > 0);
    char line[512];
    size_t length = 0;
    CHECK(goodput_agent_report(agent, line, sizeof line, &length) == GOODPUT_OK);
    CHECK(strlen(line) == length && strstr(line, "\"gpu_type\": \"cpu\"") &&
          strstr(line, "\"step_s\": 0.25") && strstr(line, "\"start_s\": 21.25"));
    CHECK(!strstr(line, "gpu_utilisation"));
    CHECK(goodput_agent_add_gpu_utilisation(agent, 1.5) == GOODPUT_BAD_INPUT);
    CHECK(strstr(goodput_agent_error(agent), "gpu_utilisation is 1.5"));
    CHECK(goodput_agent_add_gpu_utilisation(agent, 0.5) == GOODPUT_OK);
    CHECK(goodput_agent_add_gpu_utilisation(agent, 1) == GOODPUT_OK);
    CHECK(goodput_agent_report(agent, line, sizeof line, NULL) == GOODPUT_OK);
    CHECK(strstr(line, "\"gpu_utilisation\": 0.75"));
    CHECK(goodput_agent_report(agent, line, 8, &length) == GOODPUT_TOO_SMALL);
    CHECK(strlen(line) == 7 && length > 7);
    goodput_agent_destroy(agent);
}

static void goes_on_from_what_it_saved(void) {
    goodput_agent *before = make_agent(1), *after = make_agent(1);
    train(before, 40);
    size_t length = 0;
    CHECK(goodput_agent_save(before, NULL, 0, &length) == GOODPUT_OK);
    char* text = malloc(length + 1);
    CHECK(text && goodput_agent_save(before, text, length + 1, NULL) == GOODPUT_OK);
    CHECK(goodput_agent_restore(after, text, length) == GOODPUT_OK);
    CHECK(read_state(after).gradient_var == read_state(before).gradient_var);
    CHECK(read_state(after).useful_examples == read_state(before).useful_examples);
    CHECK(goodput_agent_restore(after, text, length / 2) == GOODPUT_BAD_INPUT);
    free(text);
    goodput_agent_destroy(before);
    goodput_agent_destroy(after);
}

// Two replicas: their sums are added between the last gradient and the end of the step.
static void knows_the_same_on_all_replicas(void) {
    goodput_agent* agents[] = {make_agent(2), make_agent(2)};
    double now = 0;
    for (int step = 0; step < 20; ++step) {
        double totals[2] = {0, 0};
        float sum[SIZE] = {0};
        for (int r = 0; r < 2; ++r) {
            const double piece[SIZE] = {1 + r, 1, 1, 1};
            double own[2];
            float own_sum[SIZE];
            size_t count = 0;
            CHECK(goodput_agent_begin_step(agents[r], now, 1, 0, NULL) == GOODPUT_OK);
            CHECK(goodput_agent_add_doubles(agents[r], piece, NULL, SIZE) == GOODPUT_OK);
            CHECK(goodput_agent_totals(agents[r], own, 1, &count) == GOODPUT_TOO_SMALL && count == 2);
            CHECK(goodput_agent_totals(agents[r], own, 2, &count) == GOODPUT_OK);
            for (int i = 0; i < 2; ++i) totals[i] += own[i];
            CHECK(goodput_agent_running_sum(agents[r], own_sum, SIZE, &count) == GOODPUT_OK);
            CHECK(count == SIZE);
            for (int i = 0; i < SIZE; ++i) sum[i] += own_sum[i];
        }
        now += 0.5;
        for (int r = 0; r < 2; ++r) {
            CHECK(goodput_agent_set_totals(agents[r], totals, 1) == GOODPUT_BAD_INPUT);
            CHECK(goodput_agent_set_totals(agents[r], totals, 2) == GOODPUT_OK);
            CHECK(goodput_agent_set_running_sum(agents[r], sum, SIZE) == GOODPUT_OK);
            CHECK(goodput_agent_end_step(agents[r], now, 0.1, NULL) == GOODPUT_OK);
        }
    }
    CHECK(read_state(agents[0]).gradient_var > 0);
    CHECK(read_state(agents[0]).gradient_var == read_state(agents[1]).gradient_var);
    for (int r = 0; r < 2; ++r) goodput_agent_destroy(agents[r]);
}

static void takes_norms_and_plans(void) {
    goodput_agent* agent = make_agent(1);
    for (int step = 0; step < 20; ++step) {
        const goodput_gradient_norms norms = {.mean_of_squares = 5, .square_of_mean = 3, .count = 2};
        CHECK(goodput_agent_begin_step(agent, step, 1, 0, NULL) == GOODPUT_OK);
        CHECK(goodput_agent_end_step_norms(agent, step + 0.5, -1, &norms, 1, sizeof norms, NULL) ==
              GOODPUT_OK);
    }
    CHECK(fabs(read_state(agent).gradient_sqr - 1) < 1e-9);  // |G|^2 = 2 * 3 - 5, as by hand
    int32_t changed = 0;
    CHECK(goodput_agent_adopt_text(agent, "{\"local_batch\": 64, \"accumulation\": 1}", &changed) ==
          GOODPUT_OK);
    CHECK(changed == 1 && read_state(agent).total_batch == 128);
    CHECK(goodput_agent_adopt_text(agent, " \n", &changed) == GOODPUT_OK && changed == 0);
    CHECK(goodput_agent_adopt(agent, 64, 1, &changed) == GOODPUT_OK && changed == 0);
    CHECK(goodput_agent_adopt(agent, 65, 1, &changed) == GOODPUT_BAD_INPUT);
    CHECK(goodput_agent_error(agent)[0] != '\0');
    CHECK(goodput_agent_retune(agent, &changed) == GOODPUT_OK);
    double factor = 0;
    CHECK(goodput_agent_learning_rate_factor(agent, 0, &factor) == GOODPUT_OK && factor >= 1);
    CHECK(goodput_agent_learning_rate_factor(agent, 1, &factor) == GOODPUT_BAD_INPUT);
    goodput_agent_destroy(agent);
}

static void refuses_bad_calls(void) {
    goodput_agent* agent = make_agent(1);
    goodput_agent_settings settings = settings_of_example();
    settings.initial_batch = 0;
    CHECK(goodput_agent_configure(agent, &settings) == GOODPUT_BAD_INPUT);
    settings = settings_of_example();
    settings.struct_size = 1;
    CHECK(goodput_agent_configure(agent, &settings) == GOODPUT_BAD_SIZE);
    CHECK(goodput_agent_configure(agent, NULL) == GOODPUT_BAD_INPUT);
    CHECK(goodput_agent_end_step(agent, 1, -1, NULL) == GOODPUT_BAD_INPUT);
    CHECK(goodput_agent_begin_step(agent, NAN, 1, 0, NULL) == GOODPUT_BAD_INPUT);
    CHECK(goodput_agent_begin_step(agent, 0, 1, 0, NULL) == GOODPUT_OK);
    CHECK(goodput_agent_add_floats(agent, NULL, NULL, SIZE) == GOODPUT_BAD_INPUT);
    CHECK(goodput_agent_set_square_of_mean(agent, 7, 1) == GOODPUT_BAD_INPUT);
    CHECK(goodput_agent_read(NULL, NULL) == GOODPUT_BAD_INPUT);
    goodput_agent_destroy(agent);
    goodput_agent_destroy(NULL);
}

int main(void) {
    measures_and_reports();
    goes_on_from_what_it_saved();
    knows_the_same_on_all_replicas();
    takes_norms_and_plans();
    refuses_bad_calls();
    return 0;
}
