#ifndef GOODPUT_TESTS_FUZZ_SUPPORT_RATED_ROUNDS_HPP
#define GOODPUT_TESTS_FUZZ_SUPPORT_RATED_ROUNDS_HPP

// What every plan must respect, for targets that test the layers around a scheduler.

#include <cmath>
#include <cstddef>
#include <optional>
#include <vector>

#include "goodput/core/cluster.hpp"
#include "goodput/schedule/cluster_limits.hpp"
#include "goodput/schedule/scheduler.hpp"
#include "goodput/schedule/snapshot.hpp"

#include "fuzz/support/check.hpp"

namespace fuzz {

/// No GPU is given twice, except to partners, who name each other and have the same GPUs. The bound holds,
/// and a conflict names existing jobs. Jobs that are set aside keep what they hold, whatever that is.
inline void check_plan(const goodput::Snapshot& snapshot, const goodput::Plan& plan) {
    check(plan.decisions.size() == snapshot.jobs.size(), "a decision for every job");
    std::vector<int> used(snapshot.cluster.nodes.size(), 0);
    bool all_new = true;
    for (std::size_t j = 0; j < plan.decisions.size(); ++j) {
        const goodput::Decision& decision = plan.decisions[j];
        const std::optional<std::size_t> partner = decision.shares_with;
        if (partner) {
            check(*partner < plan.decisions.size() && *partner != j, "a partner that is there");
            check(plan.decisions[*partner].shares_with == j, "partners name each other");
            check(plan.decisions[*partner].placement == decision.placement, "partners have the same GPUs");
        }
        all_new &= decision.placement.empty() || decision.starts;
        if (partner && *partner < j) continue;
        for (const goodput::NodeShare& share : decision.placement) {
            check(share.node < used.size(), "a node that is there");
            check((used[share.node] += share.gpus) <= snapshot.cluster.nodes[share.node].gpus || !all_new,
                  "no node has more than its GPUs", used[share.node]);
        }
    }
    check(plan.objective <= plan.bound + 1e-6 * (1 + std::abs(plan.bound)), "the bound is one",
          plan.objective, plan.bound);
    for (const goodput::LimitConflict& conflict : plan.conflicts) {
        check(conflict.limit < plan.limits.size(), "a conflict of a limit that is there");
        for (const std::size_t job : conflict.jobs)
            check(job < snapshot.jobs.size(), "a conflict of jobs that are there", static_cast<double>(job));
        check(!conflict.report(snapshot, plan).empty(), "a conflict is said");
    }
}

}  // namespace fuzz

#endif
