#ifndef GOODPUT_SCHEDULE_DETAIL_LEFTOVERS_HPP
#define GOODPUT_SCHEDULE_DETAIL_LEFTOVERS_HPP

// Withdraws options that found no nodes, and offers free GPUs to waiting jobs. The rows of the allotment
// problem cannot express every constraint on nodes: that all nodes of a job must be in one rack, or that
// jobs with 3 and with 2 GPUs do not always fill nodes with 8. So an option in a valid allotment may find
// no nodes.
//
// 1. The option is withdrawn for the round, and the allotment is solved again, so that no job is stopped or
//    made smaller in favour of a job that then gets no nodes. Options with the same GPUs are also withdrawn
//    from all other jobs that neither got nor hold them: if there is no place for one more set of these
//    GPUs, there is none for another job either. A policy that decides itself what each job gets (a queue)
//    chooses again among the remaining options.
// 2. GPUs that are free in the end are offered to jobs without any: to each job first the GPUs that it
//    held, then those of its most valuable option. This also happens if every option found nodes, because
//    an allotment that is optimal only up to the gap may leave out a job of little worth. It happens again
//    after a station has withdrawn options (concepts.hpp); then the jobs that lost their options come
//    first.

#include <algorithm>
#include <cstddef>
#include <functional>
#include <map>
#include <span>
#include <tuple>
#include <utility>
#include <vector>

#include "goodput/allot/detail/compact.hpp"
#include "goodput/allot/problem.hpp"
#include "goodput/core/detail/clock.hpp"
#include "goodput/core/placement.hpp"
#include "goodput/place/topology.hpp"
#include "goodput/schedule/detail/offers.hpp"
#include "goodput/schedule/detail/open_nodes.hpp"
#include "goodput/schedule/detail/placing.hpp"
#include "goodput/schedule/detail/rows.hpp"
#include "goodput/schedule/joints.hpp"
#include "goodput/schedule/snapshot.hpp"

namespace goodput::inline v0_1::detail {

/// An option that a job was allotted but that found no nodes.
struct Unplaced {
    std::size_t job = 0;
    std::size_t option = 0;
    Verdict why{};
};

/// Options that are withdrawn from a round: in the problem they are worth nothing. It keeps its buffers.
class Withdrawn {
public:
    /// Forgets all options, for the next round.
    void clear() {
        options_.clear();
        first_.clear();
        left_.clear();
    }
    /// The first option of each job that was allotted but found no nodes.
    [[nodiscard]] std::span<const Unplaced> first() const { return first_; }

