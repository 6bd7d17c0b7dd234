// A C++ program needs nothing but goodput::c.

#include <cstring>

#include <goodput/goodput.h>

int main() {
    goodput_lines* allotter = goodput_open(R"({"command": "allot"})");
    const char* answer = goodput_answer(
        allotter, R"({"capacity": [1], "jobs": [{"options": [{"value": 1, "use": [[0, 1]]}]}]})");
    const bool solved = std::strstr(answer, "\"choice\":[0]") != nullptr;
    goodput_close(allotter);
    return solved && goodput_abi() == GOODPUT_ABI ? 0 : 1;
}
