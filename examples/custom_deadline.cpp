// A policy that serves deadlines first. It reads the deadline, which the library does not know, from
// Job::user.

#include <algorithm>
#include <any>
#include <goodput/schedule/scheduler.hpp>
#include <iostream>
#include <span>
#include <string>

struct Deadline {
    double seconds;  ///< on the clock of the snapshot
};

/// A job's GPUs are worth more, the less time is left to its deadline. They are worth least without a
/// deadline.
// [deadline]
struct DeadlineFirst {
    void value_row(const goodput::Round& round, const goodput::Job& job,
                   std::span<const goodput::Option> options, std::span<double> values) const {
        const Deadline* deadline = std::any_cast<Deadline>(&job.user);
        const double left = deadline ? std::max(deadline->seconds - round.time_seconds, 60.0) : 1e6;
        const double best = std::max(goodput::best_goodput(options), 1e-9);
        for (std::size_t k = 0; k < options.size(); ++k) values[k] = options[k].goodput / best / left;
    }
};
static_assert(goodput::Policy<DeadlineFirst>);
// [/deadline]

int main() {
    goodput::Snapshot now{.time_seconds = 3600};
    now.cluster = {{"A100"}, {{"big-0", 0, 8}}};
    for (int hours : {9, 0, 2}) {  // 0: no deadline
        goodput::Job job{.name = "job-" + std::to_string(hours), .min_gpus = 8, .max_gpus = 8};
        job.initial_batch = 64;
        job.max_batch = 1024;
        job.types = {{.max_atomic_batch = 64}};
        if (hours > 0) job.user = Deadline{3600.0 * hours};
        now.jobs.push_back(job);
    }
    const goodput::Plan plan = goodput::plan(now, DeadlineFirst());
    for (std::size_t j = 0; j < now.jobs.size(); ++j)
        std::cout << now.jobs[j].name << (plan.decisions[j].placement.empty() ? " waits\n" : " runs\n");
    return plan.decisions[2].placement.empty() ? 1 : 0;  // the nearest deadline
}
