// A shared library that needs a body of goodput::compiled.
#include <goodput/schedule/snapshot.hpp>
#include <string>

std::string plan_in_words(const goodput::Plan& plan) { return plan.report(); }
