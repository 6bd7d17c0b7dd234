#ifndef GOODPUT_SCHEDULE_DETAIL_PLACING_HPP
#define GOODPUT_SCHEDULE_DETAIL_PLACING_HPP

// Finds nodes (step 9 of a round). A placer lays out one part of a configuration at a time. If a
// configuration has several parts, each part is a request of its own, in the order of the jobs. A job gets
// no nodes unless all its parts find some. The cost of a move is charged for each part that moves.

#include <algorithm>
#include <cstddef>
#include <limits>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "goodput/core/placement.hpp"
#include "goodput/schedule/detail/open_nodes.hpp"
#include "goodput/schedule/joints.hpp"
#include "goodput/schedule/snapshot.hpp"

namespace goodput::inline v0_1::detail {

/// Returns the seconds for which a job needs its nodes with an option, including the start. Returns
/// infinity if the job does not say how much work is left, or if its speed is unknown.
inline double needed_seconds(const Job& job, const Option& option) {
    if (!job.remaining_examples || option.knowledge == Knowledge::unknown || !(option.goodput > 0))
        return std::numeric_limits<double>::infinity();
    return job.restart_cost_seconds + *job.remaining_examples / option.goodput;
}

/// Lays out the configurations of a plan. It keeps its buffers.
class Placing {
public:
    /// Fills in the placements of all decisions, and the cost of moves. Calls `give_nothing(job, why)` for
    /// jobs that found no nodes.
    template <class GiveNothing>
    void find(const Snapshot& snapshot, const OpenNodes& open, const PlacerJoint& placer, Plan& plan,
              GiveNothing give_nothing) {
        job_of_.clear();
        for (std::size_t j = 0; j < snapshot.jobs.size(); ++j)
            request(snapshot, j, plan.decisions[j].option, open);
        const std::size_t requests = job_of_.size();
        const PlacementResult& placed =
            placer.place(placer.part, snapshot.cluster,
                         std::span<const PlacementRequest>(requests_.data(), requests), result_);
        if (placed.placements.size() != requests)
            bad_input("placer", "number of placements", placed.placements.size(),
                      "that of requests, " + text_of(requests));
        plan.move_cost_seconds = placed.move_cost;
        for (std::size_t r = 0; r < requests; ++r) {
            Placement& placement = plan.decisions[job_of_[r]].placement;
            if (r == 0 || job_of_[r] != job_of_[r - 1])
                placement = placed.placements[r];
            else
                placement.insert(placement.end(), placed.placements[r].begin(), placed.placements[r].end());
        }
        for (std::size_t j = 0; j < snapshot.jobs.size(); ++j) {
            Decision& decision = plan.decisions[j];
            if (!decision.option.configuration.is_single())
                std::sort(decision.placement.begin(), decision.placement.end());
        }
        std::size_t last = snapshot.jobs.size();
        for (const UnplacedJob& unplaced : placed.unplaced) {
            const std::size_t job = job_of_[unplaced.job];
            if (std::exchange(last, job) != job) give_nothing(job, unplaced.why);
        }
        keep_within(snapshot, open, placer, plan, give_nothing);
    }

private:
    /// Takes the nodes from jobs that must stay within one domain but do not. A placer sees only single
    /// parts, so each part may be within a domain although the job as a whole is not.
    template <class GiveNothing>
    static void keep_within(const Snapshot& snapshot, const OpenNodes& open, const PlacerJoint& placer,
                            const Plan& plan, GiveNothing give_nothing) {
        if (!placer.lies_within) return;
        for (std::size_t j = 0; j < snapshot.jobs.size(); ++j) {
            const std::string& level = snapshot.jobs[j].within;
            if (level.empty() || open.keeps(j)) continue;
            if (!placer.lies_within(placer.part, level, plan.decisions[j].placement))
                give_nothing(j, Verdict{Outcome::waits, "its parts do not lie in one " + level});
        }
    }

    void request(const Snapshot& snapshot, std::size_t j, const Option& option, const OpenNodes& open) {
        const Job& job = snapshot.jobs[j];
        const Configuration& configuration = option.configuration;
        const double needs = needed_seconds(job, option);
        const bool shares = open.shares_nodes(j),
                   pinned = open.keeps(j) || (shares && is_held(snapshot, j, configuration));
        if (configuration.is_single()) {
            PlacementRequest& request = next(job, pinned, shares, needs, j);
            request.part = configuration.first();
            request.current = job.placement;
            return;
        }
        // Each part keeps the nodes that the job holds in the part's pool. If two parts have the same pool,
        // the first one keeps them.
        Placement left = job.placement;
        for (const PoolShare& part : configuration.parts()) {
            PlacementRequest& request = next(job, pinned, shares, needs, j);
            request.part = part;
            request.current.clear();
            std::erase_if(left, [&](const NodeShare& share) {
                if (!is_node_of(snapshot.cluster.nodes[share.node], part)) return false;
                request.current.push_back(share);
                return true;
            });
        }
    }
    PlacementRequest& next(const Job& job, bool pinned, bool shares, double needs, std::size_t j) {
        if (requests_.size() == job_of_.size()) requests_.emplace_back();
        PlacementRequest& request = requests_[job_of_.size()];
        request.move_cost = move_cost(job);
        request.pinned = pinned;
        request.shares_nodes = pinned && shares;
        request.within = job.within;
        request.needs_seconds = needs;
        job_of_.push_back(j);
        return request;
    }

    std::vector<PlacementRequest> requests_;  // those of this round, then unused entries of larger rounds
    std::vector<std::size_t> job_of_;         // by request
    PlacementResult result_;                  // for placers that keep no result
};

}  // namespace goodput::inline v0_1::detail

#endif
