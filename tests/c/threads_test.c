// Two threads with a handle each plan at the same time, round after round, and both get what one alone gets.

#include <pthread.h>

#include "check.h"

enum { rounds = 20 };

typedef struct {
    double objective[rounds];
    goodput_decision decisions[rounds][2];
} Course;

static void* plan_rounds(void* to) {
    Course* course = to;
    goodput_scheduler* scheduler = goodput_scheduler_create();
    for (int r = 0; r < rounds; ++r) {
        Example example;
        Room room;
        make_example(&example);
        make_room(&room);
        example.round.time_s += 60 * r;
        example.samples[0].step_s *= 1 + 0.01 * r;
        CHECK(goodput_scheduler_plan(scheduler, &example.round, &room.plan) == GOODPUT_OK);
        course->objective[r] = room.plan.objective;
        memcpy(course->decisions[r], room.decisions, sizeof room.decisions);
    }
    goodput_scheduler_destroy(scheduler);
    return NULL;
}

int main(void) {
    static Course alone, together[2];
    pthread_t threads[2];
    plan_rounds(&alone);
    for (int t = 0; t < 2; ++t) CHECK(pthread_create(&threads[t], NULL, plan_rounds, &together[t]) == 0);
    for (int t = 0; t < 2; ++t) CHECK(pthread_join(threads[t], NULL) == 0);
    for (int t = 0; t < 2; ++t) CHECK(memcmp(&alone, &together[t], sizeof alone) == 0);
    return 0;
}
