#ifndef GOODPUT_PARALLEL_DETAIL_BATCH_DIVISIONS_HPP
#define GOODPUT_PARALLEL_DETAIL_BATCH_DIVISIONS_HPP

// Finds all divisions of the global batch into micro-batches and replicas that a best plan may have. Each
// division gets a first box that holds all its plans.

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

namespace goodput::inline v0_1::detail {

/// Returns a lower bound on the seconds of computing one micro-batch: every layer is computed once, by some
/// class.
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

/// Returns the largest part of the model's work that a stage of class k can do for a micro-batch within
/// `seconds`.
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

/// Returns a lower bound on the seconds of the largest stage. If all stages were shorter, and every GPU had
/// as many layers as it can compute in that time, the GPUs still would not hold all layers. Also sets the
/// division's first prices.
[[nodiscard]] inline double least_largest(BatchDivision& division) {
    const StageTables& tables = division.common->tables;
    const auto enough = [&](double seconds) {
        std::vector<double> rate(division.gpus.size(), 0);
        for (std::size_t k = 0; k < tables.size(); ++k) {
            const StageClass& stage_class = tables.classes()[k];
            rate[stage_class.gpu_type] = std::max(
                rate[stage_class.gpu_type], most_work(tables, k, seconds) / stage_class.tensor_parallel);
        }
        double sum = 0;
        for (std::size_t t = 0; t < rate.size(); ++t) sum += rate[t] * division.gpus[t];
        if (sum * (1 + 1e-9) < 1) return false;
        // The first price of a type is in proportion to what one of its GPUs can compute in that time.
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

/// Returns a lower bound on the seconds of gradient reduction for the last `left` stages, which begin with
/// `layer`.
[[nodiscard]] inline double least_reduce(const BatchDivision& division, std::size_t left, std::size_t layer) {
    return division.least_reduce[left * (division.common->tables.layers() + 1) + layer];
}

/// Returns a lower bound on a plan's seconds with that many stages, without the repeats of the largest
/// stage.
[[nodiscard]] inline double rest_of(const BatchDivision& division, const SearchBox& box, std::size_t stages) {
    return division.common->least_sum[stages] + std::max(box.reduce_low, least_reduce(division, stages, 0)) +
           division.common->tables.least_update();
}

/// The divisions of one question.
class BatchDivisions {
public:
    /// The caller keeps the task alive.
    explicit BatchDivisions(const PlanTask& task)
        : task_(task), regions_(zone_regions(task.cluster, task.question.mixed_stages)), costs_(task) {}

    /// Finds all divisions and returns their first boxes. If the task is told to stop, some divisions are
    /// left out, and all_made() returns false.
    std::vector<SearchBox> make() {
        std::vector<SearchBox> boxes;
        // Regions with more GPUs usually hold the best plans, so they come first.
        for (std::size_t i = regions_.size(); i-- > 0 && all_made_;)
            all_made_ = make_divisions(regions_[i], boxes);
        return boxes;
    }
    /// Whether the boxes hold all plans, because make() was not stopped.
    [[nodiscard]] bool all_made() const { return all_made_; }
    /// All divisions, indexed by SearchBox::division. References to them stay valid.
    [[nodiscard]] std::deque<BatchDivision>& all() { return divisions_; }

    /// Divides `box`: it keeps its own division. Returns the first box of the divisions with more replicas,
    /// which it stood for until now. Returns nothing if none of them has a plan.
    std::optional<SearchBox> split_off(SearchBox& box) {
        const BatchDivision& division = divisions_[box.division];
        const int last = std::exchange(box.last_replicas, 0);
        if (last <= division.replicas) return std::nullopt;
        return add_division(*division.common, division.crossing, division.replicas + 1, last);
    }

    /// Computes once what a division needs before its boxes are refined.
    void prepare(BatchDivision& division) const {
        if (division.reduce) return;
        const StageTables& tables = division.common->tables;
        division.reduce =
            std::make_unique<ReduceTables>(division.region(), division.crossing == ZoneCrossing::gradients,
                                           tables, division.replicas, task_.constants);
        const std::size_t layers = tables.layers();
        division.least_reduce.assign((division.most_stages + 1) * (layers + 1), never);
        division.least_reduce[layers] = 0;
        for (std::size_t left = 1; left <= division.most_stages; ++left)
            for (std::size_t begin = 0; begin + left <= layers; ++begin) {
                double& least = division.least_reduce[left * (layers + 1) + begin];
                for (std::size_t end = begin + 1; end <= layers; ++end)
                    least = std::min(least, std::max(division.reduce->at_least(begin, end),
                                                     division.least_reduce[(left - 1) * (layers + 1) + end]));
            }
        division.spending = stage_charges(tables, division.replicas, [&](const StageClass& stage_class) {
            return stage_class.tensor_parallel * task_.goal.weights()[stage_class.gpu_type];
        });
    }

private:
    bool make_divisions(const ZoneRegion& region, std::vector<SearchBox>& boxes) {
        std::set<int> microbatches;
        for (const auto& type : task_.model.times)
            for (const auto& [key, times] : type) microbatches.insert(key.microbatch);
        for (const int microbatch : microbatches) {
            StageTables tables(task_.model, region.cluster, microbatch, task_.question.mixed_stages,
                               task_.constants);
            if (tables.size() == 0) continue;
            const std::size_t work = tables.size() * tables.layers();
            common_.push_back(std::make_unique<MicrobatchTables>(region, std::move(tables)));
            MicrobatchTables& common = *common_.back();
            measure(common);
            if (is_late(work * common.tables.size())) return false;
            // Consecutive numbers of replicas with the same number of micro-batches per replica share a
            // box.
            for (long long replicas = 1; replicas <= common.most_replicas;) {
                const long long count = microbatches_of(task_.question.global_batch, microbatch, replicas);
                const long long last =
                    count == 1 ? common.most_replicas
                               : std::min((task_.question.global_batch - 1) / (microbatch * (count - 1)),
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
                if (is_late(2 * work)) return false;
                replicas = last + 1;
            }
        }
        return true;
    }
    /// Whether it is time to stop. `work` is what was done since the last call, in table entries read.
    bool is_late(std::size_t work) {
        work_ += work;
        if (work_ < work_between_questions) return false;
        work_ = 0;
        return task_.stop();
    }

    /// Returns a box of all plans with `replicas` to `last` replicas, which all compute the same number of
    /// micro-batches per replica: more replicas never have a smaller bound. Returns nothing if there are no
    /// plans.
    std::optional<SearchBox> add_division(MicrobatchTables& common, ZoneCrossing crossing, int replicas,
                                          int last) {
        BatchDivision division;
        const StageTables& tables = common.tables;
        const ParallelCluster& cluster = common.region->cluster;
        division.crossing = crossing;
        division.common = &common;
        division.replicas = replicas;
        division.repeats = static_cast<double>(
            microbatches_of(task_.question.global_batch, tables.microbatch(), replicas) - 1);
        for (std::size_t t = 0; t < cluster.types.size(); ++t)
            // A stage of one class takes a whole number of GPUs per replica.
            division.gpus.push_back(task_.question.mixed_stages
                                        ? static_cast<double>(cluster.gpus_of(t)) / replicas
                                        : cluster.gpus_of(t) / replicas);
        division.most_stages = static_cast<std::size_t>(
            std::min<long long>(common.most_replicas / replicas, static_cast<long long>(tables.layers())));
        division.most_in_flight = most_in_flight(tables.layers(), division.repeats + 1, task_.constants);
        SearchBox box;
        box.division = divisions_.size();
        double least_weight = never, all_weight = 0;
        for (std::size_t t = 0; t < common.least_gpus.size(); ++t) {
            const int least = common.least_gpus[t];
            if (least > 0) least_weight = std::min(least_weight, least * task_.goal.weights()[t]);
            all_weight += cluster.gpus_of(t) * task_.goal.weights()[t];
        }
        if (crossing != ZoneCrossing::anything) add_traffic(task_, division);
        box.spend_low = division.spend_low = replicas * least_weight;
        box.spend_high = all_weight;

        division.low = least_largest(division);
        if (division.low == never) return std::nullopt;
        box.low = division.low;
        box.price = division.price;
        box.gpus = division.gpus;
        box.bound = task_.goal.least(division.repeats * division.low + through(tables), 0, box.spend_low,
                                     box.spend_high, 0, division.traffic_usd(box.spend_low));
        if (box.bound == never) return std::nullopt;
        // More replicas with the same number of micro-batches per replica only cost more.
        if (replicas < last && !costs_.grow_from(*common.region, replicas, common.most_replicas))
            box.last_replicas = last;
        divisions_.push_back(std::move(division));
        return box;
    }

    /// Computes what all divisions with the same tables share.
    void measure(MicrobatchTables& common) const {
        const StageTables& tables = common.tables;
        common.least_gpus.assign(task_.cluster.types.size(), 0);
        for (const StageClass& k : tables.classes()) {
            int& least = common.least_gpus[k.gpu_type];
            least = least == 0 ? k.tensor_parallel : std::min(least, k.tensor_parallel);
        }
        for (std::size_t t = 0; t < common.least_gpus.size(); ++t)
            if (common.least_gpus[t] > 0)
                common.most_replicas += common.region->cluster.gpus_of(t) / common.least_gpus[t];
        const auto fewest = static_cast<double>(microbatches_of(
            task_.question.global_batch, tables.microbatch(), std::max(common.most_replicas, 1LL)));
        if (common.region->has_cut()) {
            common.cut.emplace(task_.model, common.region->cluster, tables.classes(), tables.microbatch(),
                               task_.constants,
                               [&](std::size_t a, std::size_t b) { return common.region->crosses(a, b); });
            common.message_usd = least_message_usd(task_.model, *common.region, tables);
        }
        const std::vector<double> nothing(tables.size(), 0);
        common.relaxation.limit(never, nullptr, never, nullptr,
                                most_in_flight(tables.layers(), fewest, task_.constants));
        common.relaxation.solve(nothing, tables.layers());
        common.least_sum.assign(1, never);
        for (std::size_t p = 1; p <= tables.layers(); ++p)
            common.least_sum.push_back(common.relaxation.total(p));
    }

    static constexpr std::size_t work_between_questions = 100000;

    const PlanTask& task_;
    std::vector<ZoneRegion> regions_;
    ReplicaCosts costs_;
    std::vector<std::unique_ptr<MicrobatchTables>> common_{};
    std::deque<BatchDivision> divisions_{};
    std::size_t work_ = 0;
    bool all_made_ = true;
};

}  // namespace goodput::inline v0_1::detail

#endif
