#ifndef GOODPUT_PARALLEL_DETAIL_BATCH_DIVISIONS_HPP
#define GOODPUT_PARALLEL_DETAIL_BATCH_DIVISIONS_HPP

// All ways to divide the global batch into micro-batches and replicas that may be in a best plan, each with a
// first box of all its plans.

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <deque>
#include <memory>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "goodput/parallel/detail/plan_goal.hpp"
#include "goodput/parallel/detail/search_box.hpp"

namespace goodput::detail {

/// Seconds that a micro-batch takes at least: every layer is computed once, somewhere.
[[nodiscard]] inline double through(const StageTables& tables) {
    double sum = 0;
    for (std::size_t l = 0; l < tables.layers(); ++l) {
        double fastest = never;
        for (const StageClass& k : tables.classes())
            fastest = std::min(fastest, k.compute[l + 1] - k.compute[l]);
        sum += fastest;
    }
    return sum * (1 - 1e-9);
}

/// The most of the model's work that a stage of class k can do in some seconds for a micro-batch.
[[nodiscard]] inline double most_work(const StageTables& tables, std::size_t k, double seconds) {
    double most = 0;
    std::size_t end = 0;
    for (std::size_t begin = 0; end < tables.layers(); ++begin) {
        end = std::max(end, begin);
        while (end < tables.room(k, 1, begin) && tables.compute(k, begin, end + 1) <= seconds) ++end;
        most = std::max(most, tables.work()[end] - tables.work()[begin]);
        if (begin + 1 == tables.layers()) break;
    }
    return most;
}

/// The largest stage takes at least so long: with shorter ones the GPUs would not have room for all
/// layers, if every GPU had as many as it can compute in that time. Sets the
/// division's first prices.
[[nodiscard]] inline double least_largest(BatchDivision& division) {
    const StageTables& tables = division.common->tables;
    const auto enough = [&](double seconds) {
        std::vector<double> rate(division.gpus.size(), 0);
        for (std::size_t k = 0; k < tables.size(); ++k) {
            const StageClass& its = tables.classes()[k];
            rate[its.gpu_type] =
                std::max(rate[its.gpu_type], most_work(tables, k, seconds) / its.tensor_parallel);
        }
        double sum = 0;
        for (std::size_t t = 0; t < rate.size(); ++t) sum += rate[t] * division.gpus[t];
        if (sum * (1 + 1e-9) < 1) return false;
        // First prices: by how much a GPU of each type can compute in that time.
        division.price.assign(rate.size() + 1, 0);
        for (std::size_t t = 0; t < rate.size(); ++t)
            division.price[t] = 0.3 * through(tables) * rate[t] / sum;
        return true;
    };
    double low = 0, high = 0;
    for (std::size_t k = 0; k < tables.size(); ++k)
        high = std::max(high, tables.compute(k, 0, tables.layers()));
    if (!enough(high)) return never;
    for (int i = 0; i < 40 && high - low > 1e-4 * high; ++i)
        (enough((low + high) / 2) ? high : low) = (low + high) / 2;
    return low * (1 - 1e-9);
}

/// Seconds that the gradients of the last stages take at least, by how many they are and where they begin.
[[nodiscard]] inline double least_reduce(const BatchDivision& division, std::size_t left, std::size_t layer) {
    return division.least_reduce[left * (division.common->tables.layers() + 1) + layer];
}

/// Seconds of a plan with that many stages at least, without the repeats of the largest.
[[nodiscard]] inline double rest_of(const BatchDivision& division, const SearchBox& box, std::size_t stages) {
    return division.common->least_sum[stages] + std::max(box.reduce_low, least_reduce(division, stages, 0)) +
           division.common->tables.least_update();
}

/// The divisions of one question.
class BatchDivisions {
public:
    /// All of these have to outlive it.
    BatchDivisions(const LayeredModel& model, const ParallelCluster& cluster, const PlanQuestion& question,
                   const ParallelConstants& constants, const PlanGoal& goal)
        : model_(model),
          cluster_(cluster),
          question_(question),
          constants_(constants),
          goal_(goal),
          costs_(model, cluster, goal, question.mixed_stages, constants) {}

