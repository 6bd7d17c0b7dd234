#ifndef GOODPUT_PARALLEL_DETAIL_CHAIN_COLUMNS_HPP
#define GOODPUT_PARALLEL_DETAIL_CHAIN_COLUMNS_HPP

// Finds the best zones for the stages of a chain, pipeline by pipeline. A chain is a class of replicas (GPU
// type and tensor-parallel degree) for each stage. A column holds the zones of one pipeline's stages, and a
// walk from column to column gives the zones of all replicas. The seconds depend only on which messages and
// neighbours occur, not on how often. So the search tries all limits on the seconds of each boundary's
// messages and of gradient reduction, and asks for each whether the columns within the limits can suffice.
// If they can, it looks for a walk. If it finds none, the chain stays open, that is, a plan with these
// seconds is neither found nor ruled out.

#include <algorithm>
#include <cstddef>
#include <functional>
#include <queue>
#include <set>
#include <tuple>
#include <utility>
#include <vector>

#include "goodput/parallel/detail/column_tables.hpp"
#include "goodput/parallel/parallel_plan.hpp"

namespace goodput::inline v0_1::detail {

/// Lays out chains whose stages are of one class each, if they have few columns.
class ChainColumns {
public:
    /// The caller keeps the task alive.
    explicit ChainColumns(const PlanTask& task) : task_(task) {}

    /// Returns a lower bound on the seconds, without updates, of the chain's plans in the division's
    /// region. Plans for which `leave_out(seconds)` returns true do not count, nor plans no faster than one
    /// for which `visit(plan, seconds)` returned true. Returns `never` if no other plans exist, and 0 if
    /// nothing is known.
    template <class LeaveOut, class Visit>
    [[nodiscard]] double least_seconds(const BatchDivision& division, const ZonedChain& chain,
                                       LeaveOut leave_out, Visit visit) {
        if (!tables_.begin(division, chain)) return 0;
        repeats_ = division.repeats;
        seconds_ = tables_.seconds();
        plan_.microbatch = division.common->tables.microbatch();
        plan_.global_batch = task_.question.global_batch;
        // Start with the smallest limit on gradient reduction for which any walk exists.
        const std::vector<bool> all(tables_.columns().size(), true);
        auto least = seconds_.begin();
        for (; least != seconds_.end(); ++least) {
            if (!tables_.may_suffice(all, *least)) continue;
            if (find_walk(all, *least, most_steps)) visit(plan_, never);
            if (!path_.empty() || steps_left_ == 0) break;
        }
        seconds_.erase(seconds_.begin(), least);
        if (seconds_.empty()) return never;
        limited_.clear();
        queue_ = {};
        put(Limited{tables_.stages()[0].compute, 0, 0, 0, all}, 0);
        double open = never;
        for (int left = most_steps_in_all; !queue_.empty();) {
            const auto [seconds, behind, which, reduce] = queue_.top();
            if (leave_out(seconds)) return open;
            if (left <= 0 || limited_.size() > most_limits || task_.stop()) return std::min(open, seconds);
            queue_.pop();
            if (behind > 0) {
                limit_messages(which);
                continue;
            }
            std::size_t next = reduce;
            while (next < seconds_.size() && !tables_.may_suffice(limited_[which].within, seconds_[next]))
                ++next;
            if (next == reduce) {
                // The first chain that stays open sets the bound, so it is worth more steps than those
                // behind it.
                const int steps = open < never ? most_steps : 10 * most_steps;
                const bool found = find_walk(limited_[which].within, seconds_[next], steps);
                left -= steps - steps_left_ + 100;
                if (found && visit(plan_, seconds)) return open;  // all others take longer
                if (found || steps_left_ == 0) open = std::min(open, seconds);
                ++next;
            }
            if (next < seconds_.size())
                queue_.emplace(seconds - seconds_[reduce] + seconds_[next], behind, which, next);
        }
        return open;
    }

private:
    static constexpr int most_steps = 2000, most_steps_in_all = 1000000;
    static constexpr std::size_t most_limits = 20000;

    /// Limits on the messages of the first boundaries, and the columns within them.
    struct Limited {
        double here = 0;     // seconds of stage s without its sending on
        std::size_t s = 0;   // the stage behind the limited boundaries
        double largest = 0;  // seconds of the largest stage before it
        double sum = 0;      // seconds of all stages before it
        std::vector<bool> within{};
    };
    /// An entry of the queue: a lower bound on the seconds, the number of boundaries without limits, the
    /// index of the limits on the boundaries before them, and the index of the limit on gradient reduction.
    using Try = std::tuple<double, std::size_t, std::size_t, std::size_t>;

