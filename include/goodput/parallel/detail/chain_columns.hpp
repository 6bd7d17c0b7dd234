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

#include "goodput/parallel/detail/search_box.hpp"

namespace goodput::detail {

/// Lays out chains whose stages are of one class each, where they have few columns.
class ChainColumns {
public:
    ChainColumns(const LayeredModel& model, const ParallelConstants& constants)
        : model_(model), constants_(constants) {}

    /// Seconds that plans of the chain in the division's region take at least, without updates, but for those
    /// that `leave_out(seconds)` answers true for and those no faster than a plan for which
    /// `visit(plan, seconds)` answered true; never where there are no others, 0 where nothing is known.
    template <class LeaveOut, class Visit>
    [[nodiscard]] double least_seconds(const BatchDivision& division, const Chain& chain, int global_batch,
                                       LeaveOut leave_out, Visit visit) {
        if (!begin(division, chain)) return 0;
        plan_.microbatch = division.common->tables.microbatch();
        plan_.global_batch = global_batch;
        // Gradients take so long that there is a walk at all.
        const std::vector<bool> all(columns_.size(), true);
        auto least = seconds_.begin();
        for (; least != seconds_.end(); ++least) {
            if (!may_suffice(all, *least)) continue;
            if (find_walk(all, *least)) visit(plan_, never);
            if (!path_.empty() || steps_left_ == 0) break;
        }
        seconds_.erase(seconds_.begin(), least);
        if (seconds_.empty()) return never;
        limited_.clear();
        queue_ = {};
        put(Limited{stages_[0].compute, 0, 0, 0, all}, 0);
        double open = never;
        for (int left = most_tries; !queue_.empty();) {
            const auto [seconds, behind, which, reduce] = queue_.top();
            if (leave_out(seconds)) return open;
            if (left == 0 || limited_.size() > most_limits) return std::min(open, seconds);
            queue_.pop();
            if (behind > 0) {
                limit_messages(which);
                continue;
            }
            std::size_t next = reduce;
            while (next < seconds_.size() && !may_suffice(limited_[which].within, seconds_[next])) ++next;
            if (next == reduce) {
                --left;
                const bool found = find_walk(limited_[which].within, seconds_[next]);
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
    static constexpr std::size_t most_columns = 128, most_zones = 6;
    static constexpr int most_replicas = 1024, most_tries = 400, most_steps = 5000;
    static constexpr std::size_t most_limits = 20000;

    struct Stage {
        std::size_t begin = 0, end = 0, gpu_type = 0;
        int tensor_parallel = 1;
        double compute = 0;
        std::vector<double> reduce{};                     // by zone, then zone of the next replica
        std::vector<double> forward{}, backward{};        // to the next stage and back, by zone and its zone
        std::vector<std::pair<double, double>> limits{};  // on both that are worth a look
    };

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

    [[nodiscard]] std::size_t zones() const { return zones_.size(); }

    bool begin(const BatchDivision& division, const Chain& chain) {
        cluster_ = &division.region().cluster;
        replicas_ = division.replicas;
        repeats_ = division.repeats;
        zones_.clear();
        for (std::size_t z = 0; z < cluster_->zones.size(); ++z)
            if (std::any_of(cluster_->gpus[z].begin(), cluster_->gpus[z].end(),
                            [](int gpus) { return gpus > 0; }))
                zones_.push_back(z);
        if (zones() < 2 || zones() > most_zones || replicas_ > most_replicas) return false;
        const StageTables& tables = division.common->tables;
        stages_.clear();
        std::size_t first = 0;
        for (std::size_t s = 0; s < chain.ends.size(); ++s) {
            const StageClass& its = tables.classes()[chain.classes[s]];
            Stage stage{first, chain.ends[s], its.gpu_type, its.tensor_parallel};
            stage.compute = tables.compute(chain.classes[s], first, chain.ends[s]);
            add_links(stage, its);
            if (s + 1 < chain.ends.size())
                add_messages(stage, its, tables.classes()[chain.classes[s + 1]], tables.microbatch());
            stages_.push_back(std::move(stage));
            first = chain.ends[s];
        }
        columns_.clear();
        std::vector<std::size_t> column;
        if (!add_columns(division, column)) return false;
        add_steps();
        return !columns_.empty() && !seconds_.empty();
    }

    void add_links(Stage& stage, const StageClass& its) const {
        double bytes = 0;
        for (std::size_t l = stage.begin; l < stage.end; ++l)
            bytes += model_.sizes.at(1)[l].parameters * model_.bytes_per_float;
        bytes /= std::min(its.tensor_parallel, constants_.most_shards);
        for (const std::size_t a : zones_)
            for (const std::size_t b : zones_) {
                const BandwidthCurve* const link = cluster_->link({a, its.gpu_type, 1}, {b, its.gpu_type, 1});
                stage.reduce.push_back(replicas_ == 1 ? 0
                                       : link == nullptr
                                           ? never
                                           : reduce_seconds(bytes, replicas_, *link, constants_));
            }
    }
    void add_messages(Stage& stage, const StageClass& from, const StageClass& to, int microbatch) const {
        const double per_float = model_.bytes_per_float * microbatch;
        const double there =
            (*model_.sizes_of(from.tensor_parallel))[stage.end - 1].output_floats * per_float;
        const double back = (*model_.sizes_of(to.tensor_parallel))[stage.end].output_floats * per_float;
        for (const std::size_t a : zones_)
            for (const std::size_t b : zones_) {
                const LinkEnd sender{a, from.gpu_type, from.tensor_parallel};
                const LinkEnd receiver{b, to.gpu_type, to.tensor_parallel};
                stage.forward.push_back(message_seconds(there, cluster_->link(sender, receiver), constants_));
                stage.backward.push_back(message_seconds(back, cluster_->link(receiver, sender), constants_));
            }
        // Limits that some messages reach.
        for (const double forward : stage.forward)
            for (const double backward : stage.backward) {
                double most = 0, most_back = 0;
                for (std::size_t i = 0; i < stage.forward.size(); ++i)
                    if (stage.forward[i] <= forward && stage.backward[i] <= backward) {
                        most = std::max(most, stage.forward[i]);
                        most_back = std::max(most_back, stage.backward[i]);
                    }
                if (most == forward && most_back == backward && forward + backward < never)
                    stage.limits.emplace_back(forward, backward);
            }
        std::sort(stage.limits.begin(), stage.limits.end(), [](const auto& a, const auto& b) {
            return std::tuple(a.first + a.second, a.first) < std::tuple(b.first + b.second, b.first);
        });
        stage.limits.erase(std::unique(stage.limits.begin(), stage.limits.end()), stage.limits.end());
    }

    /// All columns that a plan in the region may have; false where they are too many.
    bool add_columns(const BatchDivision& division, std::vector<std::size_t>& column) {
        if (column.size() == stages_.size()) {
            columns_.push_back(column);
            return columns_.size() <= most_columns;
        }
        const std::size_t s = column.size();
        for (std::size_t z = 0; z < zones(); ++z) {
            if (cluster_->gpus[zones_[z]][stages_[s].gpu_type] < stages_[s].tensor_parallel) continue;
            if (division.crossing == ZoneCrossing::gradients && s > 0 &&
                division.region().crosses(zones_[column[0]], zones_[z]))
                continue;
            if (s > 0 && stages_[s - 1].forward[column[s - 1] * zones() + z] +
                                 stages_[s - 1].backward[column[s - 1] * zones() + z] ==
                             never)
                continue;
            column.push_back(z);
            const bool few = add_columns(division, column);
            column.pop_back();
            if (!few) return false;
        }
        return true;
    }
    void add_steps() {
        const std::size_t count = columns_.size();
        step_.assign(count * count, 0);
        for (std::size_t a = 0; a < count; ++a)
            for (std::size_t b = 0; b < count; ++b)
                for (std::size_t s = 0; s < stages_.size(); ++s)
                    step_[a * count + b] = std::max(
                        step_[a * count + b], stages_[s].reduce[columns_[a][s] * zones() + columns_[b][s]]);
        seconds_.assign(step_.begin(), step_.end());
        if (replicas_ == 1) seconds_.assign(1, 0);
        std::sort(seconds_.begin(), seconds_.end());
        seconds_.erase(std::unique(seconds_.begin(), seconds_.end()), seconds_.end());
        while (!seconds_.empty() && seconds_.back() == never) seconds_.pop_back();
    }

    /// Tries limits later, with what they come to.
    void put(Limited limited, std::size_t reduce) {
        double largest = std::max(limited.largest, limited.here), sum = limited.sum + limited.here;
        for (std::size_t t = limited.s + 1; t < stages_.size(); ++t) {
            sum += stages_[t].compute;
            largest = std::max(largest, stages_[t].compute);
        }
        queue_.emplace(repeats_ * largest + sum + seconds_[reduce], stages_.size() - 1 - limited.s,
                       limited_.size(), reduce);
        limited_.push_back(std::move(limited));
    }
    /// Tries all limits for the messages of one boundary more.
    void limit_messages(std::size_t which) {
        const std::size_t s = limited_[which].s, count = stages_.size();
        for (const auto& [forward, backward] : stages_[s].limits) {
            const Limited& before = limited_[which];
            const double mine = before.here + forward * (s == 0 && count > 3 ? 2 : 1);
            const double returned = backward * (s + 2 == count ? 2 : 1);
            Limited next{stages_[s + 1].compute + returned, s + 1, std::max(before.largest, mine),
                         before.sum + mine, before.within};
            bool any = false;
            for (std::size_t c = 0; c < columns_.size(); ++c) {
                const std::size_t at = columns_[c][s] * zones() + columns_[c][s + 1];
                if (stages_[s].forward[at] > forward || stages_[s].backward[at] > backward)
                    next.within[c] = false;
                any = any || next.within[c];
            }
            if (any) put(std::move(next), 0);
        }
    }

    /// Whether columns may suffice for all replicas if gradients take so long at most.
    [[nodiscard]] bool may_suffice(const std::vector<bool>& within, double most) {
        set_runs(most);
        const std::size_t count = columns_.size();
        std::vector<bool> seen(count, false);
        for (std::size_t start = 0; start < count; ++start) {
            if (!within[start] || seen[start]) continue;
            // A walk lies in what can be reached from its first column.
            std::vector<std::size_t> reached{start};
            std::vector<bool> mine(count, false);
            mine[start] = true;
            for (std::size_t i = 0; i < reached.size(); ++i)
                for (std::size_t c = 0; c < count; ++c)
                    if (within[c] && !mine[c] && step_[reached[i] * count + c] <= most) {
                        mine[c] = true;
                        reached.push_back(c);
                    }
            std::vector<std::size_t> touched(stages_.size(), 0);  // a bit for each zone
            for (const std::size_t c : reached) {
                seen[c] = true;
                for (std::size_t s = 0; s < stages_.size(); ++s)
                    touched[s] |= std::size_t{1} << columns_[c][s];
            }
            if (has_room(cluster_->gpus, replicas_, [&](std::size_t s, std::size_t set) {
                    return most_visits(s, set & touched[s], replicas_);
                }))
                return true;
        }
        return false;
    }
    /// Sets how many replicas of each stage can follow each other within a set of zones if gradients take so
    /// long at most; 0 where links lead round and round.
    void set_runs(double most) {
        runs_.assign(stages_.size() << zones(), 0);
        for (std::size_t s = 0; s < stages_.size(); ++s)
            for (std::size_t set = 1; set < (std::size_t{1} << zones()); ++set) {
                int longest = 0;  // zones are taken away that no link leads into
                for (std::size_t left = set; left != 0; ++longest) {
                    std::size_t first = 0;
                    for (std::size_t z = 0; z < zones(); ++z) {
                        bool entered = !((left >> z) & 1);
                        for (std::size_t from = 0; from < zones() && !entered; ++from)
                            entered = ((left >> from) & 1) && stages_[s].reduce[from * zones() + z] <= most;
                        if (!entered) first |= std::size_t{1} << z;
                    }
                    if (first == 0) {
                        longest = 0;
                        break;
                    }
                    left &= ~first;
                }
                runs_[(s << zones()) + set] = longest;
            }
    }
    /// Of so many replicas of a stage, how many can lie in a set of zones: between runs, some lie elsewhere.
    [[nodiscard]] long long most_visits(std::size_t s, std::size_t set, long long replicas) const {
        const long long run = runs_[(s << zones()) + set];
        if (set == 0 || run == 0) return set == 0 ? 0 : replicas;
        return replicas / (run + 1) * run + std::min(replicas % (run + 1), run);
    }
    /// Whether GPUs suffice for so many more replicas of each stage, of which at most `visits(stage, zones)`
    /// lie in a set of zones: what has to lie in the other ones finds room there.
    template <class Visits>
    [[nodiscard]] bool has_room(const std::vector<std::vector<int>>& gpus, long long replicas,
                                Visits visits) const {
        const std::size_t all = (std::size_t{1} << zones()) - 1;
        for (std::size_t type = 0; type < cluster_->types.size(); ++type)
            for (std::size_t set = 0; set <= all; ++set) {
                long long need = 0, there = 0;
                for (std::size_t s = 0; s < stages_.size(); ++s)
                    if (stages_[s].gpu_type == type)
                        need += std::max(replicas - visits(s, all & ~set), 0LL) * stages_[s].tensor_parallel;
                for (std::size_t z = 0; z < zones(); ++z)
                    if ((set >> z) & 1) there += gpus[zones_[z]][type];
                if (need > there) return false;
            }
        return true;
    }

    /// Finds a walk of as many columns as there are replicas, for the runs last set, and sets the plan to it.
    /// Where it finds none with steps left, there is none.
    bool find_walk(const std::vector<bool>& within, double most) {
        steps_left_ = most_steps + 2 * replicas_;
        dead_ends_.clear();
        for (std::size_t start = 0; start < columns_.size(); ++start) {
            if (!within[start]) continue;
            left_ = cluster_->gpus;
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
        const long long missing = replicas_ - static_cast<long long>(path_.size());
        if (missing == 0) return true;
        std::vector<int> here{static_cast<int>(column)};
        for (const std::size_t zone : zones_) here.insert(here.end(), left_[zone].begin(), left_[zone].end());
        const auto visits = [&](std::size_t s, std::size_t set) { return most_visits(s, set, missing); };
        if (dead_ends_.insert(std::move(here)).second && has_room(left_, missing, visits)) {
            // Stages rather stay where they are, and otherwise go where most GPUs are left.
            std::vector<std::tuple<std::size_t, int, std::size_t>> next;
            for (std::size_t c = 0; c < columns_.size(); ++c) {
                if (!within[c] || step_[column * columns_.size() + c] > most) continue;
                std::size_t moved = 0;
                int free = 0;
                for (std::size_t s = 0; s < stages_.size(); ++s) {
                    moved += columns_[c][s] != columns_[column][s] ? 1 : 0;
                    free += left_[zones_[columns_[c][s]]][stages_[s].gpu_type];
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
        for (std::size_t s = 0; s < stages_.size(); ++s) {
            int& left = left_[zones_[columns_[column][s]]][stages_[s].gpu_type];
            left -= stages_[s].tensor_parallel;
            enough = enough && left >= 0;
        }
        if (!enough) give(column);
        return enough;
    }
    void give(std::size_t column) {
        for (std::size_t s = 0; s < stages_.size(); ++s)
            left_[zones_[columns_[column][s]]][stages_[s].gpu_type] += stages_[s].tensor_parallel;
    }
    void make_plan() {
        plan_.stages.clear();
        for (std::size_t s = 0; s < stages_.size(); ++s) {
            PlanStage& stage = plan_.stages.emplace_back();
            stage.first_layer = stages_[s].begin;
            stage.last_layer = stages_[s].end - 1;
            for (const std::size_t column : path_) {
                const std::size_t zone = zones_[columns_[column][s]];
                if (!stage.replicas.empty() && stage.replicas.back().zone == zone)
                    ++stage.replicas.back().count;
                else
                    stage.replicas.push_back({stages_[s].gpu_type, stages_[s].tensor_parallel, zone, 1});
            }
        }
    }

    const LayeredModel& model_;
    const ParallelConstants& constants_;
    const ParallelCluster* cluster_ = nullptr;
    int replicas_ = 0;
    double repeats_ = 0;
    std::vector<std::size_t> zones_{};  // those of the region that have GPUs
    std::vector<Stage> stages_{};
    std::vector<std::vector<std::size_t>> columns_{};  // a zone for each stage
    std::vector<double> step_{};                       // seconds of gradients from column to column
    std::vector<double> seconds_{};                    // all that they may take
    std::vector<Limited> limited_{};
    std::priority_queue<Try, std::vector<Try>, std::greater<>> queue_{};
    std::vector<int> runs_{};  // by stage, then set of zones
    int steps_left_ = 0;
    std::vector<std::vector<int>> left_{};
    std::set<std::vector<int>> dead_ends_{};  // column, GPUs left
    std::vector<std::size_t> path_{};
    ParallelPlan plan_{};
};

}  // namespace goodput::detail

#endif
