#ifndef GOODPUT_PARALLEL_DETAIL_CHAIN_COLUMNS_HPP
#define GOODPUT_PARALLEL_DETAIL_CHAIN_COLUMNS_HPP

// Where the stages of a chain lie at best, pipeline by pipeline. The zones of one pipeline's stages are a
// column; replicas side by side are a walk from column to column. Seconds depend only on which messages and
// which neighbours there are, not on how many: so all limits on the seconds of each boundary's messages and
// of the gradients are gone through, and for each it is asked whether the columns within them suffice. Where
// they may, a walk is looked for; where none is found, the chain stays open at these seconds.

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

namespace goodput::detail {

/// Lays out chains whose stages are of one class each, where they have few columns.
class ChainColumns {
public:
    ChainColumns(const LayeredModel& model, const ParallelConstants& constants) : tables_(model, constants) {}

    /// Seconds that plans of the chain in the division's region take at least, without updates, but for those
    /// that `leave_out(seconds)` answers true for and those no faster than a plan for which
    /// `visit(plan, seconds)` answered true; never where there are no others, 0 where nothing is known.
    template <class LeaveOut, class Visit, class Stop>
    [[nodiscard]] double least_seconds(const BatchDivision& division, const Chain& chain, int global_batch,
                                       LeaveOut leave_out, Visit visit, Stop& stop) {
        if (!tables_.begin(division, chain)) return 0;
        repeats_ = division.repeats;
        seconds_ = tables_.seconds();
        plan_.microbatch = division.common->tables.microbatch();
        plan_.global_batch = global_batch;
        // Gradients take so long that there is a walk at all.
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
            if (left <= 0 || limited_.size() > most_limits || stop()) return std::min(open, seconds);
            queue_.pop();
            if (behind > 0) {
                limit_messages(which);
                continue;
            }
            std::size_t next = reduce;
            while (next < seconds_.size() && !tables_.may_suffice(limited_[which].within, seconds_[next]))
                ++next;
            if (next == reduce) {
                // The first that stays open is the bound: it is worth more steps than plans behind it.
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

    /// Limits on the messages behind the first stages, and the columns that are within them.
    struct Limited {
        double here = 0;     // seconds of the next stage without its sending on
        std::size_t s = 0;   // that stage
        double largest = 0;  // seconds of the largest stage before it
        double sum = 0;      // seconds of all stages before it
        std::vector<bool> within{};
    };
    /// What is tried next: seconds in all at least, how many boundaries have no limits yet, which limits
    /// those before have, which limit gradients have.
    using Try = std::tuple<double, std::size_t, std::size_t, std::size_t>;

    /// Tries limits later, with what they come to.
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
    /// Tries all limits for the messages of one boundary more.
    void limit_messages(std::size_t which) {
        const std::size_t s = limited_[which].s, count = tables_.stages().size();
        for (const auto& [forward, backward] : tables_.stages()[s].limits) {
            const Limited& before = limited_[which];
            const double mine = before.here + forward * forward_weight(s, count);
            const double returned = backward * backward_weight(s + 1, count);
            Limited next{tables_.stages()[s + 1].compute + returned, s + 1, std::max(before.largest, mine),
                         before.sum + mine, before.within};
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

    /// Finds a walk of as many columns as there are replicas, for the runs last set, and sets the plan to it.
    /// Where it finds none with steps left, there is none.
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
            // Stages rather stay where they are, and otherwise go where most GPUs are left.
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
    /// Takes a column's GPUs; false, and nothing taken, where they do not suffice.
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

    ColumnTables tables_;
    double repeats_ = 0;
    std::vector<double> seconds_{};  // that gradients may take
    std::vector<Limited> limited_{};
    std::priority_queue<Try, std::vector<Try>, std::greater<>> queue_{};
    int steps_left_ = 0;
    std::vector<std::vector<int>> left_{};
    std::set<std::vector<int>> dead_ends_{};  // column, GPUs left
    std::vector<std::size_t> path_{};
    ParallelPlan plan_{};
};

}  // namespace goodput::detail

#endif