    /// Withdraws options that found no nodes from the problem. `decisions` are those of the plan that
    /// failed.
    void add(std::span<const Unplaced> unplaced, const Snapshot& snapshot, const Offers& offers, Rows& rows,
             std::span<const Decision> decisions) {
        for (const Unplaced& failed : unplaced) {
            const Configuration& gpus = offers.options_of(failed.job)[failed.option].configuration;
            if (std::none_of(first_.begin(), first_.end(),
                             [&](const Unplaced& known) { return known.job == failed.job; }))
                first_.push_back(failed);
            const bool impossible = failed.why.outcome == Outcome::impossible;
            take_out(rows, offers, failed.job, gpus, impossible);
            rows.problem.set_must(failed.job, false);
            for (std::size_t j = 0; j < decisions.size(); ++j)
                if (snapshot.jobs[j].within == snapshot.jobs[failed.job].within && !rows.problem.must(j) &&
                    !decisions[j].option.configuration.same_gpus(gpus) &&
                    !(rows.held[j] != no_option &&
                      offers.options_of(j)[rows.held[j]].configuration.same_gpus(gpus)))
                    take_out(rows, offers, j, gpus, impossible);
        }
    }
    /// Returns the options of a job. Withdrawn options have goodput 0.
    [[nodiscard]] std::span<const Option> options_of(std::size_t job, const Offers& offers) const {
        const auto left = left_.find(job);
        return left == left_.end() ? offers.options_of(job) : std::span<const Option>(left->second);
    }
    /// Restores the values of withdrawn options. With `impossible`, these are the options for which no
    /// placement could have nodes; otherwise the options whose nodes other jobs have taken.
    void give_back(Rows& rows, bool impossible) const {
        for (const Value& option : options_)
            if (option.impossible == impossible)
                rows.problem.set_value(option.job, option.option, option.value);
    }

private:
    struct Value {
        std::size_t job = 0, option = 0;
        double value = 0;
        bool impossible = false;
    };
    /// Withdraws all options of a job with these GPUs.
    void take_out(Rows& rows, const Offers& offers, std::size_t job, const Configuration& gpus,
                  bool impossible) {
        const std::span<const Option> options = offers.options_of(job);
        for (std::size_t k = 0; k < options.size(); ++k) {
            if (!options[k].configuration.same_gpus(gpus)) continue;
            const double value = rows.problem.value(job, k);
            if (value > 0) options_.push_back({job, k, value, impossible});
            rows.problem.set_value(job, k, std::min(value, 0.0));
            std::vector<Option>& left = left_[job];
            if (left.empty()) left.assign(options.begin(), options.end());
            left[k].goodput = 0;
        }
    }
    std::vector<Value> options_;
    std::vector<Unplaced> first_;
    std::map<std::size_t, std::vector<Option>> left_;  // options by job, for jobs with withdrawn ones
};

/// Gives free GPUs to waiting jobs. It keeps its buffers.
class Leftovers {
public:
    /// Offers free GPUs to jobs without nodes, and calls `give(job, option, placement)` for each job that
    /// gets some. `chosen` has the options of jobs with nodes. `taken_back` has the jobs whose option the
    /// station withdrew. For them, and for the running jobs that a policy has stopped in their favour, any
    /// option that the policy does not forbid is better than nothing. If the station knows the room left on
    /// nodes, options must fit it. Ends when `clock` is late.
    template <class Give>
    void offer(const Snapshot& snapshot, const OpenNodes& open, const Offers& offers, const Rows& rows,
               std::span<const std::size_t> chosen, const PlacerJoint& placer, const Plan& plan,
               std::span<const std::size_t> taken_back, const StationJoint& station, Clock clock, Give give) {
        const AllotmentProblem& problem = rows.problem;
        order_waiting(snapshot, problem, plan, taken_back);
        if (waiting_.empty()) return;
        find_free(snapshot, open, plan);
        if (std::none_of(free_.begin(), free_.end(), [](int gpus) { return gpus > 0; })) return;
        find_left(problem, chosen, plan);
        for (const auto& [was_given, held, value, j] : waiting_) {
            if (clock.late(snapshot.cluster.nodes.size())) break;
            const bool any_option = was_given || (held && !taken_back.empty());
            order_options(problem, offers.options_of(j), j, rows.held[j], any_option);
            for (const std::size_t k : options_) {
                const std::span<const ResourceUse> uses = problem.uses(j, k);
                if (!std::all_of(uses.begin(), uses.end(),
                                 [&](const ResourceUse& use) { return use.units <= left_[use.resource]; }))
                    continue;
                const Configuration& configuration = offers.options_of(j)[k].configuration;
                const auto has_room = [&](const NodeShare& share) {
                    return !station.has_room || station.has_room(station.part, configuration, share);
                };
                const bool keeps = k == rows.held[j] && is_free(snapshot, open, j) &&
                                   std::all_of(snapshot.jobs[j].placement.begin(),
                                               snapshot.jobs[j].placement.end(), has_room);
                if (keeps)
                    placement_ = snapshot.jobs[j].placement;
                else if ((open.shares_nodes(j) && is_held(snapshot, j, configuration)) ||
                         !lay_out(snapshot, open, offers.options_of(j)[k], j, placer, has_room))
                    continue;
                take(snapshot, open, j, placement_);
                if (station.take) station.take(station.part, configuration, placement_);
                for (const ResourceUse& use : uses) left_[use.resource] -= use.units;
                give(j, k, placement_);
                break;
            }
        }
    }

private:
    struct Waiting {
        bool was_given = false;  ///< whether its option was withdrawn by the station
        bool held = false;
        double value = 0;
        std::size_t job = 0;
    };

