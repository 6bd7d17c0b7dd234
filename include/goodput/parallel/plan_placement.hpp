#ifndef GOODPUT_PARALLEL_PLAN_PLACEMENT_HPP
#define GOODPUT_PARALLEL_PLAN_PLACEMENT_HPP

// Chooses on which of a job's nodes each replica of each stage runs. A tensor-parallel group lies within a
// node. Replicas of a stage reduce their gradients together, so they should lie on few nodes. The search
// minimises the number of nodes per stage, summed over the stages. Among equals, it puts replica j of a
// stage on the node of replica j of the previous stage as often as possible, because their message then
// stays within a node.

#include <algorithm>
#include <cstddef>
#include <limits>
#include <numeric>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "goodput/core/placement.hpp"
#include "goodput/parallel/parallel_plan.hpp"

namespace goodput::inline v0_1 {

/// The place of a cluster's GPU type in the description of a ParallelCluster.
struct PlanHome {
    std::size_t zone = 0;      ///< index into ParallelCluster::zones
    std::size_t gpu_type = 0;  ///< index into ParallelCluster::types
    /// Whether both are equal.
    friend bool operator==(const PlanHome&, const PlanHome&) = default;
};

/// The nodes of a plan's replicas.
struct PlanPlacement {
    std::vector<std::vector<std::size_t>> nodes{};  ///< by stage, then replica: index into Cluster::nodes
    int stage_nodes = 0;                            ///< number of nodes per stage, summed over the stages
    int sends_beside = 0;                           ///< replicas that send to a replica on another node
    bool proven = false;                            ///< no placement has fewer stage_nodes
};

/// Places a plan on the nodes of a job's placement. `home(gpu_type)` says where a GPU type of the cluster
/// is in the plan's description (std::optional<PlanHome>; LargeModels::home_of). After `most_steps` steps,
/// the search ends with a good result that is not proven. Returns nothing if the plan's groups do not fit
/// these nodes. What a Scheduler places for ParallelPlans always fits.
template <class HomeOf>
[[nodiscard]] std::optional<PlanPlacement> place_plan(const ParallelPlan& plan, const Placement& placement,
                                                      const Cluster& cluster, HomeOf home,
                                                      std::size_t most_steps = 20000);

namespace detail {

/// Places one plan.
class PlanLayout {
public:
    template <class HomeOf>
    PlanLayout(const ParallelPlan& plan, const Placement& placement, const Cluster& cluster, HomeOf home,
               std::size_t most_steps)
        : plan_(plan), steps_(most_steps) {
        for (const NodeShare& share : placement) {
            const std::optional<PlanHome> at = home(cluster.nodes[share.node].gpu_type);
            if (at) places_.push_back({share.node, *at, share.gpus, share.gpus});
        }
        for (std::size_t s = 0; s < plan.stages.size(); ++s) {
            int replica = 0;
            for (const ReplicaGroup& group : plan.stages[s].replicas) {
                items_.push_back(
                    {s, replica, {group.zone, group.gpu_type}, group.tensor_parallel, group.count});
                replica += group.count;
            }
            counts_.emplace_back(places_.size());
        }
        find_least();
    }

    std::optional<PlanPlacement> find() {
        fill();
        placed_.assign(items_.size(), std::vector<int>(places_.size()));
        for (Place& place : places_) place.free = place.gpus;
        for (auto& of_stage : counts_) std::fill(of_stage.begin(), of_stage.end(), 0);
        search(0, 0);
        if (best_ && steps_ > 0) best_->proven = true;
        return std::move(best_);
    }

private:
    struct Place {
        std::size_t node = 0;
        PlanHome home{};
        int gpus = 0, free = 0;
    };
    struct Item {
        std::size_t stage = 0;
        int first = 0;  // replica
        PlanHome home{};
        int degree = 1, count = 0;
    };

    /// Computes, for each item, how many nodes it and all later items need at least.
    void find_least() {
        least_.assign(items_.size() + 1, 0);
        for (std::size_t i = items_.size(); i-- > 0;) {
            least_[i] = least_[i + 1];
            // Groups of one stage may share nodes.
            if (i > 0 && items_[i - 1].stage == items_[i].stage) continue;
            int largest = 1;
            for (const Place& place : places_)
                if (place.home == items_[i].home) largest = std::max(largest, place.gpus);
            const int gpus = items_[i].degree * items_[i].count;
            least_[i] += (gpus + largest - 1) / largest;
        }
    }

    /// Places the largest degrees first, each group on the node with the tightest fit, or else on the one
    /// with the most room. This finds nodes for all groups if degrees divide one another and the nodes.
    void fill() {
        placed_.assign(items_.size(), std::vector<int>(places_.size()));
        std::vector<std::size_t> order(items_.size());
        std::iota(order.begin(), order.end(), std::size_t{0});
        std::stable_sort(order.begin(), order.end(),
                         [&](std::size_t a, std::size_t b) { return items_[a].degree > items_[b].degree; });
        for (const std::size_t i : order) {
            const Item& item = items_[i];
            for (int left = item.count; left > 0;) {
                std::size_t best = places_.size();
                std::pair<int, int> cost{};
                for (std::size_t k = 0; k < places_.size(); ++k) {
                    const int room = room_for(item, k);
                    if (room == 0) continue;
                    // Prefer nodes that the stage already uses, then the tightest that holds all, then the
                    // largest.
                    const std::pair here{counts_[item.stage][k] > 0 ? 0 : 1,
                                         room >= left ? places_[k].free : (1 << 24) - room};
                    if (best == places_.size() || here < cost) {
                        best = k;
                        cost = here;
                    }
                }
                if (best == places_.size()) return;
                const int some = std::min(left, room_for(item, best));
                put(i, best, some);
                left -= some;
            }
        }
        keep();
    }

