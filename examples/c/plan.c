// Plans rounds from C: reads lines of `goodput plan` and writes their answers.
//
//     cc -std=c99 plan.c -lgoodput_c && ./a.out < docs/round.json

#include <stdio.h>

#include <goodput/goodput.h>

int main(void) {
    static char line[1 << 20];
    // [plan]
    goodput_lines* planner =
        goodput_open("{\"command\": \"plan\", \"policy\": \"goodput\", \"explain\": true}");
    if (*goodput_open_error(planner)) {
        fprintf(stderr, "%s\n", goodput_open_error(planner));
        goodput_close(planner);
        return 1;
    }
    while (fgets(line, sizeof line, stdin)) puts(goodput_answer(planner, line));
    goodput_close(planner);
    // [/plan]
    return 0;
}