    /// Finds all divisions anew; answers first boxes of them all. Where they are many it asks `stop()` now
    /// and then; once that answers true, some are left out, and all_made() answers false.
    template <class Stop>
    std::vector<SearchBox> make(Stop& stop) {
        divisions_.clear();
        common_.clear();
        if (regions_.empty()) regions_ = zone_regions(cluster_, question_.mixed_stages);
        std::vector<SearchBox> boxes;
        work_ = 0;
        all_made_ = true;
        // Those with the most GPUs are as a rule where the best plans are.
        for (std::size_t i = regions_.size(); i-- > 0 && all_made_;)
            all_made_ = make_divisions(regions_[i], boxes, stop);
        return boxes;
    }
    /// Whether the boxes that were made hold all plans.
    [[nodiscard]] bool all_made() const { return all_made_; }
    /// By SearchBox::division. References to them stay good.
    [[nodiscard]] std::deque<BatchDivision>& all() { return divisions_; }

    /// A first box of the divisions with more replicas that `box` stands for, which it does no longer;
    /// nothing where there are none with a plan.
    std::optional<SearchBox> split_off(SearchBox& box) {
        const BatchDivision& division = divisions_[box.division];
        const int last = std::exchange(box.last_replicas, 0);
        if (last <= division.replicas) return std::nullopt;
        return add_division(*division.common, division.crossing, division.replicas + 1, last);
    }

    /// What a division needs before its boxes are looked at, once.
    void prepare(BatchDivision& division) const {
        if (division.reduce) return;
        const StageTables& tables = division.common->tables;
        division.reduce =
            std::make_unique<ReduceTables>(division.region(), division.crossing == ZoneCrossing::gradients,
                                           tables, division.replicas, constants_);
        const std::size_t layers = tables.layers();
        division.least_reduce.assign((division.most_stages + 1) * (layers + 1), never);
        division.least_reduce[layers] = 0;
        for (std::size_t left = 1; left <= division.most_stages; ++left)
            for (std::size_t begin = 0; begin + left <= layers; ++begin) {
                double& mine = division.least_reduce[left * (layers + 1) + begin];
                for (std::size_t end = begin + 1; end <= layers; ++end)
                    mine = std::min(mine, std::max(division.reduce->at_least(begin, end),
                                                   division.least_reduce[(left - 1) * (layers + 1) + end]));
            }
        division.spending = stage_charges(tables, division.replicas, [&](const StageClass& its) {
            return its.tensor_parallel * goal_.weights()[its.gpu_type];
        });
    }

private:
    template <class Stop>
    bool make_divisions(const ZoneRegion& region, std::vector<SearchBox>& boxes, Stop& stop) {
        std::set<int> microbatches;
        for (const auto& type : model_.times)
            for (const auto& [key, times] : type) microbatches.insert(key.microbatch);
        for (const int microbatch : microbatches) {
            StageTables tables(model_, region.cluster, microbatch, question_.mixed_stages, constants_);
            if (tables.size() == 0) continue;
            const std::size_t work = tables.size() * tables.layers();
            common_.push_back(std::make_unique<MicrobatchTables>(region, std::move(tables)));
            MicrobatchTables& common = *common_.back();
            measure(common);
            if (is_late(work * common.tables.size(), stop)) return false;
            // Those that compute as many micro-batches each follow each other.
            for (long long replicas = 1; replicas <= common.most_replicas;) {
                const long long count = microbatches_of(microbatch, replicas);
                const long long last =
                    count == 1 ? common.most_replicas
                               : std::min((question_.global_batch - 1) / (microbatch * (count - 1)),
                                          common.most_replicas);
                const auto add = [&](ZoneCrossing crossing, long long first) {
                    std::optional<SearchBox> box =
                        add_division(common, crossing, static_cast<int>(first), static_cast<int>(last));
                    if (box) boxes.push_back(std::move(*box));
                };
                if (!region.has_cut()) {
                    add(ZoneCrossing::anything, replicas);
                } else {
                    add(ZoneCrossing::messages, replicas);
                    if (replicas > 1)
                        add(ZoneCrossing::gradients, replicas);
                    else if (last > 1 && !costs_.grow_from(region, 1, common.most_replicas))
                        add(ZoneCrossing::gradients, 2);
                }
                if (is_late(2 * work, stop)) return false;
                replicas = last + 1;
            }
        }
        return true;
    }
    /// Whether it is time to stop, after so much more work: numbers of a table looked at.
    template <class Stop>
    bool is_late(std::size_t work, Stop& stop) {
        work_ += work;
        if (work_ < work_between_questions) return false;
        work_ = 0;
        return stop();
    }

    /// Micro-batches that each of so many replicas computes.
    [[nodiscard]] long long microbatches_of(int microbatch, long long replicas) const {
        const long long at_once = microbatch * replicas;
        return (question_.global_batch + at_once - 1) / at_once;
    }