    void search(std::size_t i, int cost) {
        if (best_ && cost + least_[i] > best_->stage_nodes) return;
        if (i == items_.size()) {
            keep();
            return;
        }
        spread(i, 0, items_[i].count, cost);
    }
    /// Tries all ways to put `left` replicas of an item on the places from k on.
    void spread(std::size_t i, std::size_t k, int left, int cost) {
        if (steps_ == 0) return;
        --steps_;
        if (left == 0) {
            search(i + 1, cost);
            return;
        }
        if (k == places_.size()) return;
        if (best_ && cost + least_[i + 1] > best_->stage_nodes) return;
        const Item& item = items_[i];
        int most = std::min(left, room_for(item, k));
        // Among equal untouched nodes, the earlier ones take more.
        if (k > 0 && most > 0 && untouched(k) && places_[k - 1].home == places_[k].home &&
            places_[k - 1].gpus == places_[k].gpus &&
            places_[k - 1].free + placed_[i][k - 1] * item.degree == places_[k - 1].gpus)
            most = std::min(most, placed_[i][k - 1]);
        for (int some = most; some >= 0; --some) {
            const int more = some > 0 && counts_[item.stage][k] == 0 ? 1 : 0;
            put(i, k, some);
            spread(i, k + 1, left - some, cost + more);
            put(i, k, -some);
        }
    }
    [[nodiscard]] bool untouched(std::size_t k) const { return places_[k].free == places_[k].gpus; }
    [[nodiscard]] int room_for(const Item& item, std::size_t k) const {
        return places_[k].home == item.home ? places_[k].free / item.degree : 0;
    }
    void put(std::size_t i, std::size_t k, int replicas) {
        places_[k].free -= replicas * items_[i].degree;
        placed_[i][k] += replicas;
        counts_[items_[i].stage][k] += replicas;
    }

    /// Keeps the layout if it is the best so far.
    void keep() {
        PlanPlacement layout;
        std::vector<std::vector<std::size_t>> places(plan_.stages.size());  // by stage, then replica
        for (std::size_t s = 0; s < plan_.stages.size(); ++s) {
            for (const int count : counts_[s]) layout.stage_nodes += count > 0 ? 1 : 0;
            places[s].assign(static_cast<std::size_t>(plan_.stages[s].replica_count()), places_.size());
        }
        if (best_ && layout.stage_nodes > best_->stage_nodes) return;
        for (std::size_t i = 0; i < items_.size(); ++i) {
            const Item& item = items_[i];
            std::vector<int> left = placed_[i];
            const auto first = static_cast<std::size_t>(item.first),
                       last = first + static_cast<std::size_t>(item.count);
            auto& stage_places = places[item.stage];
            // Use the nodes of the previous stage as far as possible.
            for (std::size_t j = first; item.stage > 0 && j < last; ++j) {
                const auto& before = places[item.stage - 1];
                if (j < before.size() && left[before[j]] > 0) {
                    stage_places[j] = before[j];
                    --left[before[j]];
                }
            }
            std::size_t k = 0;
            for (std::size_t j = first; j < last; ++j) {
                if (stage_places[j] != places_.size()) continue;
                while (left[k] == 0) ++k;
                stage_places[j] = k;
                --left[k];
            }
        }
        for (std::size_t s = 1; s < places.size(); ++s)
            for (std::size_t j = 0; j < places[s].size() && j < places[s - 1].size(); ++j)
                layout.sends_beside += places[s][j] != places[s - 1][j] ? 1 : 0;
        if (best_ && std::pair{layout.stage_nodes, layout.sends_beside} >=
                         std::pair{best_->stage_nodes, best_->sends_beside})
            return;
        for (const auto& of_stage : places) {
            auto& nodes = layout.nodes.emplace_back();
            for (const std::size_t k : of_stage) nodes.push_back(places_[k].node);
        }
        best_ = std::move(layout);
    }

    const ParallelPlan& plan_;
    std::size_t steps_;
    std::vector<Place> places_;
    std::vector<Item> items_;
    std::vector<int> least_;
    std::vector<std::vector<int>> placed_;  // by item, then place: replicas
    std::vector<std::vector<int>> counts_;  // by stage, then place: replicas
    std::optional<PlanPlacement> best_;
};

}  // namespace detail

template <class HomeOf>
std::optional<PlanPlacement> place_plan(const ParallelPlan& plan, const Placement& placement,
                                        const Cluster& cluster, HomeOf home, std::size_t most_steps) {
    return detail::PlanLayout(plan, placement, cluster, home, most_steps).find();
}

}  // namespace goodput::inline v0_1

#endif
