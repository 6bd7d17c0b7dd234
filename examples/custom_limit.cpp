// A limit of your own: every running job takes a seat of a licence server.
#include <iostream>

#include "goodput/schedule/scheduler.hpp"
using namespace goodput;

// [limit]
struct Seats {
    double seats;
    void rows(const Round&, LimitRows& rows) const { rows.add("the licence server", seats, "seats"); }
    void uses(const Round&, const Job&, const Option&, LimitUses& uses) const { uses.add(0, 1); }
};
static_assert(Limit<Seats>);
// [/limit]

int main() {
    const Job job{.max_gpus = 4, .initial_batch = 64, .max_batch = 512, .types = {{.max_atomic_batch = 64}}};
    Snapshot now{.cluster = {{"A100"}, {{"node", 0, 8}}}, .jobs = {job, job, job}};
    for (std::size_t j = 0; j < 3; ++j) now.jobs[j].name = "job-" + std::to_string(j);
    auto scheduler = Scheduler<Sia>().limited_by(Seats{2});
    const Plan& plan = scheduler.plan(now);
    std::cout << plan.limits[0].report() << "\njob-2 " << plan.decisions[2].verdict.reason << "\n";
    return plan.limits[0].used == 2 ? 0 : 1;
}