    void find_free(const Snapshot& snapshot, const OpenNodes& open, const Plan& plan) {
        free_.clear();
        for (const Node& node : snapshot.cluster.nodes) free_.push_back(node.gpus);
        for (std::size_t j = 0; j < plan.decisions.size(); ++j)
            take(snapshot, open, j, plan.decisions[j].placement);
    }
    void find_left(const AllotmentProblem& problem, std::span<const std::size_t> chosen, const Plan& plan) {
        left_.clear();
        for (const double capacity : problem.capacity)
            left_.push_back(capacity + capacity_tolerance(capacity));
        for (std::size_t j = 0; j < plan.decisions.size(); ++j)
            if (!plan.decisions[j].placement.empty())
                for (const ResourceUse& use : problem.uses(j, chosen[j])) left_[use.resource] -= use.units;
    }
    /// Sorts jobs: first those whose option was withdrawn, then running ones, then by the value of the best
    /// option.
    void order_waiting(const Snapshot& snapshot, const AllotmentProblem& problem, const Plan& plan,
                       std::span<const std::size_t> taken_back) {
        waiting_.clear();
        for (std::size_t j = 0; j < plan.decisions.size(); ++j) {
            if (!plan.decisions[j].placement.empty()) continue;
            double most = 0;
            for (const double value : problem.values(j)) most = std::max(most, value);
            const bool was_given = std::binary_search(taken_back.begin(), taken_back.end(), j);
            const bool held = !snapshot.jobs[j].placement.empty();
            // A queue offers nothing to the running job that it stops for one whose option is withdrawn.
            if (most > 0 || was_given || (held && !taken_back.empty()))
                waiting_.push_back({was_given, held, most, j});
        }
        const auto order = [](const Waiting& waiting) {
            return std::tuple(!waiting.was_given, !waiting.held, -waiting.value, waiting.job);
        };
        std::sort(waiting_.begin(), waiting_.end(),
                  [&](const Waiting& a, const Waiting& b) { return order(a) < order(b); });
    }
    /// Sorts options: first the held one, then by value, then by goodput.
    void order_options(const AllotmentProblem& problem, std::span<const Option> options, std::size_t j,
                       std::size_t held, bool any_option) {
        options_.clear();
        for (std::size_t k = 0; k < options.size(); ++k)
            if (problem.value(j, k) > 0 || (any_option && problem.value(j, k) == 0 && options[k].goodput > 0))
                options_.push_back(k);
        const auto order = [&](std::size_t k) {
            return std::tuple(k != held, -problem.value(j, k), -options[k].goodput, k);
        };
        std::sort(options_.begin(), options_.end(),
                  [&](std::size_t a, std::size_t b) { return order(a) < order(b); });
    }

    /// A job over several nodes of a pool takes all their GPUs, unless it stays on nodes that it shares.
    static int taken_on(const Snapshot& snapshot, const OpenNodes& open, std::size_t j,
                        const Placement& placement, const NodeShare& share) {
        const bool shares = open.shares_nodes(j) && placement == snapshot.jobs[j].placement;
        return !shares && open.is_spread(placement, share) ? snapshot.cluster.nodes[share.node].gpus
                                                           : share.gpus;
    }
    void take(const Snapshot& snapshot, const OpenNodes& open, std::size_t j, const Placement& placement) {
        for (const NodeShare& share : placement)
            free_[share.node] =
                std::max(free_[share.node] - taken_on(snapshot, open, j, placement, share), 0);
    }
    /// Whether no other job has the GPUs that a job holds.
    [[nodiscard]] bool is_free(const Snapshot& snapshot, const OpenNodes& open, std::size_t j) const {
        const Placement& held = snapshot.jobs[j].placement;
        return !held.empty() && std::all_of(held.begin(), held.end(), [&](const NodeShare& share) {
            return taken_on(snapshot, open, j, held, share) <= free_[share.node];
        });
    }

