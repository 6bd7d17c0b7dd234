#ifndef GOODPUT_SIM_DETAIL_REPLAY_CHECKS_HPP
#define GOODPUT_SIM_DETAIL_REPLAY_CHECKS_HPP

// What a replay refuses of its world and of its scheduler, and the order of the jobs.

#include <algorithm>
#include <cstddef>
#include <numeric>
#include <span>
#include <string>
#include <vector>

#include "goodput/core/cluster.hpp"
#include "goodput/core/error.hpp"
#include "goodput/core/job.hpp"
#include "goodput/schedule/snapshot.hpp"
#include "goodput/sim/events.hpp"
#include "goodput/sim/world.hpp"

namespace goodput {

namespace detail {

/// Seconds; far more than what is lost where times of decades are added up.
inline constexpr double shortest_interval = 1e-3;
inline constexpr double longest_time = 1e12;

template <World W>
void validate_world(const W& world) {
    const std::span<const Job> jobs = world.jobs();
    double last = 0;
    std::vector<const std::string*> names;
    for (std::size_t j = 0; j < jobs.size(); ++j) {
        const auto subject = [&] { return "job '" + jobs[j].name + "'"; };
        names.push_back(&jobs[j].name);
        require_at_least(subject, "time", jobs[j].submitted_seconds, last);
        last = jobs[j].submitted_seconds;
        if (last > longest_time) bad_input(subject(), "time", last, "at most " + text_of(longest_time));
        if (const double done = world.done(j); !(done >= 0 && done < 1))
            bad_input(subject(), "part that is done", done, "at least 0 and below 1 before a replay");
    }
    require_own_names("job", names);
}

/// The jobs' order: by time, then by name.
inline std::vector<std::size_t> order_of(std::span<const Job> jobs) {
    std::vector<std::size_t> order(jobs.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
        const Job &first = jobs[a], &second = jobs[b];
        if (first.submitted_seconds != second.submitted_seconds)
            return first.submitted_seconds < second.submitted_seconds;
        return name_before(first.name, second.name);
    });
    return order;
}

/// Refuses a plan that a scheduler of one's own may get wrong. `used` is a buffer.
inline void check_plan(const Plan& plan, const Snapshot& snapshot, std::vector<int>& used) {
    if (plan.decisions.size() != snapshot.jobs.size())
        bad_input("scheduler", "number of decisions", plan.decisions.size(),
                  "that of jobs, " + text_of(snapshot.jobs.size()));
    const std::vector<Node>& nodes = snapshot.cluster.nodes;
    used.assign(nodes.size(), 0);
    for (const Decision& decision : plan.decisions)
        for (const NodeShare& share : decision.placement) {
            if (share.node >= nodes.size())
                bad_input("scheduler", "index of a node", share.node, "below " + text_of(nodes.size()));
            if ((used[share.node] += share.gpus) > nodes[share.node].gpus)
                bad_input("scheduler", "GPUs given of node '" + nodes[share.node].name + "'",
                          used[share.node], "at most " + text_of(nodes[share.node].gpus));
        }
}

}  // namespace detail

}  // namespace goodput

#endif
