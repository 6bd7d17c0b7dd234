// The program's lines from C++, with goodput::compiled: reads lines of `goodput plan` and writes their
// answers.

#include <exception>
#include <iostream>
#include <string>

#include <goodput/line_service.hpp>

int main() {
    try {
        // [lines]
        goodput::LineService planner(R"({"command": "plan", "policy": "goodput", "explain": true})");
        for (std::string line; std::getline(std::cin, line);) std::cout << planner.answer(line) << '\n';
        // [/lines]
    } catch (const std::exception& error) {
        std::cerr << error.what() << '\n';
        return 1;
    }
}
