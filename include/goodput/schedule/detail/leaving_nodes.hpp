#ifndef GOODPUT_SCHEDULE_DETAIL_LEAVING_NODES_HPP
#define GOODPUT_SCHEDULE_DETAIL_LEAVING_NODES_HPP

// Lowers the values of options on nodes that will leave (Node::leaves_seconds) before the job has ended. If
// such nodes stay for `stay` seconds more, the job works for `stay` seconds and then loses its restart
// cost. So the value is multiplied by stay / (stay + restart cost). The option that a job holds keeps its
// value.

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <functional>
#include <limits>
#include <span>
#include <vector>

#include "goodput/allot/problem.hpp"
#include "goodput/schedule/detail/offers.hpp"
#include "goodput/schedule/detail/open_nodes.hpp"
#include "goodput/schedule/detail/placing.hpp"
#include "goodput/schedule/detail/rows.hpp"
#include "goodput/schedule/snapshot.hpp"

namespace goodput::inline v0_1::detail {

/// Lowers values in a round's problem. It keeps its buffers.
class LeavingNodes {
public:
    /// Lowers the values of options for which too few nodes of a pool stay until the job has ended.
    void lower_values(const Snapshot& snapshot, const OpenNodes& open, const Offers& offers, Rows& rows);

    /// Finds running jobs that these decisions restart on leaving nodes although the two restarts cost more
    /// work than the change brings. Lowers the value of such an option to the value of what the job holds.
    /// Returns whether there was any.
    bool take_back_vain_changes(const Snapshot& snapshot, const Offers& offers, Rows& rows,
                                std::span<const std::size_t> chosen, std::span<const Decision> decisions);

private:
    bool any_leaves_ = false;  // in this round
    // By pool: times at which its open nodes leave, latest first.
    std::vector<std::vector<double>> leaving_;
};

inline void LeavingNodes::lower_values(const Snapshot& snapshot, const OpenNodes& open, const Offers& offers,
                                       Rows& rows) {
    const std::vector<Node>& nodes = snapshot.cluster.nodes;
    any_leaves_ =
        std::ranges::any_of(nodes, [](const Node& node) { return std::isfinite(node.leaves_seconds); });
    if (!any_leaves_) return;
    leaving_.clear();
    for (const Pool& pool : open.pools()) {
        std::vector<double>& leaving = leaving_.emplace_back();
        for (const std::size_t node : pool.nodes)
            if (!nodes[node].drained) leaving.push_back(nodes[node].leaves_seconds);
        std::ranges::sort(leaving, std::ranges::greater());
    }
    for (std::size_t j = 0; j < snapshot.jobs.size(); ++j) {
        const Job& job = snapshot.jobs[j];
        if (open.keeps(j) || !(job.restart_cost_seconds > 0)) continue;
        const std::span<const Option> options = offers.options_of(j);
        for (std::size_t k = 0; k < options.size(); ++k) {
            const double value = rows.problem.value(j, k);
            if (value <= 0 || is_held(snapshot, j, options[k].configuration)) continue;
            double stay = std::numeric_limits<double>::infinity();
            for (const PoolShare& part : options[k].configuration.parts()) {
                const std::size_t pool = find_pool(open.pools(), part),
                                  count = static_cast<std::size_t>(part.shape.nodes);
                if (pool < leaving_.size() && count <= leaving_[pool].size())
                    stay = std::min(stay, leaving_[pool][count - 1]);
            }
            if (stay < needed_seconds(job, options[k]))
                rows.problem.set_value(j, k, value * (stay / (stay + job.restart_cost_seconds)));
        }
    }
}

inline bool LeavingNodes::take_back_vain_changes(const Snapshot& snapshot, const Offers& offers, Rows& rows,
                                                 std::span<const std::size_t> chosen,
                                                 std::span<const Decision> decisions) {
    bool any = false;
    for (std::size_t j = 0; any_leaves_ && j < decisions.size(); ++j) {
        const Job& job = snapshot.jobs[j];
        const Decision& decision = decisions[j];
        const std::size_t held = rows.held[j];
        const double cost = job.restart_cost_seconds;
        if (decision.placement.empty() || decision.placement == job.placement || held == no_option ||
            !(cost > 0) || is_held(snapshot, j, decision.option.configuration))
            continue;
        double stay = needed_seconds(job, decision.option);
        for (const NodeShare& share : decision.placement)
            stay = std::min(stay, snapshot.cluster.nodes[share.node].leaves_seconds);
        const std::span<const Option> options = offers.options_of(j);
        // The job restarts now, and again when the nodes leave. Compare the extra work until then with the
        // work lost.
        const double before = options[held].goodput, now = options[chosen[j]].goodput;
        if (!(stay < needed_seconds(job, decision.option)) || stay * (now - before) > cost * (now + before))
            continue;
        for (std::size_t k = 0; k < options.size(); ++k)
            if (options[k].configuration.same_gpus(options[chosen[j]].configuration) &&
                rows.problem.value(j, k) > rows.problem.value(j, held)) {
                rows.problem.set_value(j, k, rows.problem.value(j, held));
                any = true;
            }
    }
    return any;
}

}  // namespace goodput::inline v0_1::detail

#endif
