// Tests the lines of the C interface: every command answers, an unusable line gets a sentence, and the
// handle works after it.

#include "check.h"

static goodput_lines* opened(const char* options) {
    goodput_lines* lines = goodput_open(options);
    CHECK(lines);
    CHECK(*goodput_open_error(lines) == '\0');
    return lines;
}

static int has(const char* text, const char* part) {
    if (strstr(text, part)) return 1;
    fprintf(stderr, "%s\n", text);
    return 0;
}

static void answers_every_command(void) {
    char text[1024];
    goodput_lines* planner = opened("{\"command\": \"plan\", \"policy\": \"goodput\", \"explain\": true}");
    CHECK(has(goodput_answer(planner, round_at(60, text, sizeof text)), "\"status\":\"optimal\""));
    goodput_close(planner);

    goodput_lines* allotter = opened("{\"command\": \"allot\", \"explain\": true}");
    const char* problem = "{\"capacity\": [4], \"jobs\": [{\"options\": [{\"value\": 1, \"use\": [[0, 3]]}]}]}";
    CHECK(has(goodput_answer(allotter, problem), "\"choice\":[0]"));
    CHECK(has(goodput_answer(allotter, problem), "\"explanations\""));
    goodput_close(allotter);

    goodput_lines* fitter = opened("{\"command\": \"fit\"}");
    const char* samples =
        "{\"samples\": [{\"gpu_type\": \"T4\", \"nodes\": 1, \"gpus\": 1, \"local_batch\": 64, \"step_s\": 0.2}],"
        " \"initial_batch\": 32, \"gradient\": {\"sqr\": 1, \"var\": 20},"
        " \"predict\": [{\"gpu_type\": \"T4\", \"nodes\": 1, \"gpus\": 2, \"local_batch\": 64}]}";
    CHECK(has(goodput_answer(fitter, samples), "\"efficiency\""));
    goodput_close(fitter);

    goodput_lines* shares = opened("{\"command\": \"share\"}");
    CHECK(has(goodput_answer(shares, "{}"), "\"error\""));
    goodput_close(shares);
}

static void refuses_options_with_a_sentence(void) {
    static const char* const refused[][2] = {
        {"", "not JSON"},
        {"plan", "not JSON"},
        {"[]", "must be an object"},
        {"{}", "command"},
        {"{\"command\": \"replay\"}", "one of plan, allot, fit, share"},
        {"{\"command\": \"plan\", \"policy\": \"best\"}", "no policy 'best'"},
        {"{\"command\": \"plan\", \"policy_options\": 3}", "policy_options"},
        {"{\"command\": \"plan\", \"policy_options\": {\"speed\": 1}}", "'speed'"},
        {"{\"command\": \"plan\", \"explian\": true}", "explian"},
        {"{\"command\": \"plan\", \"explain\": 1}", "explain"},
        {"{\"command\": \"plan\", \"memory\": \"/nowhere/at/all\"}", "/nowhere"},
        {"{\"command\": \"fit\", \"explain\": true}", "explain"},
    };
    for (size_t i = 0; i < COUNT(refused); ++i) {
        goodput_lines* lines = goodput_open(refused[i][0]);
        CHECK(lines);
        CHECK(has(goodput_open_error(lines), refused[i][1]));
        CHECK(has(goodput_answer(lines, "{}"), "{\"error\": \""));
        goodput_close(lines);
    }
    goodput_lines* lines = goodput_open(NULL);
    CHECK(lines && *goodput_open_error(lines));
    goodput_close(lines);
    goodput_close(NULL);
    CHECK(has(goodput_answer(NULL, "{}"), "error"));
    CHECK(*goodput_open_error(NULL));
}

static void goes_on_after_a_line_that_cannot_be_used(void) {
    char text[1024], first[4096];
    goodput_lines* planner = opened("{\"command\": \"plan\", \"policy\": \"goodput\"}");
    const char* answer = goodput_answer(planner, round_at(60, text, sizeof text));
    CHECK(strlen(answer) < sizeof first);
    strcpy(first, answer);
    static const char* const broken[] = {"",     "{",    "[]",          "nul", "{\"time_s\": 1e999}",
                                         "\xff", "\"\"", "{\"jobs\": {}}", "{\"time_s\": \"\\u0000\"}"};
    for (size_t i = 0; i < COUNT(broken); ++i)
        CHECK(has(goodput_answer(planner, broken[i]), "\"error\":\""));
    CHECK(has(goodput_answer(planner, NULL), "\"error\":\""));
    CHECK(has(goodput_answer(planner, "{"), "\"line\":12"));
    answer = goodput_answer(planner, round_at(60, text, sizeof text));
    CHECK(strncmp(answer, first, (size_t)(strstr(first, "\"milliseconds\"") - first)) == 0);
    // A document may span several lines.
    CHECK(has(goodput_answer(planner, "{\"time_s\": 0,\n \"nodes\": [],\n \"jobs\": []}\n"), "\"plan\":[]"));
    goodput_close(planner);
}

static void names_unknown_fields(void) {
    goodput_lines* planner = opened("{\"command\": \"plan\"}");
    const char* misspelt = "{\"time_s\": 0, \"nodes\": [], \"jobs\": [], \"budget\": 3}";
    for (int again = 0; again < 2; ++again)
        CHECK(has(goodput_answer(planner, misspelt), "there is no field \\\"budget\\\""));
    goodput_close(planner);
    goodput_lines* strict = opened("{\"command\": \"plan\", \"strict\": true}");
    CHECK(has(goodput_answer(strict, misspelt), "\"error\":\""));
    goodput_close(strict);
}

int main(void) {
    CHECK(strcmp(goodput_version(), TEST_VERSION) == 0);
    CHECK(goodput_abi() == GOODPUT_ABI);
    answers_every_command();
    refuses_options_with_a_sentence();
    goes_on_after_a_line_that_cannot_be_used();
    names_unknown_fields();
    return 0;
}
