#include <cstring>

#include <goodput/goodput.h>

int main() {
    goodput_allotter* allotter = goodput_allotter_create();
    goodput_allot_problem problem{};
    problem.struct_size = sizeof problem;
    goodput_allot_answer answer{};
    answer.struct_size = sizeof answer;
    const bool solved = goodput_allot(allotter, &problem, &answer) == GOODPUT_OK;
    goodput_allotter_destroy(allotter);
    return solved && std::strcmp(goodput_version(), CONSUMER_VERSION) == 0 ? 0 : 1;
}