    /// Finds nodes, and writes them to placement_.
    template <class HasRoom>
    bool lay_out(const Snapshot& snapshot, const OpenNodes& open, const Option& option, std::size_t j,
                 const PlacerJoint& placer, HasRoom has_room) {
        const std::string& within = snapshot.jobs[j].within;
        const auto lies_within = [&](const Placement& placement) {
            return !placer.lies_within || within.empty() ||
                   placer.lies_within(placer.part, within, placement);
        };
        // Nodes of one domain have the same number. If the job may be anywhere, all nodes have.
        const TopologyLevel* level =
            placer.topology ? find_level(placer.topology(placer.part), within) : nullptr;
        const auto domain_of = [&](std::size_t node) {
            if (level) return level->domain_of[node];
            if (within.empty()) return std::size_t{0};
            std::size_t first = 0;
            while (first < node && !lies_within({{first, 1}, {node, 1}})) ++first;
            return first;
        };
        const double needs = needed_seconds(snapshot.jobs[j], option);
        const auto stays = [&](std::size_t node) {
            return std::min(snapshot.cluster.nodes[node].leaves_seconds, needs);
        };
        placement_.clear();
        for (const PoolShare& part : option.configuration.parts()) {
            const std::size_t pool = find_pool(open.pools_for(snapshot.jobs[j]), part);
            if (pool == open.pools().size() ||
                !lay_out(open.pools()[pool].nodes, part, domain_of, has_room, stays))
                return false;
        }
        std::sort(placement_.begin(), placement_.end());
        return lies_within(placement_);
    }
    /// Finds nodes for one part. `stays(node)` returns the seconds for which the job can use the node.
    template <class DomainOf, class HasRoom, class Stays>
    bool lay_out(std::span<const std::size_t> nodes, const PoolShare& part, DomainOf domain_of,
                 HasRoom has_room, Stays stays) {
        const auto is_taken = [&](std::size_t node) {
            return std::any_of(placement_.begin(), placement_.end(),
                               [&](const NodeShare& share) { return share.node == node; });
        };
        if (part.shape.nodes == 1) {
            // Among the nodes that stay longest, take the fullest one that has room.
            const std::size_t* best = nullptr;
            const auto order = [&](std::size_t node) { return std::pair(-stays(node), free_[node]); };
            for (const std::size_t& node : nodes)
                if (free_[node] >= part.shape.gpus && (!best || order(node) < order(*best)) &&
                    !is_taken(node) && has_room(NodeShare{node, part.shape.gpus}))
                    best = &node;
            if (!best) return false;
            placement_.push_back({*best, part.shape.gpus});
            return true;
        }
        // Nodes that stay longer come first.
        if (std::ranges::any_of(nodes,
                                [&](std::size_t node) { return stays(node) != stays(nodes.front()); })) {
            by_stay_.assign(nodes.begin(), nodes.end());
            std::ranges::stable_sort(by_stay_, std::ranges::greater(), stays);
            nodes = by_stay_;
        }
        // No node of a part can have more GPUs of the job than this.
        const int most = std::min(part.gpus_per_node, part.shape.gpus - part.shape.nodes + 1);
        std::map<std::size_t, Placement> found;  // by domain
        for (const std::size_t node : nodes) {
            if (free_[node] < part.gpus_per_node || is_taken(node) || !has_room(NodeShare{node, most}))
                continue;
            Placement& spread = found[domain_of(node)];
            spread.push_back({node, 0});
            if (spread.size() < static_cast<std::size_t>(part.shape.nodes)) continue;
            fill_whole_nodes(part, spread);
            placement_.insert(placement_.end(), spread.begin(), spread.end());
            return true;
        }
        return false;
    }

    std::vector<int> free_;     // by node
    std::vector<double> left_;  // by row; includes the tolerance for rounding
    std::vector<Waiting> waiting_;
    std::vector<std::size_t> options_;
    std::vector<std::size_t> by_stay_;  // nodes
    Placement placement_;
};

}  // namespace goodput::inline v0_1::detail

#endif
