// Uses goodput::compiled: plans a round with the compiled bodies.

#include <goodput/goodput.hpp>

int main() {
    goodput::Snapshot now{};
    now.cluster = {{"a100"}, {{"n0", 0, 8}}};
    now.jobs.push_back({.name = "vision", .max_gpus = 8, .initial_batch = 128, .max_batch = 4096});
    now.jobs[0].types = {{.max_atomic_batch = 512, .reference_rate = 2500}};
    now.models.resize(1);
    return goodput::plan(now).decisions[0].placement.size() == 1 ? 0 : 1;
}