    /// Queues limits with their lower bound on the seconds.
    void put(Limited limited, std::size_t reduce) {
        double largest = std::max(limited.largest, limited.here), sum = limited.sum + limited.here;
        for (std::size_t t = limited.s + 1; t < tables_.stages().size(); ++t) {
            sum += tables_.stages()[t].compute;
            largest = std::max(largest, tables_.stages()[t].compute);
        }
        queue_.emplace(repeats_ * largest + sum + seconds_[reduce], tables_.stages().size() - 1 - limited.s,
                       limited_.size(), reduce);
        limited_.push_back(std::move(limited));
    }
    /// Tries all limits on the messages of the next boundary.
    void limit_messages(std::size_t which) {
        const std::size_t s = limited_[which].s, count = tables_.stages().size();
        for (const auto& [forward, backward] : tables_.limits(s)) {
            const Limited& before = limited_[which];
            const double sending = before.here + forward * forward_weight(s, count);
            const double returned = backward * backward_weight(s + 1, count);
            Limited next{tables_.stages()[s + 1].compute + returned, s + 1, std::max(before.largest, sending),
                         before.sum + sending, before.within};
            bool any = false;
            for (std::size_t c = 0; c < tables_.columns().size(); ++c) {
                const std::size_t at =
                    tables_.columns()[c][s] * tables_.zones().size() + tables_.columns()[c][s + 1];
                if (tables_.stages()[s].forward[at] > forward || tables_.stages()[s].backward[at] > backward)
                    next.within[c] = false;
                any = any || next.within[c];
            }
            if (any) put(std::move(next), 0);
        }
    }

    /// Looks for a walk of one column per replica, for the runs last set, and sets the plan to it. If it
    /// finds none and steps are left, there is none.
    bool find_walk(const std::vector<bool>& within, double most, int steps) {
        steps_left_ = steps;
        dead_ends_.clear();
        for (std::size_t start = 0; start < tables_.columns().size(); ++start) {
            if (!within[start]) continue;
            left_ = tables_.cluster().gpus;
            path_.clear();
            if (extend(start, within, most)) {
                make_plan();
                return true;
            }
        }
        return false;
    }
    bool extend(std::size_t column, const std::vector<bool>& within, double most) {
        if (steps_left_ == 0 || !take(column)) return false;
        --steps_left_;
        path_.push_back(column);
        const long long missing = tables_.replicas() - static_cast<long long>(path_.size());
        if (missing == 0) return true;
        std::vector<int> here{static_cast<int>(column)};
        for (const std::size_t zone : tables_.zones())
            here.insert(here.end(), left_[zone].begin(), left_[zone].end());
        const auto visits = [&](std::size_t s, std::size_t set) {
            return tables_.most_visits(s, set, missing);
        };
        if (dead_ends_.insert(std::move(here)).second && tables_.has_room(left_, missing, visits)) {
            // Try columns first in which few stages move, then those whose zones have the most GPUs left.
            std::vector<std::tuple<std::size_t, int, std::size_t>> next;
            for (std::size_t c = 0; c < tables_.columns().size(); ++c) {
                if (!within[c] || tables_.step(column, c) > most) continue;
                std::size_t moved = 0;
                int free = 0;
                for (std::size_t s = 0; s < tables_.stages().size(); ++s) {
                    moved += tables_.columns()[c][s] != tables_.columns()[column][s] ? 1U : 0U;
                    free += left_[tables_.zones()[tables_.columns()[c][s]]][tables_.stages()[s].gpu_type];
                }
                next.emplace_back(moved, -free, c);
            }
            std::sort(next.begin(), next.end());
            for (const auto& [moved, free, c] : next)
                if (extend(c, within, most)) return true;
        }
        path_.pop_back();
        give(column);
        return false;
    }
    /// Takes a column's GPUs. Returns false and takes nothing if there are too few.
    bool take(std::size_t column) {
        bool enough = true;
        for (std::size_t s = 0; s < tables_.stages().size(); ++s) {
            int& left = left_[tables_.zones()[tables_.columns()[column][s]]][tables_.stages()[s].gpu_type];
            left -= tables_.stages()[s].tensor_parallel;
            enough = enough && left >= 0;
        }
        if (!enough) give(column);
        return enough;
    }
    void give(std::size_t column) {
        for (std::size_t s = 0; s < tables_.stages().size(); ++s)
            left_[tables_.zones()[tables_.columns()[column][s]]][tables_.stages()[s].gpu_type] +=
                tables_.stages()[s].tensor_parallel;
    }
    void make_plan() {
        plan_.stages.clear();
        for (std::size_t s = 0; s < tables_.stages().size(); ++s) {
            PlanStage& stage = plan_.stages.emplace_back();
            stage.first_layer = tables_.stages()[s].begin;
            stage.last_layer = tables_.stages()[s].end - 1;
            for (const std::size_t column : path_) {
                const std::size_t zone = tables_.zones()[tables_.columns()[column][s]];
                if (!stage.replicas.empty() && stage.replicas.back().zone == zone)
                    ++stage.replicas.back().count;
                else
                    stage.replicas.push_back(
                        {tables_.stages()[s].gpu_type, tables_.stages()[s].tensor_parallel, zone, 1});
            }
        }
    }

    const PlanTask& task_;
    ColumnTables tables_{};
    double repeats_ = 0;
    std::vector<double> seconds_{};  // limits on gradient reduction to try
    std::vector<Limited> limited_{};
    std::priority_queue<Try, std::vector<Try>, std::greater<>> queue_{};
    int steps_left_ = 0;
    std::vector<std::vector<int>> left_{};
    std::set<std::vector<int>> dead_ends_{};  // column, GPUs left
    std::vector<std::size_t> path_{};
    ParallelPlan plan_{};
};

}  // namespace goodput::inline v0_1::detail

#endif
