#ifndef GOODPUT_PARALLEL_DETAIL_COLUMN_TABLES_HPP
#define GOODPUT_PARALLEL_DETAIL_COLUMN_TABLES_HPP

// Lists all columns that a chain may have. A chain is a class of replicas (GPU type and tensor-parallel
// degree) for each stage. A column holds the zones of one pipeline's stages. The tables also say whether
// GPUs can suffice within a limit on the seconds of gradient reduction.

#include <algorithm>
#include <cstddef>
#include <tuple>
#include <utility>
#include <vector>

#include "goodput/parallel/detail/zoned_chain.hpp"

namespace goodput::inline v0_1::detail {

/// The columns of a chain whose stages are of one class each, in the zones of a region.
class ColumnTables {
public:
    /// Fills all tables for a chain, which the caller keeps alive. Returns false if it has no columns or too
    /// many.
    bool begin(const BatchDivision& division, const ZonedChain& chain) {
        chain_ = &chain;
        cluster_ = &division.region().cluster;
        replicas_ = division.replicas;
        if (zones().size() < 2 || zones().size() > most_zones || replicas_ > most_replicas) return false;
        limits_.clear();
        for (const ZonedStage& stage : stages()) limits_.push_back(limits_of(stage));
        columns_.clear();
        std::vector<std::size_t> column;
        if (!add_columns(division, column)) return false;
        add_steps();
        return !columns_.empty() && !seconds_.empty();
    }

    [[nodiscard]] const ParallelCluster& cluster() const { return *cluster_; }
    [[nodiscard]] int replicas() const { return replicas_; }
    [[nodiscard]] const std::vector<ZonedStage>& stages() const { return chain_->stages; }
    /// The zones of the region that have GPUs. Stages and columns() refer to them by index.
    [[nodiscard]] const std::vector<std::size_t>& zones() const { return chain_->zones; }
    /// The limits on the seconds forward and backward behind stage s that are worth trying.
    [[nodiscard]] const std::vector<std::pair<double, double>>& limits(std::size_t s) const {
        return limits_[s];
    }
    /// All columns. Each has one zone per stage, by index.
    [[nodiscard]] const std::vector<std::vector<std::size_t>>& columns() const { return columns_; }
    /// Seconds of gradient reduction between adjacent replicas in two columns.
    [[nodiscard]] double step(std::size_t from, std::size_t to) const {
        return step_[from * columns_.size() + to];
    }
    /// All possible seconds of gradient reduction, ascending.
    [[nodiscard]] const std::vector<double>& seconds() const { return seconds_; }

    /// Whether columns within the limits may suffice for all replicas, if gradient reduction takes at most
    /// `most` seconds.
    [[nodiscard]] bool may_suffice(const std::vector<bool>& within, double most) {
        set_runs(most);
        const std::size_t count = columns_.size();
        std::vector<bool> seen(count, false);
        for (std::size_t start = 0; start < count; ++start) {
            if (!within[start] || seen[start]) continue;
            // A walk stays within the columns that its first column reaches.
            std::vector<std::size_t> reached{start};
            std::vector<bool> is_reached(count, false);
            is_reached[start] = true;
            for (std::size_t i = 0; i < reached.size(); ++i)
                for (std::size_t c = 0; c < count; ++c)
                    if (within[c] && !is_reached[c] && step_[reached[i] * count + c] <= most) {
                        is_reached[c] = true;
                        reached.push_back(c);
                    }
            std::vector<std::size_t> touched(stages().size(), 0);  // a bit for each zone
            for (const std::size_t c : reached) {
                seen[c] = true;
                for (std::size_t s = 0; s < stages().size(); ++s)
                    touched[s] |= std::size_t{1} << columns_[c][s];
            }
            if (has_room(cluster_->gpus, replicas_, [&](std::size_t s, std::size_t set) {
                    return most_visits(s, set & touched[s], replicas_);
                }))
                return true;
        }
        return false;
    }
    /// Returns how many of `replicas` consecutive replicas of a stage can lie in a set of zones. Between
    /// two runs in the set, a replica lies elsewhere.
    [[nodiscard]] long long most_visits(std::size_t s, std::size_t set, long long replicas) const {
        const long long run = runs_[(s << zones().size()) + set];
        if (set == 0 || run == 0) return set == 0 ? 0 : replicas;
        return replicas / (run + 1) * run + std::min(replicas % (run + 1), run);
    }
    /// Whether GPUs suffice for `replicas` more replicas of each stage, if at most `visits(stage, zones)`
    /// of them lie in a set of zones. The replicas that must lie outside a set need room there.
    template <class Visits>
    [[nodiscard]] bool has_room(const std::vector<std::vector<int>>& gpus, long long replicas,
                                Visits visits) const {
        const std::size_t all = (std::size_t{1} << zones().size()) - 1;
        for (std::size_t type = 0; type < cluster_->types.size(); ++type)
            for (std::size_t set = 0; set <= all; ++set) {
                long long need = 0, there = 0;
                for (std::size_t s = 0; s < stages().size(); ++s)
                    if (stages()[s].gpu_type == type)
                        need += std::max(replicas - visits(s, all & ~set), 0LL) * stages()[s].tensor_parallel;
                for (std::size_t z = 0; z < zones().size(); ++z)
                    if ((set >> z) & 1) there += gpus[zones()[z]][type];
                if (need > there) return false;
            }
        return true;
    }

private:
    // A chain with more ways through the zones is not laid out pipeline by pipeline.
    static constexpr std::size_t most_columns = 128, most_zones = 6;
    static constexpr int most_replicas = 1024;

