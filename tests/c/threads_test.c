// Two threads, each with a handle, plan at the same time, round after round. Both get what one alone gets.

#include <pthread.h>

#include "check.h"

enum { rounds = 20, longest = 4096 };

typedef struct {
    char plan[rounds][longest];
} Course;

static void* plan_rounds(void* to) {
    Course* course = to;
    char text[1024];
    goodput_lines* planner = goodput_open("{\"command\": \"plan\", \"policy\": \"goodput\", \"explain\": true}");
    CHECK(*goodput_open_error(planner) == '\0');
    for (int r = 0; r < rounds; ++r) {
        const char* answer = goodput_answer(planner, round_at(60 * r, text, sizeof text));
        const char* times = strstr(answer, "\"milliseconds\"");  // these differ
        CHECK(times && (size_t)(times - answer) < longest);
        memcpy(course->plan[r], answer, (size_t)(times - answer));
    }
    goodput_close(planner);
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
