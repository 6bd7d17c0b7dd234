#ifndef GOODPUT_TESTS_C_CHECK_H
#define GOODPUT_TESTS_C_CHECK_H

// Common parts of the C tests. A failed claim ends the program and prints its line.

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

// Returns a round with one waiting job, at a time in seconds.
static inline const char* round_at(int time_s, char* text, size_t capacity) {
    snprintf(text, capacity,
             "{\"time_s\": %d, \"nodes\": [{\"name\": \"n0\", \"gpu_type\": \"T4\", \"gpus\": 4}], \"jobs\": "
             "[{\"name\": \"vision\", \"submitted_s\": 0, \"gpus\": [1, 4], \"batch\": {\"initial\": 128, "
             "\"max\": 1024, \"local\": {\"T4\": [16, 128]}, \"rate\": {\"T4\": %d}}}]}",
             time_s, 400 + time_s % 7);
    return text;
}

#endif