    /// Keeps the limits that some messages reach.
    static std::vector<std::pair<double, double>> limits_of(const ZonedStage& stage) {
        std::vector<std::pair<double, double>> limits;
        for (const double forward : stage.forward)
            for (const double backward : stage.backward) {
                double most = 0, most_back = 0;
                for (std::size_t i = 0; i < stage.forward.size(); ++i)
                    if (stage.forward[i] <= forward && stage.backward[i] <= backward) {
                        most = std::max(most, stage.forward[i]);
                        most_back = std::max(most_back, stage.backward[i]);
                    }
                if (most == forward && most_back == backward && forward + backward < never)
                    limits.emplace_back(forward, backward);
            }
        std::sort(limits.begin(), limits.end(), [](const auto& a, const auto& b) {
            return std::tuple(a.first + a.second, a.first) < std::tuple(b.first + b.second, b.first);
        });
        limits.erase(std::unique(limits.begin(), limits.end()), limits.end());
        return limits;
    }

    /// Adds all columns that a plan in the region may have. Returns false if there are too many.
    bool add_columns(const BatchDivision& division, std::vector<std::size_t>& column) {
        if (column.size() == stages().size()) {
            columns_.push_back(column);
            return columns_.size() <= most_columns;
        }
        const std::size_t s = column.size();
        for (std::size_t z = 0; z < zones().size(); ++z) {
            if (cluster_->gpus[zones()[z]][stages()[s].gpu_type] < stages()[s].tensor_parallel) continue;
            if (division.crossing == ZoneCrossing::gradients && s > 0 &&
                division.region().crosses(zones()[column[0]], zones()[z]))
                continue;
            if (s > 0 && stages()[s - 1].forward[column[s - 1] * zones().size() + z] +
                                 stages()[s - 1].backward[column[s - 1] * zones().size() + z] ==
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
                for (std::size_t s = 0; s < stages().size(); ++s)
                    step_[a * count + b] =
                        std::max(step_[a * count + b],
                                 stages()[s].reduce[columns_[a][s] * zones().size() + columns_[b][s]]);
        seconds_.assign(step_.begin(), step_.end());
        if (replicas_ == 1) seconds_.assign(1, 0);
        std::sort(seconds_.begin(), seconds_.end());
        seconds_.erase(std::unique(seconds_.begin(), seconds_.end()), seconds_.end());
        while (!seconds_.empty() && seconds_.back() == never) seconds_.pop_back();
    }

    /// Sets how many consecutive replicas of each stage can lie within a set of zones, if gradient
    /// reduction takes at most `most` seconds. 0 means no limit, because the links form a cycle.
    void set_runs(double most) {
        runs_.assign(stages().size() << zones().size(), 0);
        for (std::size_t s = 0; s < stages().size(); ++s)
            for (std::size_t set = 1; set < (std::size_t{1} << zones().size()); ++set) {
                int longest = 0;  // rounds in which the zones that no link enters are removed
                for (std::size_t left = set; left != 0; ++longest) {
                    std::size_t first = 0;
                    for (std::size_t z = 0; z < zones().size(); ++z) {
                        bool entered = !((left >> z) & 1);
                        for (std::size_t from = 0; from < zones().size() && !entered; ++from)
                            entered =
                                ((left >> from) & 1) && stages()[s].reduce[from * zones().size() + z] <= most;
                        if (!entered) first |= std::size_t{1} << z;
                    }
                    if (first == 0) {
                        longest = 0;
                        break;
                    }
                    left &= ~first;
                }
                runs_[(s << zones().size()) + set] = longest;
            }
    }

    const ZonedChain* chain_ = nullptr;
    const ParallelCluster* cluster_ = nullptr;
    int replicas_ = 0;
    std::vector<std::vector<std::pair<double, double>>> limits_{};  // by stage
    std::vector<std::vector<std::size_t>> columns_{};
    std::vector<double> step_{};     // by column, then next column
    std::vector<double> seconds_{};  // ascending
    std::vector<int> runs_{};        // by stage, then set of zones
};

}  // namespace goodput::inline v0_1::detail

#endif