    /// A box of all plans with `replicas` to `last` replicas, all of which compute as many micro-batches
    /// each: no bound of more replicas is less. Nothing where there are no plans.
    std::optional<SearchBox> add_division(MicrobatchTables& common, ZoneCrossing crossing, int replicas,
                                          int last) {
        BatchDivision division;
        const StageTables& tables = common.tables;
        const ParallelCluster& cluster = common.region->cluster;
        division.crossing = crossing;
        division.common = &common;
        division.replicas = replicas;
        division.repeats = static_cast<double>(microbatches_of(tables.microbatch(), replicas) - 1);
        for (std::size_t t = 0; t < cluster.types.size(); ++t)
            // A stage of one class takes a whole number of GPUs for each replica.
            division.gpus.push_back(question_.mixed_stages
                                        ? static_cast<double>(cluster.gpus_of(t)) / replicas
                                        : cluster.gpus_of(t) / replicas);
        division.most_stages = static_cast<std::size_t>(
            std::min<long long>(common.most_replicas / replicas, static_cast<long long>(tables.layers())));
        division.most_in_flight = most_in_flight(tables.layers(), division.repeats + 1, constants_);
        SearchBox box;
        box.division = divisions_.size();
        double least_weight = never, all_weight = 0;
        for (std::size_t t = 0; t < common.least_gpus.size(); ++t) {
            const int least = common.least_gpus[t];
            if (least > 0) least_weight = std::min(least_weight, least * goal_.weights()[t]);
            all_weight += cluster.gpus_of(t) * goal_.weights()[t];
        }
        if (crossing != ZoneCrossing::anything) add_traffic(model_, goal_, division);
        box.spend_low = division.spend_low = replicas * least_weight;
        box.spend_high = all_weight;

        division.low = least_largest(division);
        if (division.low == never) return std::nullopt;
        box.low = division.low;
        box.price = division.price;
        box.gpus = division.gpus;
        box.bound = goal_.least(division.repeats * division.low + through(tables), 0, box.spend_low,
                                box.spend_high, 0, division.traffic_usd(box.spend_low));
        if (box.bound == never) return std::nullopt;
        // More replicas that compute as many micro-batches each only cost more.
        if (replicas < last && !costs_.grow_from(*common.region, replicas, common.most_replicas))
            box.last_replicas = last;
        division.bound = box.bound;
        divisions_.push_back(std::move(division));
        return box;
    }

    /// What holds for all divisions with the same tables.
    void measure(MicrobatchTables& common) const {
        const StageTables& tables = common.tables;
        common.least_gpus.assign(cluster_.types.size(), 0);
        for (const StageClass& k : tables.classes()) {
            int& mine = common.least_gpus[k.gpu_type];
            mine = mine == 0 ? k.tensor_parallel : std::min(mine, k.tensor_parallel);
        }
        for (std::size_t t = 0; t < common.least_gpus.size(); ++t)
            if (common.least_gpus[t] > 0)
                common.most_replicas += common.region->cluster.gpus_of(t) / common.least_gpus[t];
        const auto fewest =
            static_cast<double>(microbatches_of(tables.microbatch(), std::max(common.most_replicas, 1LL)));
        if (common.region->has_cut()) {
            common.cut.emplace(model_, common.region->cluster, tables.classes(), tables.microbatch(),
                               constants_,
                               [&](std::size_t a, std::size_t b) { return common.region->crosses(a, b); });
            common.message_usd = least_message_usd(model_, *common.region, tables);
        }
        const std::vector<double> nothing(tables.size(), 0);
        common.relaxation.limit(never, nullptr, never, nullptr,
                                most_in_flight(tables.layers(), fewest, constants_));
        common.relaxation.solve(nothing, tables.layers());
        common.least_sum.assign(1, never);
        for (std::size_t p = 1; p <= tables.layers(); ++p)
            common.least_sum.push_back(common.relaxation.total(p));
    }

    static constexpr std::size_t work_between_questions = 100000;

    const LayeredModel& model_;
    const ParallelCluster& cluster_;
    const PlanQuestion& question_;
    const ParallelConstants& constants_;
    const PlanGoal& goal_;
    ReplicaCosts costs_;
    std::vector<ZoneRegion> regions_{};
    std::vector<std::unique_ptr<MicrobatchTables>> common_{};
    std::deque<BatchDivision> divisions_{};
    std::size_t work_ = 0;
    bool all_made_ = true;
};

}  // namespace goodput::detail

#endif
